//! Asking for a lock never fails half-way. The first option that cannot work is what every call
//! tells, before anything is sent.

use edgelock::{Acquisition, Client, Command, Error, GroupCommit, Token};

use crate::support::noted::{Drawn, Noted, NotedLock, noting};
use crate::support::turns::no_turns;
use crate::support::{alone, code, ms};

alone! {
    the_first_that_cannot_work_is_what_each_call_says_and_nothing_is_sent,
}

const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// The error of each call of `lock` that could send something.
async fn told_by_all(lock: &NotedLock) -> Vec<Error> {
    let token = Token::parse(TOKEN).expect("a token");
    let nothing = async |_: &edgelock::Lease<Noted, Drawn>| -> Result<(), Error> {
        panic!("the work is not begun");
    };
    let again = Acquisition::new();
    let plain = GroupCommit::new(no_turns());
    let looking = GroupCommit::new(no_turns()).peek(|_, _, _| Some(()));
    let outcomes = [
        lock.check().err(),
        lock.check_reads(&[]).err(),
        lock.try_acquire().await.err(),
        lock.try_acquire_and_read(&[]).await.err(),
        lock.acquire().await.err(),
        lock.acquire_and_read(&[]).await.err(),
        lock.acquire_as(&again, Vec::new).await.err(),
        lock.run(nothing).await.err(),
        lock.resume(token).err(),
        lock.inspect().await.err(),
        lock.force_release().await.err(),
        plain.submit(lock, ()).await.err(),
        looking.submit(lock, ()).await.err(),
    ];
    outcomes.into_iter().flatten().collect()
}

const CALLS: usize = 13;

async fn the_first_that_cannot_work_is_what_each_call_says_and_nothing_is_sent() {
    let (client, noted) = noting();
    let lock = || client.lock("a");
    let long = "x".repeat(129);
    let no_list = "a read/write lock has no signal list";
    let all = |names: &[&str]| client.lock_all(names);
    let wrong = [
        (client.lock(""), "the name is empty"),
        (client.shard_of("").lock("a"), "the name is empty"),
        (client.reentrant("a", ""), "an owner has 1 to 512 bytes"),
        (client.reentrant("", ""), "an owner has 1 to 512 bytes"),
        (client.reentrant("a", "me").label("x"), "label"),
        (client.reentrant("a", "me").fair(true), "a reentrant lock cannot be fair"),
        (client.semaphore("a", 0), "a semaphore has 1 permit or more"),
        (client.semaphore("", 0), "a semaphore has 1 permit or more"),
        (client.semaphore("a", 1).signal_list("b"), "signal list"),
        (client.read_write("a").read().signal_list("b"), no_list),
        (client.read_write("a").write().signal_list("b"), no_list),
        (all(&["a", "b"]).signal_list("c"), "several names at once have no signal list"),
        (all(&["a", "b", "a"]), "\"a\" is among the names twice"),
        (lock().ttl(ms(3)).label(&long), "ttl"),
        (client.read_write("a").write().ttl(ms(0)), "ttl"),
        (lock().label(&long), "a label has up to 128 bytes"),
        (lock().signal_list("a"), "the signal list cannot be \"a\""),
        (lock().wait_for_replicas(0, ms(1)), "a wait for replicas is for 1 or more"),
    ];
    for (lock, word) in wrong {
        // Neither another invalid option behind it nor valid ones change anything.
        let lock = lock.ttl(ms(0)).ttl(ms(1_000)).wait_timeout(ms(1)).fair(false).clone();
        let told = told_by_all(&lock).await;
        assert_eq!(told.len(), CALLS, "{word}");
        for error in told {
            assert_eq!(error.code(), "invalid_argument", "{error}");
            assert!(error.to_string().contains(word), "{word}: {error}");
        }
    }
    let read = [Command::new("GET").key("a")];
    let shard: Client<_, _> = client.shard_of("");
    assert_eq!(code(shard.read(&read).await), "invalid_argument");
    assert!(!noted.was_asked());
}

#[test]
fn a_lock_shows_what_was_asked_for_also_if_it_cannot_be() {
    let (client, _) = noting();
    let lock = client.prefix("shop:").lock("{7}:fence");
    assert!(format!("{lock:?}").contains("shop:{7}:fence"), "{lock:?}");
    let (client, _) = noting();
    let all = client.lock_all(["b", "a", "b"]);
    assert!(format!("{all:?}").contains("b, a, b"), "{all:?}");
}
