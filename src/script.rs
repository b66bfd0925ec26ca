//! Each operation as a Redis command, each Redis reply as an outcome. The only room that knows Redis.

mod call;
mod kind;
mod outcome;
mod reads;
mod text;
mod waiter;

pub(crate) use call::{Call, RECEIPT_LIFE, Subject, Write};
pub(crate) use kind::Kind;
pub(crate) use outcome::{
    Acquired, Contended, Outcome, Renewed, Verdict, is_error_of_redis, is_unknown_script, verdict,
};
pub(crate) use reads::{Reads, check_reads};
pub(crate) use waiter::{Handover, Waiter, handed_over};

pub use outcome::{Holder, Inspection};
