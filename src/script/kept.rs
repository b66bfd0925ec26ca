//! The result of work that is executed once, as it is stored.

use std::time::Duration;

use crate::command::Command;
use crate::error::Fault;
use crate::kind::Kind;
use crate::label;
use crate::name::Name;

/// The stored form of a fingerprint, which is also the label of the holder that does the work: one
/// word. The stored form of any other label has no colon.
///
/// # Errors
/// [`Error::InvalidArgument`] if it is too long.
pub(crate) fn mark(fingerprint: &str) -> Result<String, Fault> {
    Ok(["once:", &label::stored(fingerprint)?].concat())
}

/// The command that stores `result` for `keep`, behind its mark.
pub(crate) fn keeping(name: &Name, mark: &str, result: &str, keep: Duration) -> Command {
    Command::new("SET")
        .key(Kind::kept(name))
        .arg([mark, " ", result].concat())
        .arg("PX")
        .arg(keep.as_millis() as u64)
}

/// The command that reads what is kept.
pub(crate) fn copy_of(name: &Name) -> Command {
    Command::new("GET").key(Kind::kept(name))
}

/// The result in what is stored behind its mark.
#[cfg(not(all(target_family = "wasm", feature = "host-json")))]
pub(crate) fn without_mark(stored: &str) -> Option<&str> {
    Some(stored.split_once(' ')?.1)
}
