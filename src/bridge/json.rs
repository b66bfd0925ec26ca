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

use crate::command::Reply;

/// `words`, at least one, as an array of strings.
pub(crate) fn array(words: &[&str]) -> String {
    json::array(words)
}

/// The members of an object under these names, in their order; nil for a name that is missing.
/// webdis marks an error by `false`, which becomes [`Reply::Error`]. `None` if `text` is not an
/// object, or if one of these members holds something that bridges do not send.
pub(super) fn members(text: &str, names: &[&str]) -> Option<Vec<Reply>> {
    json::members(text, names)
}

/// The same of each object in a list.
pub(super) fn members_of_each(text: &str, names: &[&str]) -> Option<Vec<Vec<Reply>>> {
    json::members_of_each(text, names)
}

#[cfg(test)]
mod tests;
