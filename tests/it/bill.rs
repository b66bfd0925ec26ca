//! What each call costs in Redis commands: those of its script, and the `EVAL` itself, which the
//! bridge may send as `EVALSHA`.
//!
//! Whoever pays by the command pays for each command inside of a script. So a test has the exact
//! number for each call. What the bridge asks for its own sake does not count.

use edgelock::{Command, Decision, GroupCommit, Lease};
use redis::ConnectionLike;

use crate::support::turns::Own;
use crate::support::{Http, Stack, TestClient, Tokio, alone, client_of, eventually, ms};

alone! {
    each_call_of_a_lock_costs_so_many_commands,
    a_poll_that_changes_nothing_costs_so_many_commands,
    each_call_of_another_kind_costs_so_many_commands,
    each_call_of_two_limits_costs_so_many_commands,
    a_confirmation_costs_so_many_commands,
    each_call_that_holds_nothing_costs_so_many_commands,
    a_turn_that_nobody_competes_with_costs_six_commands_beyond_its_own,
}

type Held = Lease<Http, Tokio>;

/// Sees all that Redis executes.
struct Meter {
    seen: redis::Connection,
    marks: u32,
}

impl Meter {
    fn new(stack: &Stack) -> Self {
        let mut seen = stack.bridge.redis().get_connection().expect("redis");
        seen.req_command(&redis::cmd("MONITOR")).expect("OK");
        Self { seen, marks: 0 }
    }

    /// The commands since the last time: scripts, and what ran inside of them.
    fn read(&mut self, stack: &mut Stack) -> Vec<String> {
        self.marks += 1;
        let mark = format!("mark-{}", self.marks);
        let _: String = stack.redis(&format!("ECHO {mark}"));
        let mut commands = Vec::new();
        loop {
            let line = self.seen.recv_response().expect("a command");
            let line: String = redis::from_redis_value(line).expect("text");
            let (from, words) = line.split_once("] ").expect("who, and what");
            if words.contains(&mark) {
                return commands;
            }
            let name = words.split('"').nth(1).unwrap_or_default().to_uppercase();
            let name = name.trim_end_matches("SHA");
            if from.ends_with(" lua") || name == "EVAL" {
                commands.push(name.to_owned());
            }
        }
    }
}

/// Counts what calls cost, and compares all at once.
struct Bill {
    stack: Stack,
    meter: Meter,
    wrong: Vec<String>,
}

impl Bill {
    fn new() -> Self {
        let stack = Stack::spawn();
        let meter = Meter::new(&stack);
        Self { stack, meter, wrong: Vec::new() }
    }

    /// What ran since the last time cost so many commands.
    fn costs(&mut self, what: &str, expected: usize) {
        let commands = self.meter.read(&mut self.stack);
        if commands.len() != expected {
            let (count, list) = (commands.len(), commands.join(" "));
            self.wrong.push(format!("{what}: {count}, not {expected}: {list}"));
        }
    }

    /// What ran since the last time does not count.
    fn skip(&mut self) {
        self.meter.read(&mut self.stack);
    }

    #[track_caller]
    fn must_be_right(self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
    }
}

fn get() -> [Command; 1] {
    [Command::new("GET").key("{a}:n")]
}

fn set() -> [Command; 1] {
    [Command::new("SET").key("{a}:n").arg("1")]
}

async fn end(lease: Held) {
    lease.release().await.unwrap();
}

/// A new name, and one that was locked before.
async fn turns(bill: &mut Bill, client: &TestClient) {
    for time in ["first", "next"] {
        let lease = client.lock("a").acquire().await.unwrap();
        bill.costs(&format!("acquire, {time}"), 5);
        end(lease).await;
        bill.costs(&format!("release, {time}"), 4);
    }
}

async fn each_call_of_a_lock_costs_so_many_commands() {
    let mut bill = Bill::new();
    let client = bill.stack.client();
    turns(&mut bill, &client).await;
    let lock = client.lock("a");
    let (lease, _) = lock.acquire_and_read(&get()).await.unwrap();
    bill.costs("acquire and read", 6);
    lease.commit(&set()).await.unwrap();
    bill.costs("commit of one write", 5);
    let lease = lock.acquire().await.unwrap();
    bill.skip();
    lease.renew().await.unwrap();
    bill.costs("renew", 5);
    lease.exec(&set()).await.unwrap();
    bill.costs("exec of one write", 7);
    lease.renew().await.unwrap();
    bill.costs("renew behind an exec", 6);
    assert!(lock.try_acquire().await.is_err());
    bill.costs("try of a held lock", 3);
    let newer = lock.clone().take_over().acquire().await.unwrap();
    bill.costs("take over a held lock", 7);
    assert!(lease.release().await.is_err());
    bill.skip();
    end(newer).await;
    bill.costs("release behind a take-over", 4);
    end(lock.take_over().acquire().await.unwrap()).await;
    bill.costs("acquire to take over, and release", 6 + 4);
    bill.must_be_right();
}

