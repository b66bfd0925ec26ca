//! A writer among readers that come all the time, so that somebody reads at every moment.

use super::*;

const READ: u64 = 200;

/// When the writer comes: 5 ms after a reader.
const BEGINS: u64 = 1_005;

/// Readers come every 50 ms, and each reads for 200 ms. A writer, which listens or polls, comes
/// after a second. Returns how long it took until the writer had written.
fn waits_among_readers(redis: Redis, listens: bool) -> Option<u64> {
    let waited = Rc::new(Cell::new(None));
    let noted = waited.clone();
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
        noted.set(in_ms(&wrote).map(|at| at - BEGINS));
    });
    waited.get()
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
