//! Ends scripts that keep Redis busy for too long.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redis::{Pipeline, Value};
use tokio::time::Instant;

use crate::command;
use crate::no_reply::NoReply;
use crate::server_error;

/// How often Redis is asked whether a script keeps it busy.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A script may arrive for so long after commands that were sent later on another connection.
const SILENT: Duration = Duration::from_secs(2);

/// Decides whether a script that keeps Redis busy is one of the bridge's.
///
/// Meanwhile Redis answers "busy" to every command, except to those behind that script on its
/// connection. So the script is one of ours if one of ours has no answer though it was sent before
/// Redis was found busy, and found busy twice more.
///
/// The second time shows that Redis had our script: it was sent before that question. But Redis may
/// have been in the midst of a command of somebody else's script until then, and have answered both
/// at once, in any order. By the third time that answer has come too. Only a request or an answer
/// that is under way for so long itself, as a large one may be, could still be taken for the script
/// that runs.
#[derive(Default)]
pub(crate) struct Overdue(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    under_way: BTreeSet<u64>,
    /// When the bridge last gave up on a script without an answer. It may still run, or be about
    /// to.
    late_at: Option<Instant>,
    /// The number of the next script when Redis was last found busy, and the time before. Both were
    /// since it was last well.
    next_when_busy: [Option<u64>; 2],
    /// It was logged that the script cannot be ended.
    is_told: bool,
}

/// Scripts that were sent to Redis and have no answer.
pub(crate) struct UnderWay<'a> {
    overdue: &'a Overdue,
    number: u64,
    is_answered: bool,
}

impl Overdue {
    /// Call this right before they are sent.
    pub(crate) fn under_way(&self) -> UnderWay<'_> {
        let mut state = self.0.lock();
        let number = state.next;
        state.next += 1;
        state.under_way.insert(number);
        UnderWay { overdue: self, number, is_answered: false }
    }

    /// The command that ends the script, if `answer`, to a `PING`, says once more that a script
    /// keeps Redis busy, and the script is ours.
    pub(crate) fn to_be_ended(&self, answer: &Value) -> Option<Arc<Pipeline>> {
        let mut state = self.0.lock();
        let busy = match answer {
            Value::ServerError(refused) if refused.code() == "BUSY" => server_error::raw(refused),
            _ => {
                state.is_well();
                return None;
            }
        };
        let [last, before] = state.next_when_busy;
        state.next_when_busy = [Some(state.next), last];
        let is_late = last.is_some() && state.late_at.is_some();
        let is_old = (state.under_way.first()).is_some_and(|oldest| Some(*oldest) < before);
        if !is_late && !is_old {
            return None;
        }
        let kind = match busy.contains("FUNCTION KILL") {
            true => "FUNCTION",
            false => "SCRIPT",
        };
        Some(command::one(&[kind, "KILL"]))
    }

    /// Redis' reply to that, for the log.
    pub(crate) fn told(&self, said: Result<&[Value], &io::ErrorKind>) {
        match said {
            Ok([Value::Okay]) => {
                let mut state = self.0.lock();
                state.late_at = None;
                state.is_well();
                drop(state);
                tracing::warn!("a script kept redis busy for too long, and was ended");
            }
            Ok([Value::ServerError(refused)])
                if refused.code() != "NOTBUSY"
                    && !std::mem::replace(&mut self.0.lock().is_told, true) =>
            {
                tracing::error!(
                    reason = server_error::raw(refused),
                    "a script keeps redis busy, and cannot be ended from here"
                );
            }
            _ => {}
        }
    }
}

impl State {
    fn is_well(&mut self) {
        self.late_at = self.late_at.filter(|at| at.elapsed() < SILENT);
        self.next_when_busy = [None; 2];
        self.is_told = false;
    }
}

impl UnderWay<'_> {
    pub(crate) fn ended(mut self, answered: &Result<Vec<Value>, NoReply>) {
        self.is_answered = !answered.as_ref().is_err_and(|lost| lost.was_sent());
    }
}

impl Drop for UnderWay<'_> {
    /// Without an answer in time, or while the client waited, the script may still run.
    fn drop(&mut self) {
        let mut state = self.overdue.0.lock();
        state.under_way.remove(&self.number);
        if !self.is_answered {
            state.late_at = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use redis::parse_redis_value;

    use super::*;

    fn busy() -> Value {
        parse_redis_value(b"-BUSY Redis is busy running a script.\r\n").expect("an error")
    }

    /// Whether the script is to be ended when Redis is found busy.
    fn ends(overdue: &Overdue) -> bool {
        overdue.to_be_ended(&busy()).is_some()
    }

    #[test]
    fn a_script_is_ended_though_another_kept_redis_busy_right_before_it() {
        let overdue = Overdue::default();
        let mut before = overdue.under_way();
        for _ in 0..3 {
            let looks = [(); 3].map(|()| ends(&overdue));
            assert_eq!(looks, [false, false, true]);
            // The next one is sent as soon as this one is answered.
            before.ended(&Ok(Vec::new()));
            before = overdue.under_way();
        }
    }

    /// While a command of its script runs, Redis answers nobody, and then all at once.
    #[test]
    fn a_script_is_not_ended_since_others_are_answered_right_behind_a_look() {
        let overdue = Overdue::default();
        let mut before = overdue.under_way();
        for _ in 0..100 {
            let sent = overdue.under_way();
            assert!(!ends(&overdue));
            before.ended(&Ok(Vec::new()));
            before = sent;
        }
    }
}
