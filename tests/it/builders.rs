//! Asking for a lock never fails half-way. The first option that cannot work is what every call
//! tells, before anything is sent.

use std::time::Duration;

use edgelock::{
    Acquisition, Bridge, Client, Command, Debounce, Error, GroupCommit, Limit, Once, Throttle,
    Token,
};

use crate::support::noted::{Drawn, Noted, NotedLock, noting};
use crate::support::turns::no_turns;
use crate::support::{alone, code, ms};

alone! {
    the_first_that_cannot_work_is_what_each_call_says_and_nothing_is_sent,
    what_cannot_be_asked_of_a_call_that_holds_nothing_is_told_and_nothing_is_sent,
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
    let units = || client.reservations("a", 3);
    let limits = |permits| client.limits([Limit::new("a", 3).permits(permits), Limit::new("b", 1)]);
    let many = (0..33).map(|n| (format!("n{n}"), 1));
    let (weighed, reserved) = ("only semaphores and reservations", "only reservations");
    let plain = "only a plain lock behind one bridge";
    let bridges = ["a", "b", "c"].map(|host| format!("https://{host}.example"));
    let bridges = bridges.map(|url| Bridge::upstash(&url, "credential").unwrap());
    let quorum = Client::quorum(bridges, noted.clone(), Drawn::default()).unwrap();
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
        (units().weight(0), "a weight is 1 to the number of permits or units, 3, not 0"),
        (client.semaphore("a", 3).weight(4), "permits or units, 3, not 4"),
        (lock().weight(1), weighed),
        (client.reentrant("a", "ann").weight(1), weighed),
        (client.read_write("a").read().weight(1), weighed),
        (all(&["a", "b"]).weight(1), weighed),
        (limits(1).weight(2), weighed),
        (limits(0), "a lease takes 1 to 3 permits, not 0"),
        (limits(4), "a lease takes 1 to 3 permits, not 4"),
        (client.limits([("a", 0)]), "a limit is 1 or more"),
        (client.limits([("", 1); 0]), "1 to 32"),
        (client.limits(many), "1 to 32"),
        (client.limits([("a", 1), ("a", 2)]), "twice"),
        (limits(1).fair(true), "several limits cannot be fair"),
        (limits(1).signal_list("s"), "no signal list"),
        (client.reservations("a", 0), "1 unit to reserve or more"),
        (client.reservations("", 1), "the name is empty"),
        (units().fair(true), "reservations cannot be fair"),
        (units().signal_list("b"), "reservations have no signal list"),
        (units().owner("ann", 0), reserved),
        (units().owner("", 1), "an owner has 1 byte or more"),
        (units().owner(&long, 1), "a label has up to 128 bytes"),
        (units().owner("ann", 1).label("x"), "a reservation with an owner has that as its label"),
        (limits(1).owner("ann", 1), reserved),
        (lock().owner("ann", 1), reserved),
        (client.semaphore("a", 3).owner("ann", 1), reserved),
        (quorum.lock("a").take_over(), plain),
        (client.reentrant("a", "ann").take_over(), plain),
        (client.semaphore("a", 2).take_over(), plain),
        (units().take_over(), plain),
        (client.read_write("a").write().take_over(), plain),
        (client.read_write("a").read().take_over(), plain),
        (all(&["a", "b"]).take_over(), plain),
        (limits(1).take_over(), plain),
        (lock().signal_list("list").take_over(), plain),
        (lock().fair(true).take_over(), "who takes a lock over"),
        (lock().take_over().signal_list("list"), "who takes a lock over"),
        (lock().take_over().fair(true), "who takes a lock over"),
        (lock().take_over().weight(2), weighed),
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
    for valid in [limits(3), units().owner("ann", 2).weight(3), lock().fair(false).take_over()] {
        assert_eq!(valid.check(), Ok(()));
    }
}

