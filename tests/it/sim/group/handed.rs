//! The script of a turn whose lock was handed over, call by call: it runs commands only under the
//! lock, only if the reads find what was expected, and only once.

use std::cell::Cell;

use edgelock_table::Reply;

use crate::lua::Redis;
use crate::script::{Script, script_of};

const TOKEN: &str = "token";

/// A Redis with one lock, and the script.
struct Place {
    redis: Redis,
    text: String,
    nonces: Cell<u32>,
}

impl Place {
    /// The lock is held by `holder`, and `n` is 1.
    fn held_by(holder: &str) -> Self {
        let is_it = |text: &String| script_of(text) == Some(Script::HandedTurn);
        let place = Self {
            redis: Redis::default(),
            text: super::texts().into_values().find(is_it).expect("it is used"),
            nonces: Cell::default(),
        };
        place.execute(&["SET", "a", holder, "PX", "10000"]);
        place.execute(&["SET", "n", "1"]);
        place
    }

    fn execute(&self, words: &[&str]) -> Reply {
        let words: Vec<_> = words.iter().map(|word| word.as_bytes()).collect();
        self.redis.execute(&words)
    }

    /// Reads `n`, expects `found`, and adds one to it. Returns the verdict.
    fn turn(&self, found: &str) -> i64 {
        let until = (self.redis.db().now_ms() * 1000 + 5_000_000).to_string();
        let nonce = self.nonces.replace(self.nonces.get() + 1).to_string();
        let found = format!("$1\r\n{found}\r\n");
        let keys = ["a", "{a}:receipt:t", "{a}:gone:t", "{a}:fence", "{a}:queue", "n", "n"];
        let args = [
            &nonce, TOKEN, "10000", &found, "14", &until, "", "", "60000", "", "2", "GET", "n",
            "2", "INCR", "n",
        ];
        let count = keys.len().to_string();
        let words = [&["EVAL", self.text.as_str(), &count], &keys[..], &args].concat();
        match self.execute(&words) {
            Reply::Array(said) => match said.first() {
                Some(Reply::Int(verdict)) => *verdict,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn has(&self, n: &str, is_free: bool) {
        let text = |text: &str| Reply::Bulk(text.into());
        assert_eq!(self.execute(&["GET", "n"]), text(n));
        assert_eq!(self.execute(&["EXISTS", "a"]), Reply::Int((!is_free).into()));
    }
}

#[test]
fn it_runs_once_and_gives_the_lock_on() {
    let place = Place::held_by(TOKEN);
    assert_eq!(place.turn("1"), 2);
    place.has("2", true);
    // A repeat, though the reads find something else now; and again, if they find the same.
    assert_eq!(place.turn("1"), 2);
    place.execute(&["SET", "n", "1"]);
    assert_eq!(place.turn("1"), 2);
    place.has("1", true);
}

#[test]
fn it_keeps_the_lock_if_the_reads_find_something_else_and_no_copy_of_it_runs_later() {
    let place = Place::held_by(TOKEN);
    assert_eq!(place.turn("7"), 1);
    place.has("1", false);
    // Its caller decides by that now.
    place.execute(&["SET", "n", "7"]);
    assert_eq!(place.turn("7"), 1);
    place.has("7", false);
}

#[test]
fn it_runs_nothing_under_the_lock_of_another_or_under_none() {
    let place = Place::held_by("another");
    assert_eq!(place.turn("1"), -1);
    place.has("1", false);
    place.execute(&["DEL", "a"]);
    assert_eq!(place.turn("1"), -1);
    place.has("1", true);
}
