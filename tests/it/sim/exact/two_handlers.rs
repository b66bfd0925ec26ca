//! Two handlers write with one token, although only one at a time may have it. What is told of a
//! write whose receipt the other handler's write replaced?

use super::*;

/// What a handler is told of a write that was executed, and is repeated after another handler wrote
/// with the same token.
fn told(redis: Redis, is_last: bool) -> Result<usize, Error> {
    play_on(redis, move |case| async move {
        let lock = lock(&case);
        let lease = lock.acquire().await.expect("a lease");
        let other = lock.resume(lease.token().clone()).expect("randomness");
        case.network.fates.next(Fate::Lost);
        let ours = case.clone();
        let writes = meanwhile(&case, &machine(), async move {
            sleep(&ours, 100).await;
            let written = other.exec(&[]).await;
            // After the release the other handler has nothing to write to.
            assert_eq!(written.is_ok(), !is_last);
            other.into_token();
        });
        let outcome = match is_last {
            true => lease.commit(&append()).await,
            false => lease.exec(&append()).await,
        };
        assert!(writes.at().is_some());
        assert_eq!(log_of("a", &case.redis.db()).len(), 1);
        outcome.map(|replies| replies.len())
    })
}

stories! {
    // Nobody knows the reply. A write that finds no hold replaces no receipt.
    a_write_that_is_repeated_behind_another_handlers_is_not_told_lost:
        [false, true].map(|is_last| told(Redis::default(), is_last))
        => [Err(error), Ok(1)] if error.is_outcome_unknown(),
    /// A sabotage: the receipt says "lost" of a write that was executed.
    a_receipt_that_calls_what_ran_lost_is_noticed:
        told(Redis::with("tonumber(last) > NUMBER and 0 or -1", "0"), false)
        => Err(Error::Lost { .. }),
}
