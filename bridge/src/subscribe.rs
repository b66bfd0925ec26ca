//! `/subscribe/<channel>` and `/psubscribe/<pattern>`: Redis' messages as server-sent events.
//!
//! All share a connection to Redis ([`crate::hub`]).

use std::convert::Infallible;
use std::net::IpAddr;

use futures_util::{StreamExt as _, stream};
use http_body_util::{Either, StreamBody};
use hyper::Response;
use hyper::body::{Bytes, Frame};
use hyper::header::{self, HeaderValue};
use tokio::sync::watch;

use crate::auth::Access;
use crate::connection_limits::Place;
use crate::hub::Listener;
use crate::link::Message;
use crate::reply::{Body, Failure};
use crate::request;
use crate::server::Bridge;

/// What is subscribed to.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    Channel(Vec<u8>),
    /// All channels whose names match.
    Pattern(Vec<u8>),
}

struct Subscription {
    listener: Listener,
    stopping: watch::Receiver<()>,
    _place: Place,
}

impl Topic {
    /// The subscription that the path of a request asks for, if any.
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
    fn begun(&self) -> Vec<u8> {
        let name = String::from_utf8_lossy(self.name());
        event(&format!("{},{name},1", self.command()))
    }

    /// A message as an event; `None` of a message without a payload.
    pub(crate) fn heard(&self, message: &Message) -> Option<Vec<u8>> {
        let payload = String::from_utf8_lossy(message.payload.as_ref()?);
        let name = String::from_utf8_lossy(self.name());
        Some(match self {
            Self::Channel(_) => event(&format!("message,{name},{payload}")),
            Self::Pattern(_) => {
                let channel = String::from_utf8_lossy(&message.channel);
                event(&format!("pmessage,{name},{channel},{payload}"))
            }
        })
    }
}

impl Bridge {
    pub(crate) async fn subscription(
        &self,
        access: Access,
        topic: Topic,
        from: IpAddr,
    ) -> Result<Response<Body>, Failure> {
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
        let place = self.streams.take(from).ok_or_else(|| {
            // Its connection makes room too.
            Failure::refused_for_now("ERR too many subscriptions; poll, and subscribe later")
                .and_hang_up()
        })?;
        let subscription = Subscription {
            _place: place,
            listener: self.upstream.listen(topic).await?,
            stopping: self.stopping.clone(),
        };
        let begun = Bytes::from(subscription.listener.topic().begun());
        let events = stream::once(async { begun })
            .chain(stream::unfold(subscription, |mut subscription| async {
                Some((subscription.next().await?, subscription))
            }));
        let events = events.map(|event| Ok::<_, Infallible>(Frame::data(event)));
        let mut response = Response::new(Either::Right(StreamBody::new(events.boxed())));
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
    /// The next piece of the stream. `None` when the listener or the bridge ends.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            event = self.listener.next() => event,
            _ = self.stopping.changed() => None,
        }
    }
}

/// A line end within `data` continues it on a new line, as the format requires.
fn event(data: &str) -> Vec<u8> {
    let lines = data.replace("\r\n", "\n").replace(['\r', '\n'], "\ndata: ");
    format!("data: {lines}\n\n").into_bytes()
}
