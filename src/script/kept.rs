//! The result of work that is executed once, as it is stored.

use std::time::Duration;

use super::call::millis;
use crate::command::Command;
use crate::error::Error;
use crate::kind::Kind;
use crate::label;
use crate::name::Name;

/// What a fingerprint is stored as, and the label of who does the work: one word. No label that anybody gives has a colon as it is stored.
///
/// # Errors
/// [`Error::InvalidArgument`] if it is too long.
pub(crate) fn mark(fingerprint: &str) -> Result<String, Error> {
    Ok(["once:", &label::stored(fingerprint)?].concat())
}

/// What stores `result` for `keep`, behind its mark.
pub(crate) fn keeping(name: &Name, mark: &str, result: &str, keep: Duration) -> Command {
    Command::new("SET")
        .key(Kind::kept(name))
        .arg([mark, " ", result].concat())
        .arg("PX")
        .arg(millis(keep))
}
