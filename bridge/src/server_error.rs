//! What Redis means by an error.

use redis::{ServerError, Value};

/// The error that a reply is, if it is one.
pub(crate) const fn of(reply: &Value) -> Option<&ServerError> {
    match reply {
        Value::ServerError(refused) => Some(refused),
        _ => None,
    }
}

/// Whether Redis refused a command because of its own state, before it began with it. A script may
/// say the same words, or be told them inside. Then `script:` and the place follow, unless the
/// script caught the error and returned it.
pub(crate) fn is_passing(refused: &ServerError, runs_script: bool) -> bool {
    let details = refused.details().unwrap_or_default();
    let is_of_script = details.contains("script:") || details.contains("user_script");
    let passes = match refused.code() {
        "BUSY" => says(details, "is busy running a "),
        // Scripts run nevertheless: the error is about a command inside.
        "OOM" => !runs_script && details.starts_with("command not allowed when used memory"),
        "LOADING" => says(details, "is loading "),
        "NOAUTH" => details.starts_with("Authentication required"),
        "ERR" => is_full(refused),
        _ => false,
    };
    passes && !is_of_script
}

/// Whether the server says that of itself. It calls itself Redis, Valkey, or by another name.
fn says(details: &str, what: &str) -> bool {
    (details.split_once(' ')).is_some_and(|(_, rest)| rest.starts_with(what))
}

/// Whether Redis has no place for another connection.
pub(crate) fn is_full(refused: &ServerError) -> bool {
    refused.code() == "ERR"
        && (refused.details()).is_some_and(|said| said.starts_with("max number of clients reached"))
}

/// The line as Redis sent it. The library split it at its first blank.
pub(crate) fn raw(refused: &ServerError) -> String {
    match refused.details() {
        Some(details) => format!("{} {details}", refused.code()),
        None => refused.code().to_owned(),
    }
}
