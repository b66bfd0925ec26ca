//! The requests of a client of a table.

use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;

use edgelock_table::{HEADER, Listener, World, begun, channel, message};

use crate::transport::{Request, Response, Transport, TransportError};

/// A table as [`Transport`].
pub struct Wire(pub(super) Arc<World>);

impl Wire {
    fn answer(&self, request: &Request<'_>) -> Result<Response, TransportError> {
        let answer = self.0.answer(path(request.url), &request.body);
        let lost = |what: &str| TransportError::NoResponse(what.to_owned());
        let (status, body) = answer.map_err(lost)?;
        let mut response = Response::new(status, body);
        response.bridge = Some(HEADER.1.to_owned());
        Ok(response)
    }
}

/// The path of an address.
fn path(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    behind.find('/').map_or("/", |at| &behind[at..])
}

impl Transport for Wire {
    fn send(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send {
        ready(self.answer(&request))
    }

    async fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<u16, TransportError> {
        let Some(channel) = channel(path(request.url)) else {
            return Ok(501);
        };
        let line = Line(&self.0, self.0.listen(&channel));
        hear(&begun(&channel));
        let mut limit = pin!(World::sleep(&self.0, request.timeout));
        poll_fn(|cx| {
            while let Some(text) = self.0.next_message(line.1, cx) {
                hear(&message(&channel, &text));
            }
            limit
                .as_mut()
                .poll(cx)
                .map(|()| Err(TransportError::TimedOut))
        })
        .await
    }
}

/// A subscription that ends when it is dropped.
struct Line<'w>(&'w World, Listener);

impl Drop for Line<'_> {
    fn drop(&mut self) {
        self.0.hang_up(self.1);
    }
}
