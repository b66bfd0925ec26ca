//! A script call as an HTTP request, and the HTTP response as a Redis reply.

mod endpoint;
mod events;
mod json;
mod upstash;

use std::fmt;
use std::time::Duration;

use crate::command::Reply;
use crate::error::Error;
use crate::transport::{Request, Response};
use events::Events;
use upstash::Upstash;

/// No reply of a lock operation comes near; whatever does is not from a bridge.
const BODY_LIMIT: usize = 1 << 20;

/// The HTTP endpoint in front of Redis, and the dialect that it speaks.
///
/// ```
/// use edgelock::Bridge;
///
/// let bridge = Bridge::upstash("https://eu1-a-b-1.upstash.io", "credential")?;
/// assert!(!format!("{bridge:?}").contains("credential"));
/// // Plain HTTP would show the credential to the network.
/// assert!(Bridge::upstash("http://bridge.example", "credential").is_err());
/// assert!(Bridge::upstash("http://127.0.0.1:8079", "credential").is_ok());
/// # Ok::<_, edgelock::Error>(())
/// ```
#[derive(Clone)]
pub struct Bridge {
    dialect: Upstash,
}

impl Bridge {
    /// A bridge that speaks Upstash's REST dialect: Upstash itself, `edgelock-bridge`, serverless-redis-http and others.
    ///
    /// `url` is an `https:` address, or `http:` to the local machine; `credential` is sent as bearer token, white space around
    /// it trimmed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if either cannot be one.
    pub fn upstash(url: &str, credential: &str) -> Result<Self, Error> {
        let url = endpoint::parse(url, endpoint::PlainHttp::ToLoopback)?;
        Ok(Self {
            dialect: Upstash::new(url, credential)?,
        })
    }

    /// As [`Bridge::upstash`], and allows plain `http:` to any host, for networks that encrypt by other means. Elsewhere,
    /// whoever listens learns the credential.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if either cannot be one.
    pub fn upstash_over_plain_http(url: &str, credential: &str) -> Result<Self, Error> {
        let url = endpoint::parse(url, endpoint::PlainHttp::Anywhere)?;
        Ok(Self {
            dialect: Upstash::new(url, credential)?,
        })
    }

    /// Whether scripts start with `#!lua flags=allow-key-locking`, so that Upstash locks the keys of a script and not the whole
    /// database. Set by itself for Upstash's own hosts; real Redis refuses that line.
    #[must_use]
    pub fn key_locking(mut self, on: bool) -> Self {
        self.dialect.key_locking = on;
        self
    }

    /// Whether scripts travel as `EVALSHA`, and as `EVAL` only when Redis does not know them: about a kilobyte less in each
    /// request. Off by itself: some bridges refuse `EVALSHA`, and where scripts get lost often it costs requests.
    #[must_use]
    pub fn script_cache(mut self, on: bool) -> Self {
        self.dialect.script_cache = on;
        self
    }

    /// Whether those who wait for a lock listen for their turn. On by itself; a bridge that has no subscriptions, and says so, is asked
    /// from time to time instead. Off where subscriptions are not wanted, or a proxy on the way holds them back.
    #[must_use]
    pub fn push(mut self, on: bool) -> Self {
        self.dialect.push = on;
        self
    }

    pub(crate) fn url(&self) -> &str {
        &self.dialect.url
    }

    pub(crate) const fn pushes(&self) -> bool {
        self.dialect.push
    }

    pub(crate) const fn key_locks(&self) -> bool {
        self.dialect.key_locking
    }

    pub(crate) const fn caches_scripts(&self) -> bool {
        self.dialect.script_cache
    }

    /// A Redis command as the request that has it executed.
    pub(crate) fn encode(&self, words: &[&str], timeout: Duration) -> Request<'_> {
        self.dialect.encode(words, timeout)
    }

    /// Two commands as one request: the second runs behind the first, on the same connection to Redis.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where the dialect has nothing of the kind.
    pub(crate) fn encode_both(
        &self,
        commands: [&[&str]; 2],
        timeout: Duration,
    ) -> Result<Request<'_>, Error> {
        Ok(self.dialect.encode_both(commands, timeout))
    }

    /// What Redis answered to each of two commands, as [`Bridge::decode`].
    pub(crate) fn decode_both(
        &self,
        response: &Response,
        is_of_redis: fn(&str) -> bool,
    ) -> Result<[Reply; 2], Error> {
        upstash::decode_both(response, is_of_redis)
    }

    /// The request that listens to `channel` for as long as `timeout`, and what takes its response apart.
    pub(crate) fn listen<'a>(
        &'a self,
        url: &'a mut String,
        channel: &str,
        timeout: Duration,
    ) -> (Request<'a>, Listening) {
        *url = self.dialect.subscription(channel);
        let request = Request {
            url,
            headers: self.dialect.listening_headers(),
            body: String::new(),
            body_limit: BODY_LIMIT,
            timeout,
        };
        (request, Listening(Events::new(channel.to_owned())))
    }

    /// Whether a response with this status means that the bridge has no subscriptions at all.
    pub(crate) const fn never_pushes(status: u16) -> bool {
        matches!(status, 400 | 403..=405 | 501)
    }

    /// What Redis answered, as far as the response tells; errors of Redis are [`Reply::Error`]. `is_of_redis` says whether
    /// what a failing bridge says came from Redis.
    pub(crate) fn decode(
        &self,
        response: &Response,
        is_of_redis: fn(&str) -> bool,
    ) -> Result<Reply, Error> {
        upstash::decode(response, is_of_redis)
    }

    /// `text` from outside as part of a message: without the credential, and cut short after that, so that none is cut in two.
    pub(crate) fn quote(&self, text: &str) -> String {
        let text = text.replace(&self.dialect.credential, "…");
        text.chars().take(200).collect()
    }
}

/// What a subscription says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// From now on nothing is missed.
    Listening,
    /// Somebody published this.
    Message(String),
}

/// A subscription's response, taken apart piece by piece.
pub(crate) struct Listening(Events);

impl Listening {
    pub(crate) fn read(&mut self, piece: &[u8], hear: &mut dyn FnMut(Push)) {
        self.0.read(piece, hear);
    }
}

/// Without the credential.
impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge")
            .field("url", &self.dialect.url)
            .finish_non_exhaustive()
    }
}
