//! What a command replies.

/// A reply of Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    Nil,
    /// An integer.
    Int(i64),
    /// A text of any bytes.
    Bulk(Vec<u8>),
    /// A text such as `OK`.
    Status(String),
    /// An error, which begins by its code.
    Error(String),
    /// Several replies.
    Array(Vec<Self>),
}

/// The reply of a command, or the text of its error.
pub(crate) type Outcome = Result<Reply, String>;

impl Reply {
    pub(crate) fn ok() -> Self {
        Self::Status("OK".into())
    }

    pub(crate) fn size(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(crate) fn is(is: bool) -> Self {
        Self::Int(i64::from(is))
    }

    pub(crate) fn number(number: impl ToString) -> Self {
        Self::Bulk(number.to_string().into_bytes())
    }

    pub(crate) fn maybe(text: Option<impl Into<Vec<u8>>>) -> Self {
        text.map_or(Self::Nil, |text| Self::Bulk(text.into()))
    }

    pub(crate) fn list<'t>(texts: impl IntoIterator<Item = &'t Vec<u8>>) -> Self {
        Self::Array(
            texts
                .into_iter()
                .map(|text| Self::Bulk(text.clone()))
                .collect(),
        )
    }
}
