//! A meddler before the real bridge that spoils some requests: as a proxy does that gives up, or a
//! rival that is faster.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use testkit::stack::{Bridge, Redis};
use tokio::net::TcpListener;

/// Which requests it meddles with: those whose body has this text.
pub(crate) type Of = &'static str;
pub(crate) const ALL: Of = "";
pub(crate) const COMMITS: Of = "\"HSET\"";
/// Only the script of a renewal compares this argument.
pub(crate) const RENEWALS: Of = "ARGV[7]==''";

/// What happens to them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mischief {
    /// The request is executed, but a gateway's error page replaces the reply.
    LoseReply,
    /// The request is not executed, and not answered, until [`Meddler::deliver`].
    Hold,
    /// Right before the request, the lock of this name expires.
    ExpireLock(&'static str),
}

pub(crate) struct Meddler {
    bridge: String,
    redis: redis::Client,
    http: reqwest::Client,
    of: Of,
    mischief: Mischief,
    /// Requests that are on their way.
    held: Mutex<Vec<(HeaderMap, Bytes)>>,
}

/// Starts a meddler before `bridge`. Returns its address, too.
pub(crate) async fn start(bridge: &Bridge, of: Of, mischief: Mischief) -> (Arc<Meddler>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let meddler = Arc::new(Meddler {
        bridge: bridge.url().to_owned(),
        redis: bridge.redis(),
        http: reqwest::Client::new(),
        of,
        mischief,
        held: Mutex::default(),
    });
    let app = Router::new().fallback(pass).with_state(meddler.clone());
    tokio::spawn(async { axum::serve(listener, app).await });
    (meddler, format!("http://{address}"))
}

async fn pass(State(meddler): State<Arc<Meddler>>, headers: HeaderMap, body: Bytes) -> Response {
    if !String::from_utf8_lossy(&body).contains(meddler.of) {
        return meddler.forward(&headers, body).await;
    }
    match meddler.mischief {
        Mischief::LoseReply => {
            meddler.forward(&headers, body).await;
            (StatusCode::BAD_GATEWAY, "<html>Bad Gateway</html>").into_response()
        }
        Mischief::Hold => {
            meddler.held.lock().expect("no panic").push((headers, body));
            std::future::pending().await
        }
        Mischief::ExpireLock(name) => {
            let mut redis = Redis::of(&meddler.redis);
            // So long at most would others wait if the Worker died now.
            assert!((1..=3_000).contains(&redis.run::<i64>(&format!("PTTL {name}"))));
            redis.run::<u64>(&format!("DEL {name}"));
            meddler.forward(&headers, body).await
        }
    }
}

impl Meddler {
    /// How many requests are held.
    pub(crate) fn held(&self) -> usize {
        self.held.lock().expect("no panic").len()
    }

    /// Delivers the requests that were held, late as they are. Returns how many.
    pub(crate) async fn deliver(&self) -> usize {
        let held = std::mem::take(&mut *self.held.lock().expect("no panic"));
        for (headers, body) in &held {
            self.forward(headers, body.clone()).await;
        }
        held.len()
    }

    async fn forward(&self, headers: &HeaderMap, body: Bytes) -> Response {
        let mut request = self.http.post(&self.bridge).body(body);
        for name in ["authorization", "content-type"] {
            if let Some(value) = headers.get(name) {
                request = request.header(name, value);
            }
        }
        let response = request.send().await.expect("the bridge answers");
        let status = response.status();
        let body = response.bytes().await.expect("a whole answer");
        (status, body).into_response()
    }
}
