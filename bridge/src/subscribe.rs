//! `/subscribe/<channel>` and `/psubscribe/<pattern>`: Redis' messages as server-sent events.
//!
//! Each stream has its own connection to Redis, which ends with it: what `PUBLISH` counts are the clients that listen.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use redis::aio::PubSub;
use redis::{Msg, Value};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, interval_at, timeout};

use crate::auth::Access;
use crate::reply::Failure;
use crate::request;
use crate::server::Bridge;

/// Shorter than the patience of the proxies on the way.
const PING_EVERY: Duration = Duration::from_secs(10);

/// What is listened to.
pub(crate) enum Topic {
    Channel(Vec<u8>),
    /// All channels whose names match.
    Pattern(Vec<u8>),
}

struct Subscription {
    topic: Topic,
    messages: PubSub,
    pings: Interval,
    stopping: watch::Receiver<()>,
    timeout: Duration,
}

impl Topic {
    /// What the path of a request asks for; `None` if that is no subscription.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let named = |name| request::decoded(name).into_owned();
        match path.strip_prefix("/subscribe/") {
            Some(name) => Some(Self::Channel(named(name))),
            None => Some(Self::Pattern(named(path.strip_prefix("/psubscribe/")?))),
        }
    }

    pub(crate) fn name(&self) -> &[u8] {
        match self {
            Self::Channel(name) | Self::Pattern(name) => name,
        }
    }

    const fn command(&self) -> &'static str {
        match self {
            Self::Channel(_) => "subscribe",
            Self::Pattern(_) => "psubscribe",
        }
    }

    /// How Redis confirms the subscription.
    fn begun(&self) -> Bytes {
        let name = String::from_utf8_lossy(self.name());
        event(&format!("{},{name},1", self.command()))
    }

    fn heard(&self, message: &Msg) -> Bytes {
        let name = String::from_utf8_lossy(self.name());
        let payload = String::from_utf8_lossy(message.get_payload_bytes());
        match self {
            Self::Channel(_) => event(&format!("message,{name},{payload}")),
            Self::Pattern(_) => {
                let channel = message.get_channel_name();
                event(&format!("pmessage,{name},{channel},{payload}"))
            }
        }
    }
}

impl Bridge {
    pub(crate) async fn subscription(
        &self,
        access: Access,
        topic: Topic,
    ) -> Result<Response, Failure> {
        if access == Access::ReadOnly {
            return Err(Failure::bad_request(format!(
                "NOPERM this user has no permissions to run the '{}' command or its subcommand",
                topic.command()
            )));
        }
        // Events are lines, and clients split them at commas.
        let name = topic.name();
        if name.is_empty() || name.iter().any(|byte| b",\r\n".contains(byte)) {
            return Err(Failure::bad_request(
                "ERR the name of a channel, or a pattern, must not be empty, nor hold a comma, CR or LF",
            ));
        }
        let subscription = Subscription {
            messages: self.upstream.subscribe(&topic).await?,
            topic,
            pings: interval_at(Instant::now() + PING_EVERY, PING_EVERY),
            stopping: self.stopping.clone(),
            timeout: self.settings.timeout,
        };
        let begun = subscription.topic.begun();
        let events = stream::once(async { begun })
            .chain(stream::unfold(subscription, |mut subscription| async {
                Some((subscription.next().await?, subscription))
            }));
        let mut response = Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)));
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream"),
        );
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Ok(response)
    }
}

impl Subscription {
    /// The next piece of the stream, or its end: Redis is gone, or the bridge stops.
    async fn next(&mut self) -> Option<Bytes> {
        let mut messages = self.messages.on_message();
        tokio::select! {
            message = messages.next() => Some(self.topic.heard(&message?)),
            _ = self.pings.tick() => {
                drop(messages);
                // The comment tells the client that the whole way is open, not only the way to the bridge.
                match timeout(self.timeout, self.messages.ping::<Value>()).await {
                    Ok(Ok(_)) => Some(Bytes::from_static(b": ping\n\n")),
                    _ => None,
                }
            }
            _ = self.stopping.changed() => None,
        }
    }
}

/// A line end within `data` continues it on a line of its own, as the format wants.
fn event(data: &str) -> Bytes {
    let lines = data.replace("\r\n", "\n").replace(['\r', '\n'], "\ndata: ");
    Bytes::from(format!("data: {lines}\n\n"))
}
