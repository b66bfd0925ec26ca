//! Each operation as a Redis command, each Redis reply as an answer. Only this room and the kinds
//! of locks know Redis.

mod answer;
mod call;
mod commands;
mod lock;
mod reply;
mod waiter;

pub(crate) use answer::{Answer, Contended, Renewed};
pub(crate) use call::{Call, LONGEST_DEBOUNCE, Verb};
pub(crate) use commands::{Reads, check_reads, check_writes, of_nothing};
#[cfg(not(npm))]
pub(crate) use lock::without_mark;
pub(crate) use lock::{
    Guess, IfWrong, RECEIPT_LIFE, Renewal, Subject, Write, copy_of, keeping, mark,
};
pub(crate) use reply::{YES, is_error_of_redis, is_unknown_script, shape, verdict};
pub(crate) use waiter::{Handover, Left, Waiter, handed_over, may_be_free};

pub use answer::{Holder, Inspection};
