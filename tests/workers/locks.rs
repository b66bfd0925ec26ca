//! The lock as a service: there is one holder at a time, and what has ended stays so.

mod attack;
mod hang_up;
mod hostile;

use serde_json::json;

use crate::observe::TAKEN;
use crate::support::caller::{Answer, Caller};
use crate::support::meddler::{ALL, Mischief, RENEWALS};
use crate::support::{Stack, until};

impl Caller {
    pub(crate) async fn acquire(&self, name: &str, ttl_ms: u64, wait_ms: u64) -> Answer {
        let body = json!({"ttl_ms": ttl_ms, "wait_ms": wait_ms}).to_string();
        self.ask("POST", &format!("/locks/{name}/acquire"), &body).await
    }

    pub(crate) async fn renew(&self, name: &str, token: &str, ttl_ms: u64) -> Answer {
        let body = json!({"token": token, "ttl_ms": ttl_ms}).to_string();
        self.ask("POST", &format!("/locks/{name}/renew"), &body).await
    }

    pub(crate) async fn release(&self, name: &str, token: &str) -> Answer {
        let body = json!({"token": token}).to_string();
        self.ask("POST", &format!("/locks/{name}/release"), &body).await
    }

    pub(crate) async fn inspect(&self, name: &str) -> Answer {
        self.ask("GET", &format!("/locks/{name}"), "").await
    }
}

pub(crate) fn token(taken: &Answer) -> String {
    taken.json["token"].as_str().expect("a token").to_owned()
}

#[tokio::test]
async fn a_lock_is_taken_shown_renewed_and_given_back() {
    let stack = Stack::of("lock-service");
    let caller = stack.caller();
    let left = |answer: &Answer, from, to| {
        let left = answer.number("remaining_ms");
        assert!((from..=to).contains(&left), "{answer:?}");
    };
    let free = caller.inspect("job").await.answers(200);
    let of_free = json!({"name": "job", "held": false, "remaining_ms": null, "fence": null});
    assert_eq!(free.json, of_free);

    let taken = caller.acquire("job", 60_000, 0).await.answers(201);
    assert_eq!(taken.json["name"], "job");
    left(&taken, 1, 60_000);
    let mine = token(&taken);
    let shown = caller.inspect("job").await.answers(200);
    assert_eq!((&shown.json["held"], shown.number("fence")), (&json!(true), taken.number("fence")));
    left(&shown, 1, 60_000);
    for wait_ms in [0, 100] {
        let refused = caller.acquire("job", 60_000, wait_ms).await.refuses(409, "lock_held");
        left(&refused, 1, 60_000);
        // Only its holder is shown a token.
        assert!(!format!("{shown:?}, {refused:?}").contains(&mine));
    }

    // If a renewal says no ttl, it is that of the acquisition.
    let body = json!({ "token": mine }).to_string();
    let renewed = caller.ask("POST", "/locks/job/renew", &body).await.answers(200);
    left(&renewed, 50_000, 60_000);
    assert_eq!(renewed.number("fence"), taken.number("fence"));
    let renewed = caller.renew("job", &mine, 600_000).await.answers(200);
    left(&renewed, 60_001, 600_000);
    left(&caller.inspect("job").await, 60_001, 600_000);

    caller.release("job", &mine).await.answers(200);
    assert_eq!(caller.inspect("job").await.json["held"], false);
    // Unless an acquisition says otherwise, it is for 10 s, and waits for nobody.
    let next = caller.ask("POST", "/locks/job/acquire", "").await.answers(201);
    left(&next, 5_000, 10_000);
    assert!(next.number("fence") > taken.number("fence"));
    caller.ask("POST", "/locks/job/acquire", "{}").await.refuses(409, "lock_held");
}

#[tokio::test]
async fn a_token_whose_time_is_over_is_of_no_use() {
    let stack = Stack::of("lock-service");
    let caller = stack.caller();
    let stale = token(&caller.acquire("job", 300, 0).await.answers(201));
    let next = token(&caller.acquire("job", 60_000, 20_000).await.answers(201));
    caller.renew("job", &stale, 1_000).await.refuses(409, "lock_lost");
    caller.release("job", &stale).await.refuses(409, "lock_lost");
    caller.renew("job", &next, 60_000).await.answers(200);
    caller.release("job", &next).await.answers(200);
    caller.release("job", &next).await.refuses(409, "lock_lost");
}