async fn a_poll_that_changes_nothing_costs_so_many_commands() {
    let mut bill = Bill::new();
    let lease = bill.stack.lock("a").acquire().await.unwrap();
    let polling = client_of(bill.stack.route().push(false)).lock("a");
    let waiter = tokio::task::spawn_local(async move { polling.acquire().await });
    eventually(|| bill.stack.waiters_for("a") == 1).await;
    bill.skip();
    let mut seen = Vec::new();
    let is_eval = |name: &&String| *name == "EVAL";
    eventually(|| {
        seen.extend(bill.meter.read(&mut bill.stack));
        seen.iter().filter(is_eval).count() > 2
    })
    .await;
    waiter.abort();
    let polls = seen.join(" ");
    for poll in polls.split("EVAL").skip(1) {
        assert_eq!(poll.split_whitespace().count() + 1, 5, "{polls}");
    }
    end(lease).await;
}

async fn each_call_of_another_kind_costs_so_many_commands() {
    let mut bill = Bill::new();
    let client = bill.stack.client();
    let three = client.semaphore("h", 5).weight(3);
    let owned = client.reservations("o", 3).owner("ann", 2);
    let kinds = [
        ("reentrant", client.reentrant("e", "me"), 7, 8),
        ("semaphore of 3", client.semaphore("s", 3), 7, 6),
        ("three of five permits", three, 7, 7),
        ("a unit", client.reservations("u", 3), 9, 6),
        ("an owner's", owned, 12, 10),
        ("reader", client.read_write("w").read(), 8, 7),
        ("writer", client.read_write("w").write(), 5, 4),
        ("two names", client.lock_all(["x", "y"]), 8, 4),
    ];
    for (kind, lock, enter, leave) in kinds {
        for time in ["first", "next"] {
            let lease = lock.acquire().await.unwrap();
            bill.costs(&format!("acquire of {kind}, {time}"), enter);
            end(lease).await;
            bill.costs(&format!("release of {kind}, {time}"), leave);
        }
    }
    bill.must_be_right();
}

async fn each_call_of_two_limits_costs_so_many_commands() {
    let mut bill = Bill::new();
    let lock = bill.stack.client().limits([("a", 1), ("b", 3)]);
    for (time, enter) in [("first", 13), ("next", 11)] {
        let lease = lock.acquire().await.unwrap();
        bill.costs(&format!("acquire of two limits, {time}"), enter);
        lease.renew().await.unwrap();
        bill.costs(&format!("renewal of two limits, {time}"), 11);
        end(lease).await;
        bill.costs(&format!("release of two limits, {time}"), 8);
    }
    bill.must_be_right();
}

async fn a_confirmation_costs_so_many_commands() {
    let mut bill = Bill::new();
    let lock = bill.stack.client().reservations("a", 3);
    for time in ["first", "next"] {
        let lease = lock.acquire().await.unwrap();
        bill.skip();
        lease.commit(&set()).await.unwrap();
        bill.costs(&format!("confirmation, {time}"), 10);
    }
    bill.must_be_right();
}

async fn each_call_that_holds_nothing_costs_so_many_commands() {
    let mut bill = Bill::new();
    let client = bill.stack.client();
    let once = client.once("a");
    for (time, commands) in [("first", 12), ("repeat", 3)] {
        let outcome = once.run(async |_| Ok::<_, edgelock::Error>(1)).await;
        outcome.unwrap();
        bill.costs(&format!("once, {time}"), commands);
    }
    let copy = client.cached("c", ms(60_000), ms(60_000));
    for (time, life, commands) in [("none", 0, 13), ("fresh", 90_000, 4), ("stale", 50_000, 14)] {
        if life > 0 {
            let _: bool = bill.stack.redis(&format!("PEXPIRE {{c}}:result {life}"));
        }
        let copied = copy.get(async || Ok::<_, edgelock::Error>(1)).await;
        copied.unwrap();
        bill.costs(&format!("a copy, {time}"), commands);
    }
    let throttle = client.throttle("a", ms(60_000));
    for (what, commands) in [("passes", 4), ("refuses", 3)] {
        throttle.try_pass().await.unwrap();
        bill.costs(&format!("a throttle that {what}"), commands);
    }
    let debounce = client.debounce("a", ms(20));
    let called = debounce.run(async || Ok::<_, edgelock::Error>(())).await;
    called.unwrap();
    bill.costs("debounce", 9);
    bill.must_be_right();
}

async fn a_turn_that_nobody_competes_with_costs_six_commands_beyond_its_own() {
    let mut bill = Bill::new();
    let lock = bill.stack.client().lock("a");
    let count = GroupCommit::new(Own::<_, (), _, false> {
        reads: |()| get().into(),
        decide: |(), _, (), _| Decision::Write(set().into(), ()),
    });
    count.submit(&lock, ()).await.unwrap();
    bill.skip();
    for _ in 0..2 {
        count.submit(&lock, ()).await.unwrap();
        // It reads, writes, and reads again for the next turn.
        bill.costs("a turn", 6 + 3);
    }
    bill.must_be_right();
}
