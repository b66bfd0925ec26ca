//! What the table promises. `tests/it/sim/differential.rs` holds it to a real Redis.

mod bridge;
mod lua;

use edgelock_table::{Reply, Table};

pub(crate) fn run(table: &mut Table, words: &[&str]) -> Reply {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    table.execute(1_700_000_000_000_000, &words)
}

pub(crate) fn bulk(text: &str) -> Reply {
    Reply::Bulk(text.as_bytes().to_vec())
}

#[test]
fn a_command_that_it_does_not_know_is_an_error_that_names_those_that_it_knows() {
    let mut table = Table::default();
    let all = Table::commands().collect::<Vec<_>>();
    assert!(all.is_sorted());
    let Reply::Error(text) = run(&mut table, &["xadd", "k", "*", "f", "v"]) else {
        panic!("known");
    };
    assert_eq!(
        text,
        format!("ERR unknown command 'XADD': edgelock/testing knows {}", all.join(", "))
    );
}

#[test]
fn the_page_lists_the_commands_that_it_knows() {
    let page = include_str!("../../../docs/recipes.md");
    let (_, rows) = page.split_once("\n| | commands |\n").expect("a list");
    let (rows, _) = rows.split_once("\n\n").expect("an end");
    let mut listed: Vec<_> = rows.split('`').skip(1).step_by(2).collect();
    listed.sort_unstable();
    assert_eq!(listed, Table::commands().collect::<Vec<_>>());
}

#[test]
fn time_passes_only_when_the_caller_says_so() {
    let mut table = Table::default();
    let mut at = |ms: i64, words: &[&[u8]]| table.execute(ms * 1_000, words);
    at(0, &[b"SET", b"k", b"v", b"PX", b"100"]);
    assert_eq!(at(100, &[b"PTTL", b"k"]), Reply::Int(0));
    assert_eq!(at(101, &[b"EXISTS", b"k"]), Reply::Int(0));
    at(101, &[b"RPUSH", b"l", b"a", b"b"]);
    at(101, &[b"PEXPIRE", b"l", b"5"]);
    let keys: Vec<_> = table.keys(101_000).map(|(key, _, ends)| (key.to_vec(), ends)).collect();
    assert_eq!(keys, [(b"l".to_vec(), Some(106))]);
    assert_eq!(table.keys(107_000).count(), 0);
}

#[test]
fn of_keys_that_have_ended_few_are_left_though_nobody_asks_for_them_again() {
    let mut table = Table::default();
    for ms in 0..10_000 {
        let key = format!("receipt:{ms}");
        table.execute(ms * 1_000, &[b"SET", key.as_bytes(), b"x", b"PX", b"100"]);
    }
    // At an earlier time none has ended.
    assert!(table.keys(0).count() < 1_000);
    assert_eq!(table.keys(9_999_000).count(), 101);
}

#[test]
fn a_script_that_fails_keeps_what_it_has_written() {
    let mut table = Table::default();
    let script = "redis.call('SET', KEYS[1], '1') redis.call('INCR', KEYS[2])";
    run(&mut table, &["SET", "text", "x"]);
    let Reply::Error(text) = run(&mut table, &["EVAL", script, "2", "k", "text"]) else {
        panic!("no error");
    };
    assert!(text.starts_with("ERR value is not an integer or out of range script: "), "{text}");
    assert_eq!(run(&mut table, &["GET", "k"]), bulk("1"));
}

#[test]
fn a_listener_gets_what_is_published_until_it_hangs_up() {
    let mut table = Table::default();
    let listener = table.listen(b"c");
    assert_eq!(run(&mut table, &["PUBLISH", "c", "one"]), Reply::Int(1));
    assert_eq!(run(&mut table, &["PUBLISH", "d", "two"]), Reply::Int(0));
    assert_eq!(table.take_messages(), [(listener, b"one".to_vec())]);
    table.hang_up(listener);
    assert_eq!(run(&mut table, &["PUBLISH", "c", "three"]), Reply::Int(0));
    assert_eq!(table.take_messages(), []);
}