/// What each call that could send something comes to.
async fn of_throttle(throttle: Throttle<Noted, Drawn>) -> Vec<Option<Error>> {
    vec![throttle.check().err(), throttle.clone().try_pass().await.err()]
}

async fn of_debounce(debounce: Debounce<Noted, Drawn>) -> Vec<Option<Error>> {
    let never = async || -> Result<(), Error> { panic!("the work is not begun") };
    vec![debounce.check().err(), debounce.clone().run(never).await.err()]
}

async fn of_once(once: Once<Noted, Drawn>) -> Vec<Option<Error>> {
    let never = async |_: &_| -> Result<String, Error> { panic!("the work is not begun") };
    // Neither another invalid option behind it nor valid ones change anything.
    let once = once.ttl(ms(0)).keep(ms(1_000)).ttl(ms(1_000)).wait_timeout(ms(1)).clone();
    vec![once.check().err(), once.run(never).await.err(), once.run_text(never).await.err()]
}

async fn what_cannot_be_asked_of_a_call_that_holds_nothing_is_told_and_nothing_is_sent() {
    let (client, noted) = noting();
    let (day, year) = (ms(86_400_000), ms(366 * 86_400_000));
    let part = Duration::from_micros;
    let throttle = |window| client.throttle("a", window);
    let debounce = |wait| client.debounce("a", wait);
    let once = || client.once("a");
    let print = |bytes| once().fingerprint(&"x".repeat(bytes));
    for window in [ms(0), year + ms(1), part(1_500), Duration::MAX] {
        let what = "the window of a throttle is 1 ms to 366 days, in whole milliseconds";
        all_say(what, of_throttle(throttle(window)).await);
    }
    for wait in [ms(0), day + ms(1), part(1_500), Duration::MAX] {
        let what = "the wait of a debounce is 1 ms to 24 hours, in whole milliseconds";
        all_say(what, of_debounce(debounce(wait)).await);
        all_say(what, of_debounce(debounce(wait).max_wait(ms(0))).await);
    }
    for longest in [ms(4), ms(0), part(7_500), day + ms(1), Duration::MAX] {
        let what = "the longest wait of a debounce is from its wait (5 ms) to 24 hours, in whole";
        all_say(what, of_debounce(debounce(ms(5)).max_wait(longest)).await);
    }
    for (once, what) in [
        (once().keep(ms(0)), "kept for 1 ms to 366 days"),
        (once().keep(year + ms(1)), "kept for 1 ms to 366 days"),
        (once().keep(part(1_500)), "kept for 1 ms to 366 days"),
        (print(0), "a fingerprint has 1 to 128 bytes"),
        (print(129).keep(ms(0)), "a fingerprint has 1 to 128 bytes"),
        (once().max_bytes(0), "a result may have 1 to 262144 bytes"),
        (once().max_bytes(256 * 1024 + 1), "a result may have 1 to 262144 bytes"),
        (once().ttl(ms(3)).max_bytes(0), "ttl"),
        (client.once("").keep(ms(0)), "the name is empty"),
    ] {
        all_say(what, of_once(once).await);
    }
    all_say("the name is empty", of_throttle(client.throttle("", ms(0))).await);
    all_say("the name is empty", of_debounce(client.debounce("", ms(0))).await);
    assert!(!noted.was_asked());
    for valid in [
        throttle(ms(1)).check(),
        throttle(year).check(),
        debounce(ms(1)).max_wait(ms(1)).check(),
        debounce(ms(1)).max_wait(day).check(),
        debounce(day).max_wait(day).check(),
        debounce(day).check(),
        print(128).check(),
    ] {
        assert_eq!(valid, Ok(()));
    }
}

#[track_caller]
fn all_say(what: &str, told: Vec<Option<Error>>) {
    for error in told {
        let error = error.expect("an error");
        assert_eq!(error.code(), "invalid_argument", "{error}");
        assert!(error.to_string().contains(what), "{what}: {error}");
    }
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
