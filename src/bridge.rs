//! A script call as an HTTP request, and the HTTP response as a Redis reply.

mod answer;
mod endpoint;
mod json;
mod listening;
mod upstash;
mod webdis;

use std::fmt;
use std::time::Duration;

use crate::command::Reply;
use crate::error::{Error, Fault};
use crate::redact;
use crate::transport::{Request, Response};
use endpoint::{Access, PlainHttp};

#[cfg(npm)]
pub(crate) use json::array;
#[cfg(npm)]
pub use json::quote_into;
pub(crate) use listening::{Listening, Push};

/// The replies of lock operations are far smaller. A larger one is not from a bridge.
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
    dialect: Dialect,
    url: String,
    access: Access,
    key_locking: bool,
    script_cache: bool,
    /// `None` to rely on what the bridge says of itself.
    push: Option<bool>,
}

#[derive(Clone, Copy)]
enum Dialect {
    Upstash,
    Webdis,
}

impl Bridge {
    /// A bridge that speaks Upstash's REST dialect: Upstash itself, `edgelock-bridge`,
    /// serverless-redis-http and others.
    ///
    /// `url` is an `https:` address, or an `http:` address of the local machine. `credential` is
    /// sent as a bearer token, without surrounding white space.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if either is invalid.
    pub fn upstash(url: &str, credential: &str) -> Result<Self, Error> {
        let access = upstash::access(credential)?;
        Ok(Self::new(Dialect::Upstash, url, PlainHttp::ToLoopback, access)?)
    }

    /// As [`Bridge::upstash`], but allows plain `http:` to any host. Use it only on a network that
    /// encrypts by other means; elsewhere an eavesdropper learns the credential.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if either is invalid.
    pub fn upstash_over_plain_http(url: &str, credential: &str) -> Result<Self, Error> {
        let access = upstash::access(credential)?;
        Ok(Self::new(Dialect::Upstash, url, PlainHttp::Anywhere, access)?)
    }

    /// A [webdis](https://webd.is). Its `acl` must allow `user` with `password` to call `EVAL`, and
    /// `SUBSCRIBE` if waiters should listen. A webdis that allows everything to everybody accepts
    /// any user and password.
    ///
    /// `url` is as for [`Bridge::upstash`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if an argument is invalid. A user has no colon, and neither user
    /// nor password is empty.
    pub fn webdis(url: &str, user: &str, password: &str) -> Result<Self, Error> {
        let access = webdis::access(user, password)?;
        Ok(Self::new(Dialect::Webdis, url, PlainHttp::ToLoopback, access)?)
    }

    /// As [`Bridge::webdis`], but allows plain `http:` to any host, as
    /// [`Bridge::upstash_over_plain_http`] does.
    ///
    /// # Errors
    /// Those of [`Bridge::webdis`].
    pub fn webdis_over_plain_http(url: &str, user: &str, password: &str) -> Result<Self, Error> {
        let access = webdis::access(user, password)?;
        Ok(Self::new(Dialect::Webdis, url, PlainHttp::Anywhere, access)?)
    }

    fn new(
        dialect: Dialect,
        url: &str,
        plain_http: PlainHttp,
        access: Access,
    ) -> Result<Self, Fault> {
        let url = endpoint::parse(url, plain_http)?;
        let is_upstash = endpoint::is_host_under(&url, "upstash.io");
        Ok(Self {
            key_locking: is_upstash,
            script_cache: false,
            push: (is_upstash || matches!(dialect, Dialect::Webdis)).then_some(true),
            dialect,
            url,
            access,
        })
    }

    /// Whether scripts start with `#!lua flags=allow-key-locking`. Upstash then locks a script's
    /// keys, not the whole database. Default on for Upstash's own hosts, off for all others: real
    /// Redis refuses that line.
    #[must_use]
    pub fn key_locking(mut self, on: bool) -> Self {
        self.key_locking = on;
        self
    }

