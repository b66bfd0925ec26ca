//! The token of each answer, as Upstash sends one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use hyper::header::HeaderValue;

/// Clients send the last token back, in order to read what they wrote. One Redis always shows that,
/// so the bridge reads nothing from them. But clients rely on every answer's token being new.
pub(crate) struct SyncTokens {
    start: u128,
    given: AtomicU64,
}

impl SyncTokens {
    pub(crate) fn new() -> Self {
        let start = SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default()
            .as_nanos();
        Self {
            start,
            given: AtomicU64::default(),
        }
    }

    pub(crate) fn next(&self) -> HeaderValue {
        let token = format!(
            "{:x}-{:x}",
            self.start,
            self.given.fetch_add(1, Ordering::Relaxed)
        );
        HeaderValue::try_from(token).expect("hexadecimal digits are a header's value")
    }
}
