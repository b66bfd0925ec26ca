//! Each operation as a Redis command, each Redis reply as an outcome. Only this room and the kinds
//! of locks know Redis.

mod call;
mod debounce;
mod guess;
mod inspection;
mod kept;
mod keys;
mod lock;
mod nothing;
mod outcome;
mod reads;
mod refusal;
mod throttle;
mod waiter;

pub(crate) use call::Call;
pub(crate) use debounce::{Arrived, LONGEST_DEBOUNCE, Settled};
pub(crate) use guess::{Guess, Guessed};
pub(crate) use kept::{keeping, mark};
pub(crate) use lock::{RECEIPT_LIFE, Renewal, Subject, Write};
pub(crate) use nothing::of_nothing;
pub(crate) use outcome::{Acquired, AnyOutcome, Contended, Outcome, Renewed, ScriptReply, verdict};
pub(crate) use reads::{Reads, check_reads, check_writes};
pub(crate) use refusal::{is_error_of_redis, is_unknown_script};
pub(crate) use throttle::Passage;
pub(crate) use waiter::{Handover, Waiter, handed_over, may_be_free};

pub use inspection::{Holder, Inspection};
