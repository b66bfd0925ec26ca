//! Which other sites' pages may use the bridge from a browser.

use std::convert::Infallible;
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use tower::{Layer as _, ServiceExt as _, service_fn};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::answer::{Body, PUSH, SYNC_TOKEN};

/// How long a browser may remember what it was allowed. Some forget it sooner.
const REMEMBERED: Duration = Duration::from_secs(2 * 60 * 60);

/// Nobody, unless the operator names them.
pub(crate) struct Cors(Option<CorsLayer>);

impl Cors {
    /// `*` stands for all origins.
    pub(crate) fn of(origins: &[String]) -> Result<Self, String> {
        let origins = origins.iter().map(|origin| origin.trim());
        let allowed = match origins.clone().any(|origin| origin == "*") {
            true => AllowOrigin::any(),
            false => AllowOrigin::list(origins.clone().map(value).collect::<Result<Vec<_>, _>>()?),
        };
        let layer = CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PUT])
            // Clients send headers of their own.
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers([header::RETRY_AFTER, PUSH, SYNC_TOKEN])
            .max_age(REMEMBERED);
        Ok(Self((origins.count() > 0).then_some(layer)))
    }

    /// The answer of `serve`, or to a question of a browser before it sends a request.
    pub(crate) async fn answer<F>(
        &self,
        request: Request<Incoming>,
        serve: impl FnOnce(Request<Incoming>) -> F,
    ) -> Response<Body>
    where
        F: Future<Output = Response<Body>>,
    {
        let Some(cors) = &self.0 else {
            return serve(request).await;
        };
        let mut serve = Some(serve);
        let inner = service_fn(|request| {
            let answer = serve.take().map(|serve| serve(request));
            async {
                let answer = answer.expect("one request is served once").await;
                Ok::<_, Infallible>(answer.map(Some))
            }
        });
        let Ok(answer) = cors.layer(inner).oneshot(request).await;
        let empty = || Either::Left(Full::default());
        answer.map(|body| body.unwrap_or_else(empty))
    }
}

/// As browsers send it.
fn value(origin: &str) -> Result<HeaderValue, String> {
    let uri = origin.parse::<Uri>().ok();
    let is_origin = uri.is_some_and(|uri| {
        let parts = [uri.scheme_str(), uri.authority().map(|host| host.as_str())];
        let whole = parts.map(Option::unwrap_or_default).join("://");
        whole == origin && !origin.contains('@') && origin == origin.to_lowercase()
    });
    let value = HeaderValue::try_from(origin).ok().filter(|_| is_origin);
    value.ok_or_else(|| {
        "--allow-origin: write each origin as browsers send it, as https://app.example, without a \
         path or a slash at the end; or * for all"
            .into()
    })
}
