//! A request and a response as plain values.

use serde::Serialize;

/// What a caller asks for, and its credential.
pub struct Head {
    /// In upper case, as in `GET`.
    pub method: String,
    /// Percent-encoded, without the query.
    pub path: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
}

/// The answer.
#[derive(Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// The type of `body`.
    pub content_type: &'static str,
    /// Other headers: names in lower case, and values.
    pub headers: Vec<(&'static str, String)>,
    /// JSON, or the page.
    pub body: String,
}

impl Response {
    /// `body` as `application/json`.
    pub(crate) fn json(status: u16, body: &impl Serialize) -> Self {
        Self::new(status, "application/json", body)
    }

    pub(crate) fn new(status: u16, content_type: &'static str, body: &impl Serialize) -> Self {
        Self {
            status,
            content_type,
            headers: Vec::new(),
            // Our structs of numbers and text always serialize.
            body: serde_json::to_string(body).unwrap_or_default(),
        }
    }
}
