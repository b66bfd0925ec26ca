//! Events of locks are told: by the log to those who run the Worker, and by a header to those who
//! call it.

use std::collections::BTreeMap;

use crate::support::caller::Answer;
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
                let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                let is_value = match kind {
                    "dur" => value.parse::<f64>().is_ok_and(|ms| ms >= 0.0),
                    "desc" => value.trim_matches('"').bytes().all(is_word),
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
pub(crate) const HELD: [&str; 3] = ["lock-hold", "lock-requests", "lock-wait"];

#[tokio::test]
async fn an_answer_says_what_its_lock_cost_and_the_log_what_comes_behind_it() {
    let stack = Stack::start();
    let caller = stack.caller();
    caller.open("42", 2, 1).await.answers(201).tells("released", &HELD);
    // If nothing is written, the lock is given back after the answer.
    caller.open("42", 3, 1).await.refuses(409, "sale_exists").tells("acquired", &TAKEN);
    until("its release is logged", || async {
        let lines = stack.logged().into_iter();
        lines.filter(|line| line["event"] == "released").count() == 2
    })
    .await;
    let sold = caller.order("42", "o1", "ann", 1).await.answers(201);
    let sold = sold.tells("released", &HELD);
    assert_eq!(sold.timing()["lock-requests"], "1");
    // A refusal needs no lock, unless it waits behind orders that do.
    let refused = caller.order("43", "o2", "ann", 1).await.answers(404);
    assert!(refused.timing().is_empty(), "{refused:?}");
    let sale = caller.sale("42").await.answers(200);
    assert!(sale.timing().is_empty(), "{sale:?}");

    stack.redis().run::<()>("SET sale:{42}:lock another PX 60000");
    caller.order("42", "o3", "bob", 1).await.answers(503).tells("gave_up", &[]);
}
