//! The little JSON that bridges use. A request is an array of strings. A response is an object of
//! numbers, strings, nils, and flat arrays of those, or a list of such objects.
//!
//! `serde_json` reads and writes it. In the npm package the host does (`npm/host/json.js`), so the
//! package needs no parser.

#[cfg(npm)]
#[path = "../../npm/host/json.rs"]
mod host;
#[cfg(any(test, not(npm)))]
mod library;

#[cfg(not(npm))]
use library as json;

#[cfg(npm)]
use host as json;

#[cfg(npm)]
pub use host::quote_into;
/// Words, at least one, as an array of strings.
pub(crate) use json::array;
/// What an object has of the [`Members`]; `None` if the text is not an object, or if one of them
/// holds something that bridges do not send. `members_of_each` has the same of each object in a
/// list.
pub(super) use json::{members, members_of_each};

use crate::command::Reply;

/// What bridges say in an object, of any dialect; nil if it is missing. webdis marks an error by
/// `false`, which becomes [`Reply::Error`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Members {
    pub(super) result: Reply,
    pub(super) error: Reply,
    pub(super) executed: Reply,
    /// Also under `EVALSHA`.
    pub(super) eval: Reply,
    pub(super) subscribe: Reply,
}

#[cfg(test)]
mod tests;
