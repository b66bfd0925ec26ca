//! The lock as a service: there is one holder at a time, and what has ended stays so.

use serde_json::json;

use crate::support::caller::{Answer, Caller};
use crate::support::meddler::Mischief;
use crate::support::{Stack, until};

impl Caller {
    async fn acquire(&self, name: &str, ttl_ms: u64, wait_ms: u64) -> Answer {
        let body = json!({"ttl_ms": ttl_ms, "wait_ms": wait_ms}).to_string();
        self.locks("POST", &format!("/locks/{name}/acquire"), &body)
            .await
    }

    async fn renew(&self, name: &str, token: &str, ttl_ms: u64) -> Answer {
        let body = json!({"token": token, "ttl_ms": ttl_ms}).to_string();
        self.locks("POST", &format!("/locks/{name}/renew"), &body)
            .await
    }

    async fn release(&self, name: &str, token: &str) -> Answer {
        let body = json!({"token": token}).to_string();
        self.locks("POST", &format!("/locks/{name}/release"), &body)
            .await
    }

    async fn inspect(&self, name: &str) -> Answer {
        self.locks("GET", &format!("/locks/{name}"), "").await
    }
}

fn token(taken: &Answer) -> String {
    taken.json["token"].as_str().expect("a token").to_owned()
}

#[tokio::test]
async fn a_lock_is_taken_shown_renewed_and_given_back() {
    let stack = Stack::start();
    let caller = stack.caller();
    let free = caller.inspect("job").await.answers(200);
    assert_eq!(
        free.json,
        json!({"name": "job", "held": false, "remaining_ms": null, "fence": null})
    );

    let taken = caller.acquire("job", 5_000, 0).await.answers(201);
    assert_eq!(taken.json["name"], "job");
    assert!(
        (1..=5_000).contains(&taken.number("remaining_ms")),
        "{taken:?}"
    );
    let shown = caller.inspect("job").await.answers(200);
    assert_eq!(
        (&shown.json["held"], shown.number("fence")),
        (&json!(true), taken.number("fence"))
    );
    assert!(
        (1..=5_000).contains(&shown.number("remaining_ms")),
        "{shown:?}"
    );

    let renewed = caller
        .renew("job", &token(&taken), 60_000)
        .await
        .answers(200);
    assert!(
        (10_001..=60_000).contains(&renewed.number("remaining_ms")),
        "{renewed:?}"
    );
    assert!(caller.inspect("job").await.number("remaining_ms") > 10_000);

    caller.release("job", &token(&taken)).await.answers(200);
    assert_eq!(caller.inspect("job").await.json["held"], false);
    let next = caller.acquire("job", 5_000, 0).await.answers(201);
    assert!(next.number("fence") > taken.number("fence"));
}

#[tokio::test]
async fn a_renewal_that_is_told_no_ttl_gives_what_the_lock_was_taken_for() {
    let stack = Stack::start();
    let caller = stack.caller();
    let taken = caller.acquire("job", 60_000, 0).await.answers(201);
    let body = json!({ "token": token(&taken) }).to_string();
    let renewed = caller.locks("POST", "/locks/job/renew", &body).await;
    let renewed = renewed.answers(200);
    assert!(
        (50_000..=60_000).contains(&renewed.number("remaining_ms")),
        "{renewed:?}"
    );
    assert_eq!(renewed.number("fence"), taken.number("fence"));
    assert!(caller.inspect("job").await.number("remaining_ms") > 50_000);
}

