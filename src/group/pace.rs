//! How often callers of a turn show themselves, and look.

use std::time::Duration;

use crate::lock::Lock;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// How often a driver shows that it is alive, and how often the others look. Three looks without a
/// sign report it as gone, so a vanished driver costs them less than the time-out of its requests,
/// and up to four more if all that watch have vanished with it. A driver whose requests may take
/// longer than theirs has longer to show itself.
pub(super) struct Pace {
    pub(super) beat: Duration,
    pub(super) look: Duration,
}

impl Pace {
    pub(super) fn of<T: Transport, R: Runtime>(lock: &Lock<T, R>) -> Self {
        const LEAST: Duration = Duration::from_millis(100);
        let limit = lock.request_limit().max(LEAST);
        Self {
            beat: limit / 8,
            look: limit / 4,
        }
    }
}
