//! Redis's replies, as records need them.

use edgelock::Reply;

/// A number that counts something.
pub fn whole(reply: &Reply) -> Option<u64> {
    reply.as_i64().and_then(|number| u64::try_from(number).ok())
}

/// `TIME`: Redis's clock, the same for all Workers.
pub fn now_ms(time: &Reply) -> Option<u64> {
    let [seconds, micros] = time.as_array()? else { return None };
    let ms = whole(seconds)?.checked_mul(1000)?;
    ms.checked_add(whole(micros)? / 1000)
}
