//! At noon every instance fires. One of them draws ten of the entrants, the others give up at once,
//! and a lottery is drawn once only.

mod hostile;

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::DateTime;
use serde_json::{Value, json};
use testkit::stack::{Redis, WorkerConfig};
use testkit::worker_build::as_users_do;

use crate::support::caller::{Answer, Caller};
use crate::support::meddler::{COMMITS, Mischief, Of};
use crate::support::{BRIDGE_URL, Stack, at_once, now_ms, until};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const WEEK_MS: u64 = 7 * DAY_MS;

/// A lottery's id, and the time of its draw.
pub(crate) struct Lottery {
    pub(crate) id: String,
    noon_ms: u64,
}

impl Lottery {
    fn on(ms: u64) -> Self {
        let at = DateTime::from_timestamp_millis(ms.cast_signed()).expect("before 262000");
        Self { id: at.date_naive().to_string(), noon_ms: ms - ms % DAY_MS + DAY_MS / 2 }
    }

    /// A lottery that is open for half a day at least, whatever the time is.
    pub(crate) fn tomorrow() -> Self {
        Self::on(now_ms() + DAY_MS)
    }

    async fn enter(&self, stack: &Stack, entrants: usize) {
        for n in 0..entrants {
            let entrant = format!("entrant{n}");
            stack.caller().enter(&self.id, &entrant).await.answers(201);
        }
    }

    async fn shown(&self, stack: &Stack) -> Answer {
        stack.caller().lottery(&self.id).await.answers(200)
    }
}

impl Caller {
    pub(crate) async fn enter(&self, lottery: &str, entrant: &str) -> Answer {
        let path = format!("/lottery/{lottery}/entrants");
        let entry = json!({ "entrant": entrant });
        self.send("POST", &path, None, &entry.to_string()).await
    }

    async fn lottery(&self, lottery: &str) -> Answer {
        self.send("GET", &format!("/lottery/{lottery}"), None, "").await
    }

    /// Fires the Worker's schedule, as if the clock showed `time_ms`.
    async fn fire(&self, time_ms: u64) {
        let fired = reqwest::get(format!("{}?time={time_ms}", self.cron_url)).await;
        let fired = fired.expect("an answer").text().await;
        assert_eq!(fired.expect("a whole answer"), "ok");
    }
}

impl Stack {
    /// Starts a lottery beside the other Workers, with the bridge at this address.
    pub(crate) fn start_lottery(&mut self, bridge: &str) -> Caller {
        let built = as_users_do("lottery").expect("a Worker");
        self.start_with(WorkerConfig::new(built, &self.bridge).bind(BRIDGE_URL, bridge))
    }
}

/// The outcome of each draw that was tried, once the log has `tried` of them.
async fn outcomes(stack: &Stack, tried: usize) -> Vec<Value> {
    let draws = || stack.logged_of("draw");
    until("all draws are logged", || async { draws().len() == tried }).await;
    draws()
}

fn count(draws: &[Value], outcome: &str) -> usize {
    draws.iter().filter(|draw| draw["outcome"] == outcome).count()
}

fn winners(shown: &Answer) -> BTreeSet<String> {
    let winners = shown.json["winners"].as_array().expect("winners");
    let names: BTreeSet<_> =
        winners.iter().map(|name| name.as_str().expect("a name").to_owned()).collect();
    assert_eq!(names.len(), winners.len(), "somebody won twice: {shown:?}");
    names
}

#[tokio::test]
async fn of_forty_that_fire_at_once_one_draws_ten_and_the_others_give_up_at_once() {
    let mut stack = Stack::of("lottery");
    let workers = [stack.caller(), stack.start_worker()];
    let lottery = Lottery::tomorrow();
    lottery.enter(&stack, 25).await;
    let mut redis = stack.redis();
    let before = redis.scripts_run();

    let noon_ms = lottery.noon_ms;
    let fire = |n: usize| {
        let worker = workers[n % 2].clone();
        async move { worker.fire(noon_ms).await }
    };
    at_once((0..40).map(fire)).await;

    let draws = outcomes(&stack, 40).await;
    let late = count(&draws, "drawn_before");
    assert_eq!(count(&draws, "drawn"), 1, "{draws:?}");
    assert_eq!(count(&draws, "left_to_another"), 39 - late, "{draws:?}");
    // Each instance asked once. One read the winners, and recorded them. Only those that came late
    // got the lock too, and gave it back.
    until("the lock is given back", || {
        let requests = redis.scripts_run() - before;
        async move { requests == (40 + 2 + late) as u64 }
    })
    .await;

    let shown = lottery.shown(&stack).await;
    let entrants = (0..25).map(|n| format!("entrant{n}")).collect();
    assert_eq!(winners(&shown).len(), 10);
    assert!(winners(&shown).is_subset(&entrants), "{shown:?}");
    let drawn = draws.iter().find(|draw| draw["outcome"] == "drawn");
    let fence = shown.number("fence");
    assert_eq!(
        drawn,
        Some(&json!({
            "event": "draw", "lottery": lottery.id, "outcome": "drawn", "fence": fence, "winners": 10
        }))
    );

    workers[1].fire(noon_ms).await;
    assert_eq!(count(&outcomes(&stack, 41).await, "drawn"), 1);
    assert_eq!(lottery.shown(&stack).await.text, shown.text);
}

