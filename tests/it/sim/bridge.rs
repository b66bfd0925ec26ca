//! The bridge before the model of Redis, in two dialects: as `edgelock-bridge` speaks, and as
//! webdis does.

mod upstash;
mod webdis;

use edgelock::{Bridge, Request, Response};
use percent_encoding::percent_decode_str;

use super::redis::Reply;
use super::rng::Rng;

/// What a request asks for.
pub(crate) struct Asked {
    /// The words of a command.
    pub(crate) words: Vec<String>,
    /// What the bridge waits for after the command, on the same connection.
    pub(crate) wait: Option<Wait>,
}

/// `WAIT` for so many replicas.
#[derive(Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) count: u32,
    pub(crate) ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Upstash,
    Webdis,
}

impl Dialect {
    pub(crate) fn draw(rng: &Rng) -> Self {
        rng.pick(&[Self::Upstash, Self::Upstash, Self::Upstash, Self::Webdis])
    }

    /// The same bridge, as a client knows it.
    pub(crate) fn bridge(self, url: &str) -> Bridge {
        match self {
            Self::Upstash => Bridge::upstash(url, "credential"),
            Self::Webdis => Bridge::webdis(url, "user", "password"),
        }
        .expect("an address")
    }

    pub(crate) fn asked(self, request: &Request<'_>) -> Asked {
        match self {
            Self::Upstash => upstash::asked(request),
            Self::Webdis => Asked { words: webdis::words(&request.body), wait: None },
        }
    }

    /// The response with Redis's reply to `command`, and to the `WAIT` behind it.
    pub(crate) fn response(self, command: &str, reply: &Reply, waited: Option<&Reply>) -> Response {
        match (self, waited) {
            (Self::Upstash, None) => upstash::response(reply),
            (Self::Upstash, Some(waited)) => upstash::responses([reply, waited]),
            (Self::Webdis, _) => webdis::response(command, reply),
        }
    }

    /// Whether the reply of our script in it is a yes.
    pub(crate) fn is_yes(self, response: &Response) -> bool {
        let yes: &[&[u8]] = match self {
            Self::Upstash => &[b"{\"result\":[1,", b"[{\"result\":[1,"],
            Self::Webdis => &[b"{\"EVAL\":[1,", b"{\"EVALSHA\":[1,"],
        };
        (yes.iter()).any(|yes| response.body.starts_with(yes))
    }

    /// The response when the bridge could not reach Redis. Webdis does not say that nothing was
    /// executed.
    pub(crate) fn unreachable(self) -> Response {
        match self {
            Self::Upstash => upstash::unreachable(),
            Self::Webdis => empty(503),
        }
    }

    /// The response of a gateway that lost the answer. It speaks about itself, in words that Redis
    /// uses too.
    pub(crate) fn unavailable(self, rng: &Rng) -> Response {
        let text = rng.pick(&[
            "redis is not available",
            "upstream too busy",
            "BUSY",
            "LOADING the next release",
            "readonly: nothing was executed",
        ]);
        upstash::refusal(503, text)
    }

    /// The response to a client that the bridge does not let in.
    pub(crate) fn unauthorized(self) -> Response {
        match self {
            Self::Upstash => upstash::refusal(401, "Unauthorized"),
            Self::Webdis => empty(403),
        }
    }

    /// The channel that a request subscribes to.
    pub(crate) fn channel(self, request: &Request<'_>) -> Vec<u8> {
        match self {
            Self::Upstash => upstash::channel(request.url),
            Self::Webdis => webdis::channel(&request.body),
        }
    }

    /// What a stream says once Redis has accepted the subscription.
    pub(crate) fn begun(self, channel: &[u8]) -> Vec<u8> {
        match self {
            Self::Upstash => upstash::begun(channel),
            Self::Webdis => webdis::begun(channel),
        }
    }

    pub(crate) fn message(self, channel: &[u8], text: &[u8]) -> Vec<u8> {
        match self {
            Self::Upstash => upstash::message(channel, text),
            Self::Webdis => webdis::message(channel, text),
        }
    }

    /// Whether streams end when Redis is gone. If not, they stay open in silence.
    pub(crate) const fn ends_streams(self) -> bool {
        matches!(self, Self::Upstash)
    }
}

/// Whether a response has a nonce. Errors have none, even those with status 200.
pub(crate) fn has_nonce(response: &Response) -> bool {
    let text = String::from_utf8_lossy(&response.body);
    response.status == 200 && !text.contains("[false,") && !text.contains("\"error\"")
}

/// Whether Redis said that it does not know the script.
pub(crate) fn knows_no_script(response: &Response) -> bool {
    String::from_utf8_lossy(&response.body).contains("NOSCRIPT")
}

/// The response of a bridge that is too busy, and says when to come back.
pub(crate) fn overloaded(status: u16, retry_after: &str) -> Response {
    let mut response = upstash::refusal(status, "too much to do");
    response.retry_after = Some(retry_after.to_owned());
    response
}

fn answer(status: u16, body: &serde_json::Value) -> Response {
    let mut response = Response::new(status, body.to_string());
    response.bridge = Some("push".to_owned());
    response
}

fn empty(status: u16) -> Response {
    Response::new(status, "")
}

/// `text` without the escapes of a URL.
fn unescaped(text: &str) -> Vec<u8> {
    percent_decode_str(text).collect()
}
