//! A script call as an HTTP request, and the HTTP response as a Redis reply.

mod answer;
mod endpoint;
mod events;
mod json;
mod objects;
mod upstash;
mod webdis;

use std::fmt;
use std::time::Duration;

use crate::command::Reply;
use crate::error::Error;
use crate::redact;
use crate::transport::{Request, Response};
use endpoint::PlainHttp;
use events::Events;
use objects::Objects;

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
    dialect: Dialect,
    url: String,
    access: Access,
    key_locking: bool,
    script_cache: bool,
    /// `None` to go by what the bridge says of itself.
    push: Option<bool>,
}

#[derive(Clone, Copy)]
enum Dialect {
    Upstash,
    Webdis,
}

/// How a dialect shows that it may use the bridge.
#[derive(Clone)]
struct Access {
    headers: Headers,
    listening_headers: Headers,
    /// What no message may quote.
    secrets: Vec<String>,
}

type Headers = [(&'static str, String); 2];

impl Bridge {
    /// A bridge that speaks Upstash's REST dialect: Upstash itself, `edgelock-bridge`, serverless-redis-http and others.
    ///
    /// `url` is an `https:` address, or `http:` to the local machine; `credential` is sent as bearer token, white space around
    /// it trimmed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if either cannot be one.
    pub fn upstash(url: &str, credential: &str) -> Result<Self, Error> {
        let access = upstash::access(credential)?;
        Self::new(Dialect::Upstash, url, PlainHttp::ToLoopback, access)
    }

    /// As [`Bridge::upstash`], and allows plain `http:` to any host, for networks that encrypt by other means. Elsewhere,
    /// whoever listens learns the credential.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if either cannot be one.
    pub fn upstash_over_plain_http(url: &str, credential: &str) -> Result<Self, Error> {
        let access = upstash::access(credential)?;
        Self::new(Dialect::Upstash, url, PlainHttp::Anywhere, access)
    }

    /// A [webdis](https://webd.is), whose `acl` lets `user` with `password` have `EVAL`, and `SUBSCRIBE` for those who wait. One that
    /// lets everybody have everything takes any user and password.
    ///
    /// `url` is as for [`Bridge::upstash`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if one of them cannot be one: a user has no colon, and neither is empty.
    pub fn webdis(url: &str, user: &str, password: &str) -> Result<Self, Error> {
        let access = webdis::access(user, password)?;
        Self::new(Dialect::Webdis, url, PlainHttp::ToLoopback, access)
    }

    /// As [`Bridge::webdis`], and allows plain `http:` to any host, as [`Bridge::upstash_over_plain_http`] does.
    ///
    /// # Errors
    /// As those of [`Bridge::webdis`].
    pub fn webdis_over_plain_http(url: &str, user: &str, password: &str) -> Result<Self, Error> {
        let access = webdis::access(user, password)?;
        Self::new(Dialect::Webdis, url, PlainHttp::Anywhere, access)
    }

    fn new(
        dialect: Dialect,
        url: &str,
        plain_http: PlainHttp,
        access: Access,
    ) -> Result<Self, Error> {
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

    /// Whether scripts start with `#!lua flags=allow-key-locking`, so that Upstash locks the keys of a script and not the whole
    /// database. By default for Upstash's own hosts alone; real Redis refuses that line.
    #[must_use]
    pub fn key_locking(mut self, on: bool) -> Self {
        self.key_locking = on;
        self
    }

    /// Whether scripts travel as `EVALSHA`, and as `EVAL` only when Redis does not know them: about a kilobyte less in each
    /// request. Off by default: some bridges refuse `EVALSHA`, and where scripts get lost often it costs requests.
    #[must_use]
    pub fn script_cache(mut self, on: bool) -> Self {
        self.script_cache = on;
        self
    }

    /// Whether waiters listen for their turn. By default they do where that is known to work: with Upstash's own hosts, with
    /// webdis, and with a bridge that says so by the header `x-edgelock-bridge: push`, as `edgelock-bridge` does. Other bridges are
    /// asked from time to time, since a subscription can take such a bridge away from all its clients.
    ///
    /// `true` also for a bridge that says nothing and has subscriptions; `false` where they are not wanted, or a proxy on the way
    /// holds them back.
    #[must_use]
    pub fn push(mut self, on: bool) -> Self {
        self.push = Some(on);
        self
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Whether it is to be listened to, whatever it says of itself.
    pub(crate) const fn pushes(&self) -> Option<bool> {
        self.push
    }

    /// Whether a bridge says that it can be listened to.
    pub(crate) fn says_it_pushes(response: &Response) -> bool {
        let said = response.bridge.as_deref().unwrap_or_default();
        said.split(',').any(|word| word.trim() == "push")
    }

    pub(crate) const fn key_locks(&self) -> bool {
        self.key_locking
    }

    pub(crate) const fn caches_scripts(&self) -> bool {
        self.script_cache
    }

    /// A Redis command as what has it executed.
    pub(crate) fn encode(&self, words: &[&str], timeout: Duration) -> Post {
        Post {
            url: None,
            body: match self.dialect {
                Dialect::Upstash => upstash::body(words),
                Dialect::Webdis => webdis::body(words),
            },
            listens: false,
            timeout,
        }
    }

    /// `post` as the request that a transport sends, with what proves who we are. `body` is its body.
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
        }
    }

    /// Two commands at once: the second runs behind the first, on the same connection to Redis.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where the dialect has nothing of the kind.
    pub(crate) fn encode_both(
        &self,
        commands: [&[&str]; 2],
        timeout: Duration,
    ) -> Result<Post, Error> {
        let Dialect::Upstash = self.dialect else {
            return Err(Error::InvalidArgument(
                "webdis cannot wait for replicas: it has no requests of two commands".into(),
            ));
        };
        Ok(Post {
            url: Some(upstash::pipeline(&self.url)),
            body: upstash::pipeline_body(commands),
            listens: false,
            timeout,
        })
    }

    /// What Redis answered to each of two commands, as [`Bridge::decode`].
    pub(crate) fn decode_both(
        response: &Response,
        is_of_redis: fn(&str) -> bool,
    ) -> Result<[Reply; 2], Error> {
        upstash::decode_both(response, is_of_redis)
    }

    /// What listens to `channel` for as long as `timeout`, and what takes its response apart.
    pub(crate) fn listen(&self, channel: &str, timeout: Duration) -> (Post, Listening) {
        let heard = channel.to_owned();
        let (url, body, stream) = match self.dialect {
            Dialect::Upstash => {
                let url = upstash::subscription(&self.url, channel);
                (
                    Some(url),
                    String::new(),
                    Stream::Upstash(Events::new(heard)),
                )
            }
            Dialect::Webdis => {
                let body = webdis::body(&["SUBSCRIBE", channel]);
                (None, body, Stream::Webdis(Objects::new(heard)))
            }
        };
        let post = Post {
            url,
            body,
            listens: true,
            timeout,
        };
        (post, Listening(stream))
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
        match self.dialect {
            Dialect::Upstash => upstash::decode(response, is_of_redis),
            Dialect::Webdis => webdis::decode(response),
        }
    }

    /// `text` from outside as part of a message: without what proves who we are, and cut short after that, so that none is cut in two.
    pub(crate) fn quote(&self, text: &str) -> String {
        let clean = |text: String, secret: &String| redact::without(secret, &text);
        let text = self.access.secrets.iter().fold(text.to_owned(), clean);
        text.chars().take(200).collect()
    }
}

/// What is to be posted to a bridge.
pub(crate) struct Post {
    /// Where it is not the bridge's own.
    url: Option<String>,
    pub(crate) body: String,
    /// Whether the response goes on.
    listens: bool,
    /// The whole exchange is given up after this long.
    timeout: Duration,
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
pub(crate) struct Listening(Stream);

enum Stream {
    Upstash(Events),
    Webdis(Objects),
}

impl Listening {
    pub(crate) fn read(&mut self, piece: &[u8], hear: &mut dyn FnMut(Push)) {
        match &mut self.0 {
            Stream::Upstash(events) => events.read(piece, hear),
            Stream::Webdis(objects) => objects.read(piece, hear),
        }
    }
}

/// Without the credential.
impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
