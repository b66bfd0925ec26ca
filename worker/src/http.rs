//! A request and a response as plain values.

use serde::Serialize;

/// What a caller asks for, and who it says it is.
pub struct Head {
    /// In upper case, as in `GET`.
    pub method: String,
    /// Percent-encoded, without the query.
    pub path: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
}

/// What it is answered: JSON.
#[derive(Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(&'static str, String)>,
    /// JSON.
    pub body: String,
}

impl Response {
    /// `body` as `application/json`.
    pub(crate) fn json(status: u16, body: &impl Serialize) -> Self {
        Self::new(status, "application/json", body)
    }

    pub(crate) fn new(status: u16, content_type: &str, body: &impl Serialize) -> Self {
        Self {
            status,
            headers: vec![
                ("content-type", content_type.to_owned()),
                // Stock and locks change at any time, and a lock's token is nobody else's business.
                ("cache-control", "no-store".to_owned()),
            ],
            // Our structs of numbers and text always serialize.
            body: serde_json::to_string(body).unwrap_or_default(),
        }
    }
}
