//! An acquire that arrives after its own hold has ended takes the lock again. What becomes of
//! writes of the first hold?

use super::*;

fn appends(what: &str) -> [Command; 1] {
    [Command::new("APPEND").key("log:a").arg(what)]
}

/// The first client has the lock, and its write is late. Another client has the lock meanwhile, and
/// writes too. In between, the first client's acquire arrives once more. Returns what was written.
fn written(redis: Redis, lock: fn(SimClient, u8) -> SimLock, is_last: bool) -> String {
    play_on(redis, move |case| async move {
        let lock = |owner| lock(client(&case, &machine()), owner).ttl(s(1));
        // This request arrives at 3 s. Its repeat holds the lock from 0.5 s to 1.5 s.
        case.network.fates.next(Fate::Late(3_000 * MS));
        let lease = lock(1).try_acquire().await.expect("a lease");
        // The write arrives at 3.5 s, if it is not sent again.
        for _ in 0..3 {
            case.network.fates.next(Fate::Late(2_900 * MS));
        }
        is_outcome_unknown(match is_last {
            true => lease.commit(&appends("first ")).await,
            false => lease.exec(&appends("first ")).await,
        });
        std::mem::forget(lease);
        sleep(&case, 2_000 - now(&case)).await;
        let second = lock(2);
        let lease = second.try_acquire().await.expect("a free lock");
        lease.commit(&appends("second ")).await.expect("held");
        sleep(&case, 4_000).await;
        let reads = [Command::new("GET").key("log:a")];
        let (_, replies) = second.acquire_and_read(&reads).await.expect("a free lock");
        replies[0].as_str().expect("something written").to_owned()
    })
}

/// What was written by each kind of lock and of write.
fn all_written(redis: fn() -> Redis) -> [String; 4] {
    let mutex = |client: SimClient, _| client.lock("a");
    let reentrant = |client: SimClient, owner: u8| client.reentrant("a", &owner.to_string());
    [
        written(redis(), mutex, true),
        written(redis(), mutex, false),
        written(redis(), reentrant, true),
        written(redis(), reentrant, false),
    ]
}

/// A hold is recognized by its token alone.
fn forgetful() -> Redis {
    Redis::with("return ARGV[5] ~= '0' and fence and fence ~= ARGV[5]", "return false")
}

stories! {
    a_write_of_a_hold_that_is_over_does_not_run_in_one_that_a_late_acquire_began:
        all_written(Redis::default) => all if all.iter().all(|log| log == "second "),
    a_hold_that_is_told_by_its_token_alone_is_noticed:
        all_written(forgetful) => all if all.iter().all(|log| log == "second first "),
}
