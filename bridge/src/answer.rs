//! The frame of every answer, and answers that Redis does not give.

use std::convert::Infallible;

use futures_util::stream::BoxStream;
use http_body_util::{Either, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use crate::hub::NotListening;
use crate::no_reply::NoReply;
use crate::server_error;

// Header names are made once, not for each answer.
pub(crate) const SYNC_TOKEN: HeaderName = HeaderName::from_static("upstash-sync-token");
pub(crate) const PUSH: HeaderName = HeaderName::from_static("x-edgelock-bridge");

/// A whole answer, or events for as long as somebody listens.
pub(crate) type Body = Either<Full<Bytes>, StreamBody<Events>>;
pub(crate) type Events = BoxStream<'static, Result<Frame<Bytes>, Infallible>>;

/// An answer that is not a result: a status and `{"error":…}`.
pub(crate) struct Failure {
    status: StatusCode,
    body: Value,
    headers: Vec<(HeaderName, &'static str)>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, body: json!({ "error": text.into() }), headers: Vec::new() }
    }

    /// Ends the connection.
    pub(crate) fn and_hang_up(mut self) -> Self {
        self.headers.push((header::CONNECTION, "close"));
        self
    }

    /// Says so in a form that a program can rely on. With a status of 500 or more, words prove
    /// nothing.
    pub(crate) fn not_executed(mut self) -> Self {
        self.body["executed"] = false.into();
        self
    }

    /// Redis executed nothing, and may if it is asked again soon.
    pub(crate) fn refused_for_now(text: &str) -> Self {
        let mut failure = Self::new(StatusCode::SERVICE_UNAVAILABLE, text).not_executed();
        failure.headers.push((header::RETRY_AFTER, "1"));
        failure
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
        let mut response = json(self.status, self.body.to_string());
        for (name, value) in self.headers {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        response
    }
}

pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

impl From<NoReply> for Failure {
    fn from(lost: NoReply) -> Self {
        let text = lost.text();
        match lost {
            NoReply::NotNow | NoReply::NoTurn | NoReply::TooManyWaits => {
                Self::refused_for_now(text)
            }
            NoReply::Unreachable | NoReply::NotLetIn => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, text).not_executed()
            }
            NoReply::Broken => Self::new(StatusCode::SERVICE_UNAVAILABLE, text),
            NoReply::Late => Self::new(StatusCode::GATEWAY_TIMEOUT, text),
        }
    }
}

impl From<NotListening> for Failure {
    fn from(not: NotListening) -> Self {
        match not {
            NotListening::NoReply(lost) => lost.into(),
            NotListening::Refused(refused) if server_error::is_passing(&refused, false) => {
                Self::refused_for_now(&server_error::raw(&refused))
            }
            NotListening::Refused(refused) => Self::bad_request(server_error::raw(&refused)),
        }
    }
}
