//! What a process knows of the names of a group.

use super::habits::Habits;
use super::met::Met;
use super::reads::Reads;
use super::section::Section;
use super::seen::Seen;
use crate::command::{Command, Reply};
use crate::lock::Lock;
use crate::resp;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// Whether a turn of this section may do without the lock.
pub(super) fn may_guess<S: Section, T: Transport, R: Runtime>(lock: &Lock<T, R>) -> bool {
    !S::USES_FENCE && lock.has_turns()
}

/// What a process knows of the names.
#[derive(Default)]
pub(super) struct Known {
    pub(super) habits: Habits,
    pub(super) seen: Seen,
    pub(super) met: Met,
}

impl Known {
    /// Reads that failed. Nobody guesses that.
    pub(super) fn meets_failing(&self, reads: &Reads, replies: &[Reply]) {
        let all = reads.commands.iter().zip(replies);
        let failed =
            all.filter(|(_, reply)| matches!(reply, Reply::Error(_)) && !resp::lacks_room(reply));
        self.met.add(failed.map(|(read, _)| read));
    }

    /// Whether one of these would make a turn guess wrong.
    pub(super) fn has_met(&self, name: &str, reads: &[Command]) -> bool {
        let unknown = self.seen.unknown(name, reads.iter().collect());
        self.met.has_any(unknown.into_iter())
    }
}
