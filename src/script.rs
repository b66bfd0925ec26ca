//! Each operation as a Redis command, each Redis reply as an outcome. The only room that knows Redis.

mod call;
mod outcome;
mod text;

pub(crate) use call::{Call, Kind, Subject, Waiter, Write, check_reads, check_size};
pub(crate) use outcome::{
    Acquired, Contended, Verdict, acquired, handed_over, inspected, is_error_of_redis,
    is_unknown_script, read, verdict, written, yes_or_no,
};
pub use outcome::{Holder, Inspection};
