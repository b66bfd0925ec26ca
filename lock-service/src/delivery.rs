//! Gives a lock to a caller that has surely got the answer.

use std::future::ready;
use std::pin::pin;
use std::time::Duration;

use edgelock::web::Lease;
use futures_util::future::{Either, select};
use futures_util::stream::{StreamExt, once};
use shared::call::{Answer, Call, head};
use worker::{Delay, Error};

/// How long it takes a connection that is closed to refuse what was sent there.
const REFUSAL: Duration = Duration::from_millis(50);

/// Some hosts ask for the last part before they send the one before. In this time a host sends it,
/// or drops the answer.
const TURN: Duration = Duration::from_millis(1);

/// How long a caller may take to read its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The answer with a lease's token. Of a caller that has closed its connection, a host knows that
/// only once it has sent something there, and something more behind the refusal. So the last two
/// bytes come one by one. If the host could send the first of them, the caller has the lock.
/// Otherwise the host drops the answer, and the lock is released.
pub fn hand_over(call: Call, lease: Lease, text: String) -> Answer {
    let mut begin = text.into_bytes();
    let last = begin.split_off(begin.len() - 1);
    let last_but_one = begin.split_off(begin.len() - 1);
    let (tell, told) = futures_channel::oneshot::channel();
    call.context.clone().wait_until(async move {
        let late = pin!(Delay::from(PATIENCE));
        if let Either::Left((Ok(()), _)) = select(told, late).await {
            lease.into_token();
        }
    });
    let parts = once(ready(Ok(begin)))
        .chain(once(async {
            Delay::from(REFUSAL).await;
            Ok(last_but_one)
        }))
        .chain(once(async move {
            Delay::from(TURN).await;
            let has_it = !call.is_alone() && tell.send(()).is_ok();
            has_it.then_some(last).ok_or_else(|| Error::from("the caller has hung up"))
        }));
    Ok(head(201, "application/json")?.from_stream(Box::pin(parts))?)
}
