//! The lock as a service: there is one holder at a time, and what has ended stays so.

mod attack;
mod hang_up;
mod hostile;

use serde_json::json;

use crate::observe::TAKEN;
use crate::support::caller::{Answer, Caller};
use crate::support::meddler::Mischief;
use crate::support::{Stack, until};

impl Caller {
    pub(crate) async fn acquire(&self, name: &str, ttl_ms: u64, wait_ms: u64) -> Answer {
        let body = json!({"ttl_ms": ttl_ms, "wait_ms": wait_ms}).to_string();
        self.locks("POST", &format!("/locks/{name}/acquire"), &body)
            .await
    }

    pub(crate) async fn renew(&self, name: &str, token: &str, ttl_ms: u64) -> Answer {
        let body = json!({"token": token, "ttl_ms": ttl_ms}).to_string();
        self.locks("POST", &format!("/locks/{name}/renew"), &body)
            .await
    }

    pub(crate) async fn release(&self, name: &str, token: &str) -> Answer {
        let body = json!({"token": token}).to_string();
        self.locks("POST", &format!("/locks/{name}/release"), &body)
            .await
    }

    pub(crate) async fn inspect(&self, name: &str) -> Answer {
        self.locks("GET", &format!("/locks/{name}"), "").await
    }
}

pub(crate) fn token(taken: &Answer) -> String {
    taken.json["token"].as_str().expect("a token").to_owned()
}

#[tokio::test]
async fn a_lock_is_taken_shown_renewed_and_given_back() {
    let stack = Stack::locks();
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
    let stack = Stack::locks();
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
    let stack = Stack::locks();
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
    let mut stack = Stack::locks();
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
    let stack = Stack::locks();
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
    let mut stack = Stack::locks();
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
    let stack = Stack::locks();
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
    let stack = Stack::locks();
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
async fn of_many_that_ask_at_once_one_gets_the_lock() {
    let mut stack = Stack::locks();
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
    let stack = Stack::locks();
    let caller = stack.caller();
    let first = caller.acquire("job", 300, 0).await.answers(201);
    let next = caller.acquire("job", 300, 20_000).await.answers(201);
    assert!(next.number("fence") > first.number("fence"));
    assert!(next.number("remaining_ms") <= 300);
}

#[tokio::test]
async fn nobody_but_its_holder_is_shown_a_locks_token() {
    let stack = Stack::locks();
    let caller = stack.caller();
    let taken = caller
        .locks("POST", "/locks/a/acquire", "")
        .await
        .answers(201);
    let token = taken.json["token"].as_str().expect("a token");
    let shown = caller.locks("GET", "/locks/a", "").await.answers(200);
    let refused = caller
        .locks("POST", "/locks/a/acquire", "")
        .await
        .answers(409);
    for answer in [shown, refused] {
        assert!(!format!("{answer:?}").contains(token), "{answer:?}");
    }
}

#[tokio::test]
async fn what_happens_to_a_lock_is_logged_as_json_whatever_its_name() {
    let stack = Stack::locks();
    let caller = stack.caller();
    let path = "/locks/a%22%0D%0A%7B%22event%22:1%7Da";
    let name = "lock:a\"\r\n{\"event\":1}a";
    let act = |act: &str, body: String| {
        let (caller, path) = (caller.clone(), format!("{path}/{act}"));
        async move { caller.locks("POST", &path, &body).await }
    };
    let taken = act("acquire", String::new()).await.answers(201);
    let token = taken.json["token"].as_str().expect("a token").to_owned();
    let taken = taken.tells("acquired", &TAKEN);
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
    until("it is logged", || {
        let all = events().len() >= 5;
        async move { all }
    })
    .await;
    let codes: Vec<_> = events()
        .iter()
        .map(|line| line["event"].as_str().expect("a code").to_owned())
        .collect();
    let told = ["acquired", "contended", "gave_up", "renewed", "released"];
    assert_eq!(codes, told);
    for line in events() {
        let numbers = line.as_object().expect("an object").iter();
        let mut numbers = numbers.filter(|(field, _)| !["event", "lock"].contains(&field.as_str()));
        assert!(numbers.all(|(_, value)| value.is_number()), "{line}");
    }
    let log = stack.workers[0].log();
    for secret in [
        token.as_str(),
        stack.bridge.token(),
        stack.config.locks_token(),
    ] {
        assert!(!log.contains(secret), "a secret in {log}");
    }
}

const ROUTES: [(&str, &str, &str); 4] = [
    ("POST", "/locks/a/acquire", ""),
    (
        "POST",
        "/locks/a/renew",
        r#"{"token":"AAAAAAAAAAAAAAAAAAAAAA"}"#,
    ),
    (
        "POST",
        "/locks/a/release",
        r#"{"token":"AAAAAAAAAAAAAAAAAAAAAA"}"#,
    ),
    ("GET", "/locks/a", ""),
];

#[tokio::test]
async fn only_who_has_the_credential_may_use_locks() {
    let stack = Stack::locks();
    let (caller, bridge) = (stack.caller(), stack.bridge.token());
    for (method, path, body) in ROUTES {
        for bearer in [None, Some(""), Some("wrong"), Some(bridge)] {
            let answer = caller.send(method, path, bearer, body).await;
            let answer = answer.refuses(401, "unauthorized");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
    }
    assert_eq!(stack.redis().dump(), []);
}

#[tokio::test]
async fn a_credential_that_is_missing_could_be_guessed_or_is_the_bridges_opens_nothing() {
    let mut stack = Stack::locks();
    let of_bridge = stack.bridge.token().to_owned();
    for (credential, status, code) in [
        ("", 403, "closed"),
        ("0123456789abcde", 500, "not_configured"),
        (&of_bridge, 500, "not_configured"),
    ] {
        stack.config = stack.config.clone().bind("LOCKS_CREDENTIAL", credential);
        let caller = stack.start_worker();
        for (method, path, body) in ROUTES {
            let refused = caller.send(method, path, Some(credential), body).await;
            refused.refuses(status, code);
        }
    }
    for worker in &stack.workers {
        assert!(!worker.log().contains(&of_bridge), "{}", worker.log());
    }
    assert_eq!(stack.redis().dump(), []);
}

#[tokio::test]
async fn nobody_is_told_of_a_lock_that_no_replica_has() {
    let mut stack = Stack::locks();
    stack.config = stack.config.clone().bind("WAIT_FOR_REPLICAS", "1");
    // There is no replica.
    let answer = stack.start_worker().acquire("job", 10_000, 0).await;
    answer.refuses(503, "not_replicated").says_when_to_retry();
    stack.config = stack.config.clone().bind("WAIT_FOR_REPLICAS", "all");
    let answer = stack.start_worker().acquire("job", 10_000, 0).await;
    answer.refuses(500, "not_configured");
}
