//! [`Transport`] over reqwest and [`Runtime`] over tokio: what a native user of edgelock writes.

use std::time::{Duration, Instant};

use edgelock::{Moment, NoRandomness, Request, Response, Runtime, Task, Transport, TransportError};
use reqwest::redirect;

pub(crate) struct Http(reqwest::Client);

impl Default for Http {
    fn default() -> Self {
        // `retry::never`, since `send` promises to send once.
        let client = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never());
        Self(client.build().expect("an HTTP client"))
    }
}

impl Transport for Http {
    async fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let body_limit = request.body_limit;
        let mut response = self.post(request).await?;
        let status = response.status().as_u16();
        let header = |name| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let (retry_after, bridge) = (header("retry-after"), header("x-edgelock-bridge"));
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(failure(TransportError::BrokeOff))?
        {
            if body.len() + chunk.len() > body_limit {
                return Err(TransportError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response {
            status,
            retry_after,
            bridge,
            body,
        })
    }

    async fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<u16, TransportError> {
        let mut response = self.post(request).await?;
        let status = response.status().as_u16();
        while status == 200
            && let Some(piece) = response
                .chunk()
                .await
                .map_err(failure(TransportError::BrokeOff))?
        {
            hear(&piece);
        }
        Ok(status)
    }
}

impl Http {
    /// Sends `post` as [`Transport`] wants it sent, up to the headers of the response.
    async fn post(&self, request: Request<'_>) -> Result<reqwest::Response, TransportError> {
        let mut post = self
            .0
            .post(request.url)
            .timeout(request.timeout)
            .body(request.body);
        for (name, value) in request.headers {
            post = post.header(*name, value);
        }
        post.send()
            .await
            .map_err(failure(TransportError::NoResponse))
    }
}

fn failure(otherwise: fn(String) -> TransportError) -> impl Fn(reqwest::Error) -> TransportError {
    move |error| {
        if error.is_connect() {
            TransportError::NotSent(error.to_string())
        } else if error.is_timeout() {
            TransportError::TimedOut
        } else {
            otherwise(error.to_string())
        }
    }
}

pub(crate) struct Tokio(Instant);

impl Default for Tokio {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Runtime for Tokio {
    fn now(&self) -> Moment {
        Moment::from_origin(self.0.elapsed())
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        getrandom::fill(bytes).map_err(|_| NoRandomness)
    }

    fn spawn(&self, task: Task) {
        tokio::task::spawn_local(task);
    }
}
