//! A writer among readers that come all the time, so that somebody reads at every moment; and one
//! behind a crowd of readers.

use super::*;

const READ: u64 = 200;

/// When the writer comes: 5 ms after a reader.
const BEGINS: u64 = 1_005;

/// Readers come every 50 ms, and each reads for 200 ms. A writer, which listens or polls, comes
/// after a second. Returns how long it took until the writer had written.
fn waits_among_readers(redis: Redis, listens: bool) -> Option<u64> {
    play_on(&Rc::new(redis), move |case| async move {
        for reader in 0..200 {
            let (machine, on) = (machine(), case.clone());
            let read = client(&case, &machine).read_write("a").read();
            let read = read.wait_timeout(Duration::from_secs(60));
            meanwhile(&case, &machine.clone(), async move {
                on.world
                    .sleep(&machine, Duration::from_millis(50 * reader))
                    .await;
                let lease = read.acquire().await.expect("a lease");
                on.world.sleep(&machine, Duration::from_millis(READ)).await;
                lease.release().await.expect("held");
            });
        }
        sleep(&case, BEGINS).await;
        let writing = machine();
        let settings = Settings {
            push: listens,
            ..SETTINGS
        };
        let write = host::client(&case, &writing, settings)
            .read_write("a")
            .write();
        let write = write
            .wait_timeout(Duration::from_secs(60))
            .max_requests(1_000);
        let wrote = meanwhile(&case, &writing, async move {
            let lease = write.acquire().await.expect("a lease");
            lease.release().await.expect("held");
        });
        sleep(&case, 15_000).await;
        in_ms(&wrote).map(|at| at - BEGINS)
    })
}

#[test]
fn a_writer_gets_it_as_soon_as_the_earlier_readers_leave() {
    let waited = waits_among_readers(Redis::default(), true).expect("its turn");
    // The last reader before it came 5 ms earlier. It learns of its grant after two ways, and gives
    // back on one. The writer hears of that on one, and its own release takes two.
    assert_eq!(waited, READ - 5 + 6 * 10);
}

#[test]
fn a_writer_that_polls_is_overtaken_for_a_while_only() {
    let waited = waits_among_readers(Redis::default(), false).expect("its turn");
    assert!(waited < 4_000, "{waited}");
}

/// A sabotage: readers overtake waiting writers.
#[test]
fn a_writer_that_readers_pass_is_starved() {
    let redis = Redis::with("string.find(ARGV[6], 'f') and ahead()", "false");
    // Readers come for ten seconds.
    let waited = waits_among_readers(redis, true).expect("its turn");
    assert!(waited > 8_000, "{waited}");
}

/// Sixteen of seventeen readers vanish while a writer listens, and the last one gives back. Returns
/// how long after that the writer has it.
fn writes_behind_a_crowd(redis: Redis) -> u64 {
    play_on(&Rc::new(redis), move |case| async move {
        let reader = client(&case, &machine()).read_write("a").read();
        let last = reader.acquire().await.expect("a lease");
        for _ in 0..16 {
            let short = reader.clone().ttl(Duration::from_secs(1));
            drop(short.acquire().await.expect("a lease").into_token());
        }
        let writing = machine();
        let write = client(&case, &writing).read_write("a").write();
        let write = write.wait_timeout(Duration::from_secs(60));
        let has_it = meanwhile(&case, &writing, async move {
            drop(write.acquire().await.expect("a lease").into_token());
        });
        sleep(&case, 2_000).await;
        let back = now(&case);
        last.release().await.expect("held");
        sleep(&case, 20_000).await;
        in_ms(&has_it).expect("its turn") - back
    })
}

#[test]
fn the_last_of_a_crowd_of_readers_hands_it_to_the_writer() {
    // The release takes one way, and the message another.
    assert_eq!(writes_behind_a_crowd(Redis::default()), 20);
}

/// A sabotage: of a crowd, some reader is always left.
#[test]
fn a_crowd_that_never_leaves_keeps_the_writer_out() {
    let redis = Redis::with("if life ~= '0' then", "if is_many or life ~= '0' then");
    assert!(writes_behind_a_crowd(redis) > 1_000);
}
