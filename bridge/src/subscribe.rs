//! `/subscribe/<channel>`: Redis' messages as server-sent events.
//!
//! Each stream has its own connection to Redis, which ends with it: what `PUBLISH` counts are the clients that listen.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use redis::Value;
use redis::aio::PubSub;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, interval_at, timeout};

use crate::auth::Access;
use crate::reply::Failure;
use crate::request;
use crate::server::Bridge;

/// Shorter than the patience of the proxies on the way.
const PING_EVERY: Duration = Duration::from_secs(10);

struct Subscription {
    channel: String,
    messages: PubSub,
    pings: Interval,
    stopping: watch::Receiver<()>,
    timeout: Duration,
}

impl Bridge {
    pub(crate) async fn subscription(
        &self,
        access: Access,
        path: &str,
    ) -> Result<Response, Failure> {
        if access == Access::ReadOnly {
            return Err(Failure::bad_request(
                "NOPERM this user has no permissions to run the 'subscribe' command or its subcommand",
            ));
        }
        let name = request::decoded(path);
        // Events are lines, and clients split them at commas.
        if name.is_empty() || name.iter().any(|byte| b",\r\n".contains(byte)) {
            return Err(Failure::bad_request(
                "ERR a channel's name must not be empty, nor hold a comma, CR or LF",
            ));
        }
        let subscription = Subscription {
            channel: String::from_utf8_lossy(&name).into_owned(),
            messages: self.upstream.subscribe(&name).await?,
            pings: interval_at(Instant::now() + PING_EVERY, PING_EVERY),
            stopping: self.stopping.clone(),
            timeout: self.timeout,
        };
        let begun = event(&format!("subscribe,{},1", subscription.channel));
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
            message = messages.next() => {
                let payload = message?;
                let payload = String::from_utf8_lossy(payload.get_payload_bytes()).into_owned();
                Some(event(&format!("message,{},{payload}", self.channel)))
            }
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