#[tokio::test]
async fn a_renewal_that_got_lost_leaves_the_lock_to_its_holder() {
    let mut stack = Stack::of("lock-service");
    let caller = stack.caller();
    let taken = caller.acquire("job", 60_000, 0).await.answers(201);
    let (_, meddled) = stack.meddled(RENEWALS, Mischief::LoseReply).await;
    let answer = meddled.renew("job", &token(&taken), 60_000).await;
    answer.refuses(503, "outcome_unknown");
    // If the Worker had given the lock back after its answer, it would have sent that before this
    // request.
    meddled.inspect("job").await.answers(200);
    caller.renew("job", &token(&taken), 60_000).await.answers(200);
}

/// Redis has the lock until its ttl is over, and nobody has its token.
#[tokio::test]
async fn an_acquisition_that_got_lost_is_not_told_as_one_that_changed_nothing() {
    let mut stack = Stack::of("lock-service");
    let (_, meddled) = stack.meddled(ALL, Mischief::LoseReply).await;
    meddled.acquire("job", 60_000, 0).await.refuses(503, "outcome_unknown");
}

#[tokio::test]
async fn a_name_is_any_text_and_reaches_no_key_but_its_lock() {
    let stack = Stack::of("lock-service");
    let caller = stack.caller();
    let mut redis = stack.redis();
    redis.run::<()>("HSET sale:{42} remaining 1");
    redis.run::<()>("SET sale:{42}:lock another");
    let before = redis.records();
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
    let records = redis.records();
    assert!(before.iter().all(|record| records.contains(record)));
    // The lock of the sale itself is another's.
    assert_eq!(redis.run::<String>("GET sale:{42}:lock"), "another");
}

#[tokio::test]
async fn what_happens_to_a_lock_is_logged_as_json_whatever_its_name() {
    let stack = Stack::of("lock-service");
    let caller = stack.caller();
    let path = "/locks/a%22%0D%0A%7B%22event%22:1%7Da";
    let name = "lock:a\"\r\n{\"event\":1}a";
    let act = |act: &str, body: String| {
        let (caller, path) = (caller.clone(), format!("{path}/{act}"));
        async move { caller.ask("POST", &path, &body).await }
    };
    let taken = act("acquire", String::new()).await.answers(201);
    let token = taken.json["token"].as_str().expect("a token").to_owned();
    taken.tells("acquired", &TAKEN);
    assert!(!taken.header("server-timing").contains("event"));
    let waiting = r#"{"wait_ms":200}"#.to_owned();
    act("acquire", waiting).await.answers(409);
    let holder = format!(r#"{{"token":"{token}"}}"#);
    act("renew", holder.clone()).await.answers(200);
    act("release", holder).await.answers(200);

    let events = || {
        let mut logged = stack.logged();
        logged.retain(|line| line["lock"] == name);
        logged
    };
    until("it is logged", || async { events().len() >= 5 }).await;
    let codes: Vec<_> =
        events().iter().map(|line| line["event"].as_str().expect("a code").to_owned()).collect();
    let told = ["acquired", "contended", "gave_up", "renewed", "released"];
    assert_eq!(codes, told);
    for line in events() {
        let numbers = line.as_object().expect("an object").iter();
        let mut numbers = numbers.filter(|(field, _)| !["event", "lock"].contains(&field.as_str()));
        assert!(numbers.all(|(_, value)| value.is_number()), "{line}");
    }
    let log = stack.workers[0].log();
    for secret in [token.as_str(), stack.bridge.token(), stack.config.locks_token()] {
        assert!(!log.contains(secret), "a secret in {log}");
    }
}

#[tokio::test]
async fn nobody_is_told_of_a_lock_that_no_replica_has() {
    let mut stack = Stack::of("lock-service");
    // There is no replica.
    for (replicas, status, code) in [("1", 503, "not_replicated"), ("all", 500, "not_configured")] {
        let config = stack.config.clone().bind("WAIT_FOR_REPLICAS", replicas);
        stack.start_with(config).acquire("job", 10_000, 0).await.refuses(status, code);
    }
}
