//! What a command replies.

use std::fmt;

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
        Self::Array(texts.into_iter().map(|text| Self::Bulk(text.clone())).collect())
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Bulk(bytes) => write!(f, "{:?}", String::from_utf8_lossy(bytes)),
            Self::Status(text) => f.write_str(text),
            Self::Error(text) => write!(f, "error {text:?}"),
            Self::Array(replies) => {
                let replies: Vec<_> = replies.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", replies.join(" "))
            }
        }
    }
}
