//! From Redis' answers to JSON, and all other answers that the bridge gives.

use std::convert::Infallible;
use std::io::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream::{BoxStream, StreamExt as _};
use http_body_util::{Either, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use redis::{ServerError, Value};

use crate::link;

/// A whole answer, or events for as long as somebody listens.
pub(crate) type Body = Either<Full<Bytes>, StreamBody<Events>>;
pub(crate) type Events = BoxStream<'static, Result<Frame<Bytes>, Infallible>>;

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
            headers
                .get(name)
                .map(|given: &HeaderValue| given.as_bytes().eq_ignore_ascii_case(value))
        };
        if is("upstash-response-format", b"json") == Some(false) {
            return Err(Failure::bad_request(
                "ERR Upstash-Response-Format: only json is served",
            ));
        }
        Ok(if is("upstash-encoding", b"base64") == Some(true) {
            Self::Base64
        } else {
            Self::Text
        })
    }
}

/// An answer that is not a result: a status and a text for `{"error":…}`.
pub(crate) struct Failure {
    status: StatusCode,
    text: String,
    is_known_not_executed: bool,
    /// The client should ask again soon.
    is_passing: bool,
    hangs_up: bool,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            is_known_not_executed: false,
            is_passing: false,
            hangs_up: false,
        }
    }

    /// Ends the connection.
    pub(crate) fn and_hang_up(mut self) -> Self {
        self.hangs_up = true;
        self
    }

    /// Says so in a form that a program can rely on. With a status of 500 or more, words prove
    /// nothing.
    pub(crate) fn not_executed(mut self) -> Self {
        self.is_known_not_executed = true;
        self
    }

    /// Redis executed nothing, and may if it is asked again soon.
    pub(crate) fn refused_for_now(text: &str) -> Self {
        Self {
            is_passing: true,
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, text).not_executed()
        }
    }

    pub(crate) fn method_not_allowed() -> Self {
        let text = "ERR this method is not allowed here";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, text)
    }

    /// The command was not executed, and will not be if it is sent again.
    pub(crate) fn bad_request(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let mut body = b"{\"error\":".to_vec();
        string(&mut body, &self.text);
        let end: &[u8] = match self.is_known_not_executed {
            true => b",\"executed\":false}",
            false => b"}",
        };
        body.extend_from_slice(end);
        let mut response = json(self.status, body);
        if self.is_passing {
            let second = HeaderValue::from_static("1");
            response.headers_mut().insert(header::RETRY_AFTER, second);
        }
        if self.hangs_up {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        response
    }
}

/// Keeps `guard` until the answer is complete. A stream is complete when it ends. Any other answer
/// is complete here: whether the system takes its bytes is noted when they are written.
pub(crate) fn until_complete(
    response: Response<Body>,
    guard: impl Send + 'static,
) -> Response<Body> {
    response.map(|body| match body {
        Either::Left(whole) => Either::Left(whole),
        Either::Right(events) => {
            let events = events.map(move |event| {
                let _ = &guard;
                event
            });
            Either::Right(StreamBody::new(events.boxed()))
        }
    })
}

pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    response
}

/// The JSON of an answer, up to a bound. Escapes make up to six bytes of one.
pub(crate) struct Json {
    bytes: Vec<u8>,
    largest: usize,
}

impl Json {
    pub(crate) const fn up_to(largest: usize) -> Self {
        let bytes = Vec::new();
        Self { bytes, largest }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn push(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

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
        string(&mut self.bytes, text);
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

fn string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a vector takes every byte");
}