    /// Whether the client sends scripts as `EVALSHA`, and as `EVAL` only if Redis does not know
    /// them. That saves about a kilobyte of each request. Default off: some bridges refuse
    /// `EVALSHA`, and if Redis often loses its scripts, it costs requests.
    #[must_use]
    pub fn script_cache(mut self, on: bool) -> Self {
        self.script_cache = on;
        self
    }

    /// Whether waiters listen for their turn. By default they listen where that is known to work:
    /// with Upstash's own hosts, with webdis, and with a bridge that sends the header
    /// `x-edgelock-bridge: push`, as `edgelock-bridge` does. With other bridges they poll, since a
    /// subscription can make such a bridge unusable for all its clients.
    ///
    /// Set `true` for a bridge that has subscriptions but does not say so. Set `false` if waiters
    /// should not listen, or if a proxy on the way holds streams back.
    #[must_use]
    pub fn push(mut self, on: bool) -> Self {
        self.push = Some(on);
        self
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) const fn key_locks(&self) -> bool {
        self.key_locking
    }

    /// Never in the npm package: it would take too much wasm for what it saves.
    pub(crate) const fn caches_scripts(&self) -> bool {
        cfg!(not(npm)) && self.script_cache
    }

    /// The request that has a Redis command executed.
    pub(crate) fn encode(&self, words: &[&str], timeout: Duration) -> Post {
        Post {
            url: None,
            body: match self.dialect {
                Dialect::Upstash => upstash::body(words),
                Dialect::Webdis => webdis::body(words),
            },
            listens: false,
            waits: false,
            timeout,
        }
    }

    /// `post` as the request that a transport sends, with the credential. `body` is its body.
    pub(crate) fn request<'a>(&'a self, post: &'a Post, body: String) -> Request<'a> {
        Request {
            url: post.url.as_deref().unwrap_or(&self.url),
            headers: match post.listens {
                true => &self.access.listening_headers,
                false => &self.access.headers,
            },
            body,
            body_limit: BODY_LIMIT,
            timeout: post.timeout,
            waits: post.waits,
        }
    }

    /// Whether it takes two commands in one request.
    pub(crate) const fn pairs(&self) -> bool {
        matches!(self.dialect, Dialect::Upstash)
    }

    /// Two commands in one request, for a bridge that [`pairs`](Self::pairs): the second runs after
    /// the first, on the same connection to Redis.
    pub(crate) fn encode_both(&self, commands: [&[&str]; 2], timeout: Duration) -> Post {
        Post {
            url: Some(upstash::pipeline(&self.url)),
            body: upstash::pipeline_body(commands),
            listens: false,
            waits: false,
            timeout,
        }
    }

    /// What Redis replied to each of two commands, as [`Bridge::decode`].
    pub(crate) fn decode_both(response: &Response) -> Result<[Reply; 2], Fault> {
        upstash::decode_both(response)
    }

    /// What Redis replied, as far as the response tells; errors of Redis are [`Reply::Error`].
    pub(crate) fn decode(&self, response: &Response) -> Result<Reply, Fault> {
        match self.dialect {
            Dialect::Upstash => upstash::decode(response),
            Dialect::Webdis => webdis::decode(response),
        }
    }

    /// `text` from outside as part of a message. The credential is cut out before the text is cut
    /// short, so that no part of it is left over.
    pub(crate) fn quote(&self, text: &str) -> String {
        let clean = |text: String, secret: &String| redact::without(secret, &text);
        let text = self.access.secrets.iter().fold(text.to_owned(), clean);
        text.chars().take(200).collect()
    }
}

/// What to post to a bridge.
pub(crate) struct Post {
    /// An address other than the bridge's own.
    url: Option<String>,
    pub(crate) body: String,
    /// Whether the response is a stream.
    listens: bool,
    /// The exchange is given up after this long in all.
    timeout: Duration,
    /// As [`Request::waits`].
    pub(crate) waits: bool,
}

/// Without the credential.
impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("url", &self.url).finish_non_exhaustive()
    }
}
