//! A writer among readers that come all the time, so that somebody reads at every moment; and one
//! behind a crowd of readers.

use super::*;

const READ: u64 = 200;

/// When the writer comes: 5 ms after a reader.
const BEGINS: u64 = 1_005;

/// Readers come every 50 ms, and each reads for 200 ms. A writer, which listens or polls, comes
/// after a second. Returns how long it took until the writer had written.
fn waits_among_readers(redis: Redis, listens: bool) -> u64 {
    play_on(redis, move |case| async move {
        for reader in 0..200 {
            let on = case.clone();
            let read = client(&case, &machine()).read_write("a").read();
            let read = read.wait_timeout(s(60));
            meanwhile(&case, &machine(), async move {
                sleep(&on, 50 * reader).await;
                let lease = read.acquire().await.expect("a lease");
                sleep(&on, READ).await;
                lease.release().await.expect("held");
            });
        }
        sleep(&case, BEGINS).await;
        let client = host::client(&case, &machine(), pushes(listens));
        let write = client.read_write("a").write().wait_timeout(s(60));
        let wrote = meanwhile(&case, &machine(), async move {
            let lease = write.max_requests(1_000).acquire().await;
            lease.expect("a lease").release().await.expect("held");
        });
        sleep(&case, 15_000).await;
        wrote.at().expect("its turn") - BEGINS
    })
}

/// Sixteen of seventeen readers vanish while a writer listens, and the last one gives back. Returns
/// how long after that the writer has it.
fn writes_behind_a_crowd(redis: Redis) -> Option<u64> {
    play_on(redis, move |case| async move {
        let reader = client(&case, &machine()).read_write("a").read();
        let last = reader.acquire().await.expect("a lease");
        for _ in 0..16 {
            let short = reader.clone().ttl(s(1));
            drop(short.acquire().await.expect("a lease").into_token());
        }
        let write = client(&case, &machine()).read_write("a").write();
        let write = write.wait_timeout(s(60));
        let has_it = meanwhile(&case, &machine(), async move {
            write.acquire().await.expect("a lease").into_token();
        });
        sleep(&case, 2_000).await;
        follows(&case, last, &has_it, 20_000).await
    })
}

stories! {
    // The last reader before it came 5 ms earlier. It learns of its grant after two ways, and gives
    // back on one. The writer hears of that on one, and its own release takes two.
    a_writer_gets_it_as_soon_as_the_earlier_readers_leave:
        waits_among_readers(Redis::default(), true) => waited if waited == READ - 5 + 6 * 10,
    a_writer_that_polls_is_overtaken_for_a_while_only:
        waits_among_readers(Redis::default(), false) => 0..4_000,
    /// A sabotage: readers overtake waiting writers. Readers come for ten seconds.
    a_writer_that_readers_pass_is_starved:
        waits_among_readers(Redis::with("string.find(ARGV[6], 'f') and ahead()", "false"), true)
        => 8_001..,
    // The release takes one way, and the message another.
    the_last_of_a_crowd_of_readers_hands_it_to_the_writer:
        writes_behind_a_crowd(Redis::default()) => Some(20),
    /// A sabotage: of a crowd, some reader is always left.
    a_crowd_that_never_leaves_keeps_the_writer_out:
        writes_behind_a_crowd(Redis::with("if life ~= '0' then", "if is_many or life ~= '0' then"))
        => Some(1_001..),
}
