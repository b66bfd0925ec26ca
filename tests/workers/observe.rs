//! Events of locks are told: by the log to those who run the Worker, and by a header to those who
//! call it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::caller::Answer;
use crate::support::meddler::Mischief;
use crate::support::{Stack, until};

impl Answer {
    /// Each metric of `Server-Timing` with the value of its only parameter, parsed by the header's
    /// grammar.
    fn timing(&self) -> BTreeMap<String, String> {
        let metrics = self.header("server-timing").split(", ");
        metrics
            .filter(|metric| !metric.is_empty())
            .map(|metric| {
                let (name, parameter) = metric.split_once(';').expect("a parameter");
                let (kind, value) = parameter.split_once('=').expect("a value");
                let is_value = match kind {
                    "dur" => value.parse::<f64>().is_ok_and(|ms| ms >= 0.0),
                    "desc" => value
                        .trim_matches('"')
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
                    _ => false,
                };
                assert!(is_value, "{metric} in {self:?}");
                (name.to_owned(), value.trim_matches('"').to_owned())
            })
            .collect()
    }

    #[track_caller]
    pub(crate) fn tells(self, of_lock: &str, metrics: &[&str]) -> Self {
        let timing = self.timing();
        assert_eq!(timing["lock"], of_lock, "{self:?}");
        let names: Vec<_> = timing.keys().map(String::as_str).collect();
        assert_eq!(names[1..], *metrics, "{self:?}");
        self
    }
}

pub(crate) const TAKEN: [&str; 2] = ["lock-requests", "lock-wait"];
const HELD: [&str; 3] = ["lock-hold", "lock-requests", "lock-wait"];

#[tokio::test]
async fn an_answer_says_what_its_lock_cost() {
    let stack = Stack::start();
    let caller = stack.caller();
    caller
        .open("42", 2, 1)
        .await
        .answers(201)
        .tells("released", &HELD);
    let sold = caller.order("42", "o1", "ann", 1).await.answers(201);
    let sold = sold.tells("released", &HELD);
    assert_eq!(sold.timing()["lock-requests"], "1");
    // If nothing is written, the lock is given back after the answer.
    let again = caller.open("42", 3, 1).await;
    let again = again.refuses(409, "sale_exists");
    again.tells("acquired", &TAKEN);
    stack.until_released("42").await;
    // A refusal needs no lock, unless it waits behind orders that do.
    let refused = caller.order("43", "o2", "ann", 1).await.answers(404);
    assert!(refused.timing().is_empty(), "{refused:?}");
    let sale = caller.sale("42").await.answers(200);
    assert!(sale.timing().is_empty(), "{sale:?}");

    stack
        .redis()
        .run::<()>("SET sale:{42}:lock another PX 60000");
    let held = caller.order("42", "o3", "bob", 1).await.answers(503);
    held.tells("gave_up", &[]);
}

#[tokio::test]
async fn an_answer_says_that_its_lock_was_lost() {
    let mut stack = Stack::start();
    stack.caller().open("42", 1, 1).await.answers(201);
    let (_, meddled) = stack
        .start_meddled(Mischief::ExpireLock("sale:{42}:lock"))
        .await;
    let answer = meddled.order("42", "o1", "ann", 1).await;
    answer.refuses(503, "lock_lost").tells("lost", &HELD);
}

#[tokio::test]
async fn what_is_given_back_behind_the_answer_is_logged_too() {
    let stack = Stack::start();
    let caller = stack.caller();
    caller.open("42", 1, 1).await.answers(201);
    let again = caller.open("42", 2, 1).await;
    again.refuses(409, "sale_exists");
    until("its release is logged", || {
        let logged = stack.logged();
        let is_there =
            |line: &Value| line["event"] == "released" && line["lock"] == "sale:{42}:lock";
        let released = logged.iter().filter(|line| is_there(line)).count();
        async move { released == 2 }
    })
    .await;
}
