//! From Redis' answers to JSON.

use std::io::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderValue};
use redis::Value;

use crate::answer::Failure;
use crate::link;
use crate::server_error::raw;

/// How strings are written in `result`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// As text; bytes that are not UTF-8 become U+FFFD.
    Text,
    /// Every byte kept.
    Base64,
}

impl Encoding {
    /// A client that asked for another format would misread this one, so another format is an
    /// error.
    pub(crate) fn asked_by(headers: &HeaderMap) -> Result<Self, Failure> {
        let is = |name, value: &[u8]| {
            let given = headers.get(name).map(HeaderValue::as_bytes);
            given.map(|given| given.eq_ignore_ascii_case(value))
        };
        if is("upstash-response-format", b"json") == Some(false) {
            let text = "ERR Upstash-Response-Format: only json is served";
            return Err(Failure::bad_request(text));
        }
        Ok(match is("upstash-encoding", b"base64") {
            Some(true) => Self::Base64,
            _ => Self::Text,
        })
    }
}

/// The JSON of an answer, up to a bound. Escapes make up to six bytes of one.
pub(crate) struct Json {
    pub(crate) bytes: Vec<u8>,
    pub(crate) largest: usize,
}

impl Json {
    /// `{"result":…}` or `{"error":…}`. Returns whether it was small enough for that.
    ///
    /// `OK` alone is not encoded in either encoding, as at Upstash. Within an array it is encoded:
    /// npm's `@upstash/redis` decodes every string there.
    pub(crate) fn outcome(&mut self, value: &Value, encoding: Encoding) -> bool {
        let before = self.bytes.len();
        let written = match value {
            Value::ServerError(_) => self.value(value, encoding),
            Value::Okay => self.result(&Value::Okay, Encoding::Text),
            _ => self.result(value, encoding),
        };
        if written.is_err() {
            self.bytes.truncate(before);
            self.error(link::TOO_LARGE);
        }
        written.is_ok()
    }

    /// For texts of the bridge, which are short.
    pub(crate) fn error(&mut self, text: &str) {
        self.bytes.extend_from_slice(b"{\"error\":");
        serde_json::to_writer(&mut self.bytes, text).expect("a vector takes every byte");
        self.bytes.push(b'}');
    }

    fn result(&mut self, value: &Value, encoding: Encoding) -> io::Result<()> {
        self.write_all(b"{\"result\":")?;
        self.value(value, encoding)?;
        self.write_all(b"}")
    }

    fn value(&mut self, value: &Value, encoding: Encoding) -> io::Result<()> {
        match value {
            Value::Nil => self.write_all(b"null"),
            Value::Int(number) => self.write_all(number.to_string().as_bytes()),
            Value::Okay => self.text(b"OK", encoding),
            Value::SimpleString(text) => self.text(text.as_bytes(), encoding),
            Value::BulkString(content) => self.text(content, encoding),
            Value::Array(items) => {
                self.write_all(b"[")?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.write_all(b",")?;
                    }
                    self.value(item, encoding)?;
                }
                self.write_all(b"]")
            }
            Value::ServerError(refused) => {
                self.write_all(b"{\"error\":")?;
                self.text(raw(refused).as_bytes(), Encoding::Text)?;
                self.write_all(b"}")
            }
            // The rest is RESP3, which the bridge never asks for.
            _ => {
                self.error("ERR the bridge cannot show this kind of reply");
                Ok(())
            }
        }
    }

    fn text(&mut self, content: &[u8], encoding: Encoding) -> io::Result<()> {
        let written = match encoding {
            Encoding::Text => serde_json::to_writer(&mut *self, &String::from_utf8_lossy(content)),
            Encoding::Base64 => serde_json::to_writer(&mut *self, &STANDARD.encode(content)),
        };
        written.map_err(io::Error::from)
    }
}

impl io::Write for Json {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if more.len() > self.largest.saturating_sub(self.bytes.len()) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
