//! A writer among readers of whom new ones come all the time, so that there is never nobody who
//! reads.

use super::*;

const READ: u64 = 200;

/// When the writer comes: 5 ms behind a reader.
const BEGINS: u64 = 1_005;

/// Readers come every 50 ms, each for 200 ms; a writer that listens, or polls, comes after a
/// second. After how long it has written.
fn waits_among_readers(redis: Redis, listens: bool) -> Option<u64> {
    let waited = Rc::new(Cell::new(None));
    let noted = waited.clone();
    play_on(&Rc::new(redis), move |case| async move {
        for reader in 0..200 {
            let (machine, on) = (machine(), case.clone());
            let read = client(&case, &machine).read_write("a").read();
            let read = read.wait(Duration::from_secs(60));
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
        let write = write.wait(Duration::from_secs(60)).max_requests(1_000);
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
fn a_writer_gets_it_as_soon_as_those_leave_who_came_before() {
    let waited = waits_among_readers(Redis::default(), true).expect("its turn");
    // The last of them came 5 ms before. It learns that it may read on two ways, gives it back on
    // one, and the writer hears of that on one; its own release takes two.
    assert_eq!(waited, READ - 5 + 6 * 10);
}

#[test]
fn a_writer_that_polls_is_overtaken_for_a_while_only() {
    let waited = waits_among_readers(Redis::default(), false).expect("its turn");
    assert!(waited < 4_000, "{waited}");
}

/// Sabotage: readers pass who waits to write.
#[test]
fn a_writer_that_readers_pass_is_starved() {
    let redis = Redis::with("string.find(ARGV[6], 'f') and ahead()", "false");
    // There are readers for ten seconds.
    let waited = waits_among_readers(redis, true).expect("its turn");
    assert!(waited > 8_000, "{waited}");
}
