//! Scripts that keep Redis from everybody.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use redis::{Pipeline, RedisError, Value};

use crate::lost::Lost;
use crate::pace::Load;
use crate::reply;

/// Whether a script of the bridge's may run, and what became of the attempts to end it.
#[derive(Default)]
pub(crate) struct Overdue {
    under_way: AtomicUsize,
    /// Not answered in time: it may run yet.
    late: AtomicBool,
    /// Said already that it cannot be ended.
    told: AtomicBool,
}

/// Commands that Redis was sent and has not answered.
pub(crate) struct UnderWay<'a>(Option<&'a Overdue>);

impl Overdue {
    pub(crate) fn under_way(&self, load: &Load) -> UnderWay<'_> {
        if load.scripts.is_empty() {
            return UnderWay(None);
        }
        self.under_way.fetch_add(1, Ordering::Relaxed);
        UnderWay(Some(self))
    }

    /// The command that ends the script, if `answer`, to a `PING`, says that one keeps Redis busy, and that may be ours.
    pub(crate) fn to_be_ended(&self, answer: &Value) -> Option<Pipeline> {
        let busy = match answer {
            Value::ServerError(refused) if refused.code() == "BUSY" => reply::raw(refused),
            _ => {
                self.late.store(false, Ordering::Relaxed);
                self.told.store(false, Ordering::Relaxed);
                return None;
            }
        };
        let is_ours =
            self.under_way.load(Ordering::Relaxed) > 0 || self.late.load(Ordering::Relaxed);
        let kind = match busy.contains("FUNCTION KILL") {
            true => "FUNCTION",
            false => "SCRIPT",
        };
        let mut kill = Pipeline::new();
        kill.cmd(kind).arg("KILL");
        is_ours.then_some(kill)
    }

    /// What Redis said to that, for the log.
    pub(crate) fn told(&self, said: Result<&[Value], &RedisError>) {
        match said {
            Ok([Value::Okay]) => {
                tracing::warn!("a script kept redis busy for too long, and was ended");
            }
            Ok([Value::ServerError(refused)]) if refused.code() != "NOTBUSY" => {
                if !self.told.swap(true, Ordering::Relaxed) {
                    tracing::error!(
                        reason = reply::raw(refused),
                        "a script keeps redis busy, and cannot be ended from here"
                    );
                }
            }
            _ => {}
        }
    }
}

impl UnderWay<'_> {
    pub(crate) fn ended(&self, answered: &Result<Vec<Value>, Lost>) {
        if let (Some(overdue), Err(Lost::Late | Lost::Broken)) = (self.0, answered) {
            overdue.late.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(overdue) = self.0 {
            overdue.under_way.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
