//! The settings of a client that have a default.

use std::sync::Arc;
use std::time::Duration;

use super::Client;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Fault;
use crate::runtime::Runtime;
use crate::topology::Topology;
use crate::transport::Transport;
use crate::ttl;

const MINUTE: Duration = Duration::from_secs(60);

impl<T: Transport, R: Runtime> Client<T, R> {
    /// Puts `prefix` before every lock's name: `shop:` and `sku:42` make the key `shop:sku:42`.
    #[must_use]
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long a request may wait for its reply before it is aborted: 1 ms or more. Default 2 s.
    /// No reply is awaited past the lease's deadline, whatever is set here.
    ///
    /// It also bounds how long a call that does not wait for the lock obeys a bridge's
    /// `Retry-After`, all pauses together. If the bridge asks for longer, the call fails at once,
    /// and [`Error::retry_after`] says how long.
    ///
    /// All calls fail with [`Error::InvalidArgument`], and send nothing, if it is below 1 ms.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.topology_mut().request_timeout = timeout;
        let given = ttl::Shown(timeout);
        self.with(Fault::unless(
            timeout >= ttl::SHORTEST,
            format_args!("the time-out of a request is 1 ms or more, not {given}"),
        ))
    }

    /// How often an operation is sent if its requests get lost: once or more. Default 3.
    ///
    /// Sending again is safe: all attempts carry the same token, and a write carries its number. A
    /// write is not sent again more than half a minute after the first time: by then Redis could
    /// not tell that it is the same write.
    ///
    /// All calls fail with [`Error::InvalidArgument`], and send nothing, if it is 0.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.topology_mut().attempts = attempts;
        let what = format_args!("an operation is attempted once or more, not 0 times");
        self.with(Fault::unless(attempts > 0, what))
    }

    /// How long Redis remembers a name's last fence after its last hold: 1 minute to 366 days, in
    /// whole milliseconds. Default 7 days. Redis may keep it an eighth longer.
    ///
    /// Meanwhile each name that was locked takes some 150 bytes of Redis. Use a shorter time where
    /// names are locked once, as one for each order. Once Redis has forgotten the last fence, the
    /// next one is Redis's time in microseconds. It is higher than all earlier fences unless that
    /// clock was set back by more than this time, which a fail-over can do too.
    ///
    /// If clients differ, the longest time of those that lock a name counts. Whatever is set here,
    /// work that is executed [once](Client::once), throttles and debounces leave nothing for more
    /// than a minute after their own time.
    ///
    /// All calls fail with [`Error::InvalidArgument`], and send nothing, if it is out of range.
    #[must_use]
    pub fn fence_life(mut self, life: Duration) -> Self {
        self.topology_mut().fence_life = life;
        let what = "a fence is remembered for 1 minute to 366 days";
        self.with(ttl::check_range(what, MINUTE..=ttl::MAX, life))
    }

    /// Once, and not in each option.
    #[inline(never)]
    pub(super) fn topology_mut(&mut self) -> &mut Topology {
        Arc::make_mut(&mut self.topology)
    }

    /// With an option that was checked.
    pub(super) fn with(mut self, checked: Result<(), Fault>) -> Self {
        self.checked.note(checked);
        self
    }
}