#[tokio::test]
async fn a_draw_that_died_half_way_is_drawn_by_another_and_does_not_come_late() {
    // Once while it reads the winners, and once while it records them.
    for of in ["\"LINDEX\"", COMMITS] {
        dies_half_way(of).await;
    }
}

async fn dies_half_way(of: Of) {
    let mut stack = Stack::of("lottery");
    let lottery = Lottery::tomorrow();
    lottery.enter(&stack, 25).await;
    let (meddler, dying) = stack.meddled(of, Mischief::Hold).await;
    let noon_ms = lottery.noon_ms;
    let firing = tokio::spawn(async move { dying.fire(noon_ms).await });
    until("it dies", || async { meddler.held() > 0 }).await;
    firing.abort();
    stack.workers.last_mut().expect("the dying one").kill();

    let mut redis = stack.redis();
    let lock = format!("lottery:{{{}}}:draw:lock", lottery.id);
    let dead = redis.last_fence(&lock);
    assert!(redis.run::<i64>(&format!("PTTL {lock}")) <= 10_000);
    assert_eq!(lottery.shown(&stack).await.json["winners"], Value::Null);

    // An instance fires again and again until the lock's ttl is over. Each time adds one outcome.
    let mut fired = 0;
    let draws = loop {
        stack.caller().fire(noon_ms).await;
        fired += 1;
        let draws = outcomes(&stack, fired).await;
        if count(&draws, "left_to_another") < fired {
            break draws;
        }
        let left: i64 = redis.run(&format!("PTTL {lock}"));
        tokio::time::sleep(Duration::from_millis(left.max(1).unsigned_abs())).await;
    };
    assert!(fired > 1, "the dead one kept nobody out");
    assert_eq!(count(&draws, "drawn"), 1, "{draws:?}");
    let shown = lottery.shown(&stack).await;
    assert_eq!(winners(&shown).len(), 10);
    assert!(shown.number("fence") > dead, "{shown:?}");

    assert!(meddler.deliver().await > 0);
    assert_eq!(lottery.shown(&stack).await.text, shown.text);
}

#[tokio::test]
async fn a_draw_whose_outcome_got_lost_is_not_drawn_again() {
    let mut stack = Stack::of("lottery");
    let lottery = Lottery::tomorrow();
    lottery.enter(&stack, 25).await;
    let (_, meddled) = stack.meddled(COMMITS, Mischief::LoseReply).await;
    meddled.fire(lottery.noon_ms).await;
    until("it says that it does not know", || async {
        stack.logged().iter().any(|line| line["code"] == "outcome_unknown")
    })
    .await;
    let shown = lottery.shown(&stack).await;
    assert_eq!(winners(&shown).len(), 10);

    stack.caller().fire(lottery.noon_ms).await;
    let draws = outcomes(&stack, 1).await;
    assert_eq!(count(&draws, "drawn_before"), 1, "{draws:?}");
    assert_eq!(lottery.shown(&stack).await.text, shown.text);
}

#[tokio::test]
async fn whoever_enters_twice_is_in_once() {
    let stack = Stack::of("lottery");
    let (caller, lottery) = (stack.caller(), Lottery::tomorrow());
    let first = caller.enter(&lottery.id, "ann").await.answers(201);
    assert_eq!(
        first.json,
        json!({"id": lottery.id, "entrant": "ann", "draw_at_ms": lottery.noon_ms})
    );
    let again = caller.enter(&lottery.id, "ann").await.answers(200);
    assert_eq!(again.text, first.text);
    caller.enter(&lottery.id, "bob").await.answers(201);
    assert_eq!(
        lottery.shown(&stack).await.json,
        json!({
            "id": lottery.id, "entrants": 2, "draw_at_ms": lottery.noon_ms,
            "drawn_at_ms": null, "fence": null, "winners": null,
        })
    );
}

