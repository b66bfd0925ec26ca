//! Events of locks are told: by the log to those who run the Worker, and by a header to those who
//! call it.

use crate::support::caller::Answer;
use crate::support::{Stack, until};

pub(crate) const TAKEN: [&str; 2] = ["lock-wait", "lock-requests"];
pub(crate) const HELD: [&str; 3] = ["lock-wait", "lock-requests", "lock-hold"];

impl Answer {
    /// Checks what `Server-Timing` says of the lock, and which metrics come behind it.
    #[track_caller]
    pub(crate) fn tells(&self, of_lock: &str, more: &[&str]) {
        let mut metrics = self.header("server-timing").split(", ");
        assert_eq!(metrics.next(), Some(&*format!("lock;desc=\"{of_lock}\"")), "{self:?}");
        let names: Vec<_> = metrics.filter_map(|metric| metric.split(';').next()).collect();
        assert_eq!(names, more, "{self:?}");
    }
}

#[tokio::test]
async fn an_answer_says_what_its_lock_cost_and_the_log_what_comes_behind_it() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 2, 1).await.answers(201).tells("released", &HELD);
    // If nothing is written, the lock is given back after the answer.
    shop.open("42", 3, 1).await.refuses(409, "sale_exists").tells("acquired", &TAKEN);
    until("its release is logged", async || stack.logged_of("released").len() == 2).await;
    shop.order("42", "o1", "ann", 1).await.answers(201).tells("released", &HELD);
    // A refusal needs no lock, unless it waits behind orders that do.
    let refused = shop.order("43", "o2", "ann", 1).await.answers(404);
    for answer in [refused, shop.sale("42").await.answers(200)] {
        assert_eq!(answer.header("server-timing"), "");
    }
    // A refusal is no failure.
    assert!(stack.logged_of("failed").is_empty());
}
