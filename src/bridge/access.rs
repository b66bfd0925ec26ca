//! How a dialect proves that it may use the bridge.

#[derive(Clone)]
pub(super) struct Access {
    pub(super) headers: Headers,
    pub(super) listening_headers: Headers,
    /// The texts that no message may quote.
    pub(super) secrets: Vec<String>,
}

type Headers = [(&'static str, String); 2];
