//! `/subscribe/<channel>` and `/psubscribe/<pattern>`: Redis' messages as server-sent events.
//!
//! All share a connection to Redis ([`crate::hub`]).

use std::convert::Infallible;

use futures_util::{StreamExt as _, stream};
use http_body_util::{Either, StreamBody};
use hyper::Response;
use hyper::body::{Bytes, Frame};
use hyper::header::{self, HeaderValue};
use tokio::sync::watch;

use crate::answer::{Body, Failure};
use crate::auth::Access;
use crate::connection_limits::Place;
use crate::hub::Listener;
use crate::server::Bridge;
use crate::topic::Topic;

struct Subscription {
    listener: Listener,
    stopping: watch::Receiver<()>,
    _place: Place,
}

impl Bridge {
    pub(crate) async fn subscription(
        &self,
        access: Access,
        topic: Topic,
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
        let place = self.streams.take().ok_or_else(|| {
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
