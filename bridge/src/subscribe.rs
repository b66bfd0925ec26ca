//! `/subscribe/<channel>` and `/psubscribe/<pattern>`: Redis' messages as server-sent events.
//!
//! All share a connection to Redis ([`crate::hub`]).

use std::convert::Infallible;

use futures_util::{StreamExt as _, stream};
use http_body_util::{Either, StreamBody};
use hyper::Response;
use hyper::body::{Bytes, Frame};
use hyper::header::{self, HeaderValue};

use crate::answer::{Body, Failure};
use crate::auth::Access;
use crate::refuse;
use crate::server::Bridge;
use crate::topic::Topic;

impl Bridge {
    pub(crate) async fn subscription(
        &self,
        access: Access,
        topic: Topic,
    ) -> Result<Response<Body>, Failure> {
        if access == Access::ReadOnly {
            return Err(Failure::bad_request(refuse::no_permission(topic.command())));
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
        let begun = Bytes::from(topic.begun());
        let listening = (self.upstream.listen(topic).await?, place);
        let mut stopping = self.stopping.clone();
        let heard = stream::unfold(listening, |(mut listener, place)| async {
            Some((listener.next().await?, (listener, place)))
        });
        let heard = heard.take_until(async move { stopping.changed().await });
        let events = stream::once(async { begun }).chain(heard);
        let events = events.map(|event| Ok::<_, Infallible>(Frame::data(event)));
        let mut response = Response::new(Either::Right(StreamBody::new(events.boxed())));
        for (name, value) in
            [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")]
        {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        Ok(response)
    }
}
