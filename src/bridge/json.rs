//! The little JSON that bridges use. A request is an array of strings. A response is an object of
//! numbers, strings, nils, and flat arrays of those, or a list of such objects.
//!
//! `serde_json` reads and writes it. In the npm package the host does (`host.js`), so the package
//! needs no parser.

#[cfg(all(target_family = "wasm", feature = "host-json"))]
mod host;
#[cfg(any(test, not(all(target_family = "wasm", feature = "host-json"))))]
mod library;

#[cfg(not(all(target_family = "wasm", feature = "host-json")))]
use library as json;

#[cfg(all(target_family = "wasm", feature = "host-json"))]
use host as json;

#[cfg(all(target_family = "wasm", feature = "host-json"))]
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