/// The last place is given once, however many ask for it at once.
#[tokio::test]
async fn a_million_take_part_and_not_one_more() {
    let mut stack = Stack::of("lottery");
    let workers = [stack.caller(), stack.start_worker()];
    let lottery = Lottery::tomorrow();
    let mut redis = stack.redis();
    lottery.fill(&mut redis, 999_999);

    let coming = (0..40).map(|n| {
        let (worker, id) = (workers[n % 2].clone(), lottery.id.clone());
        async move { worker.enter(&id, &format!("late{n}")).await.status }
    });
    let statuses = at_once(coming).await;
    let let_in = statuses.iter().filter(|status| **status == 201).count();
    assert_eq!(let_in, 1, "{statuses:?}");
    // Each is told the same when it asks again.
    for (n, status) in statuses.into_iter().enumerate() {
        let again = workers[0].enter(&lottery.id, &format!("late{n}")).await;
        match status {
            201 => drop(again.answers(200)),
            _ => drop(again.refuses(409, "lottery_full")),
        }
    }
    for early in ["entrant0", "entrant999998"] {
        workers[0].enter(&lottery.id, early).await.answers(200);
    }
    assert_eq!(lottery.shown(&stack).await.number("entrants"), 1_000_000);

    until("all locks are given back", || {
        let held: Vec<String> = redis.run("KEYS *:lock");
        async move { held.is_empty() }
    })
    .await;
    let before = redis.scripts_run();
    workers[0].fire(lottery.noon_ms).await;
    let draws = outcomes(&stack, 1).await;
    assert_eq!(count(&draws, "drawn"), 1, "{draws:?}");
    // The number of requests does not depend on the number of entrants.
    assert_eq!(redis.scripts_run() - before, 3);
    assert_eq!(winners(&lottery.shown(&stack).await).len(), 10);
}

impl Lottery {
    /// Stores so many entrants, with all that is needed to find the first and the last of them.
    fn fill(&self, redis: &mut Redis, entrants: u64) {
        let key = |kind| format!("lottery:{{{}}}:{kind}", self.id);
        let (list, found) = (key("entrants"), key("entered"));
        let push = "for n=ARGV[1],ARGV[2] do redis.call('RPUSH',KEYS[1],'entrant'..string.format('%d',n)) end";
        let step = 10_000;
        for from in (0..entrants).step_by(step) {
            let upto = (from + step as u64).min(entrants) - 1;
            let mut script = redis::cmd("EVAL");
            script.arg(push).arg(1).arg(&list).arg(from).arg(upto);
            redis.query::<()>(&script);
        }
        for n in [0, entrants - 1] {
            redis.run::<()>(&format!("HSET {found} entrant{n} {n}"));
        }
    }
}

#[tokio::test]
async fn nobody_enters_behind_the_draw() {
    let stack = Stack::of("lottery");
    let (caller, lottery) = (stack.caller(), Lottery::tomorrow());
    let ticket = caller.enter(&lottery.id, "ann").await.answers(201);
    caller.fire(lottery.noon_ms).await;
    let late = caller.enter(&lottery.id, "bob").await;
    late.refuses(410, "lottery_closed");
    let again = caller.enter(&lottery.id, "ann").await.answers(200);
    assert_eq!(again.text, ticket.text);
}

#[tokio::test]
async fn a_lottery_is_forgotten_a_week_after_its_draw() {
    let stack = Stack::of("lottery");
    let (mut redis, lottery) = (stack.redis(), Lottery::tomorrow());
    let [entrants, entered, drawn] =
        ["entrants", "entered", "drawn"].map(|key| format!("lottery:{{{}}}:{key}", lottery.id));
    lottery.enter(&stack, 1).await;
    for key in [&entrants, &entered] {
        let expires: u64 = redis.run(&format!("PEXPIRETIME {key}"));
        assert_eq!(expires, lottery.noon_ms + WEEK_MS);
    }

    stack.caller().fire(lottery.noon_ms).await;
    let shown = lottery.shown(&stack).await;
    let earliest = shown.number("drawn_at_ms") + WEEK_MS;
    for key in [entrants, entered, drawn] {
        let expires: u64 = redis.run(&format!("PEXPIRETIME {key}"));
        assert!((earliest..=now_ms() + WEEK_MS).contains(&expires), "{key}");
    }
    // The keys of its locks are among them.
    let keys: Vec<String> = redis.run("KEYS *");
    for key in keys {
        assert!(redis.run::<i64>(&format!("PTTL {key}")) > 0, "{key}");
    }
}

#[tokio::test]
async fn records_of_a_lottery_that_are_not_ours_are_an_error_and_stay() {
    let stack = Stack::of("lottery");
    let (caller, lottery, mut redis) = (stack.caller(), Lottery::tomorrow(), stack.redis());
    for (kind, code) in [("drawn fence 1", "corrupt_record"), ("entrants a b", "command_failed")] {
        redis.run::<()>("FLUSHALL");
        redis.run::<()>(&format!("HSET lottery:{{{}}}:{kind}", lottery.id));
        let before = redis.records();
        caller.enter(&lottery.id, "ann").await.refuses(500, code);
        caller.lottery(&lottery.id).await.refuses(500, code);
        caller.fire(lottery.noon_ms).await;
        assert_eq!(redis.records(), before);
    }
}
