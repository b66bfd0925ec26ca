//! Asking for a lock never fails half-way. The first option that cannot work is what every call
//! tells, before anything is sent.

use edgelock::{Acquisition, Client, Command, Decision, Error, GroupCommit, Reply, Section, Token};

use crate::support::noted::{Drawn, Noted, NotedLock, noting};
use crate::support::{alone, code, ms};

alone! {
    the_first_that_cannot_work_is_what_each_call_says_and_nothing_is_sent,
}

const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAA";

struct Nothing;

impl Section for Nothing {
    type Item = ();
    type Answer = ();
    type State = ();

    fn reads(&self, (): &()) -> Vec<Command> {
        Vec::new()
    }

    fn decide(&self, (): &(), _: &[Reply], (): &mut (), _: u64) -> Decision<()> {
        panic!("there is no turn");
    }
}

/// The error of each call of `lock` that could send something.
async fn told_by_all(lock: &NotedLock) -> Vec<Error> {
    let token = Token::parse(TOKEN).expect("a token");
    let nothing = async |_: &edgelock::Lease<Noted, Drawn>| -> Result<(), Error> {
        panic!("the work is not begun");
    };
    let again = Acquisition::new();
    let plain = GroupCommit::new(Nothing);
    let looking = GroupCommit::new(Nothing).peek(|_, _, _| Some(()));
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
    let wrong = [
        (client.lock("").ttl(ms(0)), "the name is empty"),
        (
            client.reentrant("a", "").ttl(ms(0)),
            "an owner has 1 to 512 bytes",
        ),
        (client.reentrant("", ""), "an owner has 1 to 512 bytes"),
        (client.reentrant("a", "me").label("x").ttl(ms(0)), "label"),
        (
            client.reentrant("a", "me").fair(true).ttl(ms(0)),
            "a reentrant lock cannot be fair",
        ),
        (
            client.semaphore("a", 0).ttl(ms(0)),
            "a semaphore has 1 permit or more",
        ),
        (client.semaphore("", 0), "a semaphore has 1 permit or more"),
        (
            client.semaphore("a", 1).signal_list("b").ttl(ms(0)),
            "signal list",
        ),
        (
            client.read_write("a").read().signal_list("b").ttl(ms(0)),
            "a read/write lock has no signal list",
        ),
        (
            client.lock_all(["a", "b"]).signal_list("c").ttl(ms(0)),
            "several names at once have no signal list",
        ),
        (
            client.lock_all(["a", "b", "a"]).ttl(ms(0)),
            "\"a\" is among the names twice",
        ),
        (lock().ttl(ms(3)).label(&long), "ttl"),
        (
            lock().label(&long).ttl(ms(3)),
            "a label has up to 128 bytes",
        ),
        (
            lock().signal_list("a").ttl(ms(3)),
            "the signal list cannot be \"a\"",
        ),
        (
            lock().wait_for_replicas(0, ms(1)).ttl(ms(3)),
            "a wait for replicas is for 1 or more",
        ),
        (
            client.shard_of("").lock("a").ttl(ms(3)),
            "the name is empty",
        ),
    ];
    for (lock, word) in wrong {
        // Valid options before or behind the invalid one change nothing.
        let lock = lock.ttl(ms(1_000)).wait_timeout(ms(1)).fair(false).clone();
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