#[tokio::test]
async fn a_lock_that_is_held_is_refused_with_what_it_has_left() {
    let stack = Stack::start();
    let caller = stack.caller();
    caller.acquire("job", 60_000, 0).await.answers(201);
    for wait_ms in [0, 100] {
        let refused = caller.acquire("job", 60_000, wait_ms).await;
        let refused = refused.refuses(409, "lock_held").says_when_to_retry();
        assert!(
            (1..=60_000).contains(&refused.number("remaining_ms")),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_waiter_gets_the_lock_when_it_is_given_back() {
    let mut stack = Stack::start();
    let (holder, waiter) = (stack.caller(), stack.start_worker());
    let taken = holder.acquire("job", 60_000, 0).await.answers(201);
    let waiting = tokio::spawn(async move { waiter.acquire("job", 60_000, 20_000).await });
    // The waiter asks once in vain, and then the lock is given back.
    let mut redis = stack.redis();
    let before = redis.scripts_run();
    until("the waiter asks", || {
        let asked = redis.scripts_run() > before;
        async move { asked }
    })
    .await;
    holder.release("job", &token(&taken)).await.answers(200);
    let next = waiting.await.expect("no panic").answers(201);
    assert!(next.number("fence") > taken.number("fence"));
}

#[tokio::test]
async fn a_token_whose_time_is_over_is_of_no_use() {
    let stack = Stack::start();
    let caller = stack.caller();
    let stale = token(&caller.acquire("job", 1_000, 0).await.answers(201));
    until("the lock runs out", || async {
        caller.inspect("job").await.json["held"] == false
    })
    .await;
    caller
        .renew("job", &stale, 1_000)
        .await
        .refuses(409, "lock_lost");
    caller
        .release("job", &stale)
        .await
        .refuses(409, "lock_lost");

    let next = token(&caller.acquire("job", 60_000, 0).await.answers(201));
    caller
        .renew("job", &stale, 1_000)
        .await
        .refuses(409, "lock_lost");
    caller
        .release("job", &stale)
        .await
        .refuses(409, "lock_lost");
    caller.renew("job", &next, 60_000).await.answers(200);
    caller.release("job", &next).await.answers(200);
    caller.release("job", &next).await.refuses(409, "lock_lost");
}

#[tokio::test]
async fn a_renewal_that_got_lost_leaves_the_lock_to_its_holder() {
    let mut stack = Stack::start();
    let caller = stack.caller();
    let taken = caller.acquire("job", 60_000, 0).await.answers(201);
    let (_, meddled) = stack.start_meddled(Mischief::LoseRenewal).await;
    let answer = meddled.renew("job", &token(&taken), 60_000).await;
    answer.refuses(503, "outcome_unknown").says_when_to_retry();
    // If the Worker had given the lock back after its answer, it would have sent that before this
    // request.
    meddled.inspect("job").await.answers(200);
    caller
        .renew("job", &token(&taken), 60_000)
        .await
        .answers(200);
}

#[tokio::test]
async fn a_lock_is_taken_for_10_s_without_waiting_unless_said_otherwise() {
    let stack = Stack::start();
    let caller = stack.caller();
    let taken = caller
        .locks("POST", "/locks/job/acquire", "")
        .await
        .answers(201);
    assert!(
        (5_000..=10_000).contains(&taken.number("remaining_ms")),
        "{taken:?}"
    );
    let refused = caller.locks("POST", "/locks/job/acquire", "{}").await;
    refused.refuses(409, "lock_held");
}

#[tokio::test]
async fn a_name_is_any_text_and_reaches_no_key_but_its_lock() {
    let stack = Stack::start();
    let caller = stack.caller();
    caller.open("42", 1, 1).await.answers(201);
    let before = stack.redis().records();
    for (path, name) in [
        ("a%2Fb%20%C3%BC%3F%23%25", "a/b ü?#%"),
        ("sale:%7B42%7D", "sale:{42}"),
        ("sale:%7B42%7D:lock", "sale:{42}:lock"),
        ("acquire", "acquire"),
        (&"n".repeat(507), &"n".repeat(507)),
    ] {
        let taken = caller.acquire(path, 60_000, 0).await.answers(201);
        assert_eq!(taken.json["name"], name);
        assert_eq!(caller.inspect(path).await.json["held"], true);
    }
    let records = stack.redis().records();
    assert!(before.iter().all(|record| records.contains(record)));
    // The lock of the sale itself is free.
    caller.order("42", "o1", "ann", 1).await.answers(201);
}

#[tokio::test]
async fn of_many_that_ask_at_once_one_gets_the_lock() {
    let mut stack = Stack::start();
    let workers = [stack.caller(), stack.start_worker()];
    let asking: Vec<_> = workers
        .iter()
        .cycle()
        .take(10)
        .cloned()
        .map(|caller| tokio::spawn(async move { caller.acquire("job", 60_000, 0).await }))
        .collect();
    let mut taken = 0;
    for asked in asking {
        let answer = asked.await.expect("no panic");
        taken += usize::from(answer.status == 201);
        assert!([201, 409].contains(&answer.status), "{answer:?}");
    }
    assert_eq!(taken, 1);
}

#[tokio::test]
async fn a_lock_is_free_again_when_its_holder_stays_silent() {
    let stack = Stack::start();
    let caller = stack.caller();
    let first = caller.acquire("job", 300, 0).await.answers(201);
    let next = caller.acquire("job", 300, 20_000).await.answers(201);
    assert!(next.number("fence") > first.number("fence"));
    assert!(next.number("remaining_ms") <= 300);
}
