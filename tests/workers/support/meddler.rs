//! A meddler before the real bridge that spoils some requests: as a proxy does that gives up, or a
//! rival that is faster.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use xtask::stack::Bridge;

use super::Redis;

/// Which requests it meddles with: those whose body has this text.
pub(crate) type Of = &'static str;
pub(crate) const COMMITS: Of = "\"HSET\"";
/// Only the script of a renewal has this call.
pub(crate) const RENEWALS: Of = "extend(ms)";
pub(crate) const ALL: Of = "";

/// What happens to them.
#[derive(Clone, Copy)]
pub(crate) enum Mischief {
    /// The request is executed, but a gateway's error page replaces the reply.
    LoseReply,
    /// The request is executed, but the reply is withheld until [`Meddler::open`].
    HoldReply,
    /// The request is not executed, and a gateway's error page is the reply.
    LoseRequest,
    /// The request is not executed, and not answered, until [`Meddler::deliver`].
    Hold,
    /// Nothing is executed, and the bridge says to come back tomorrow.
    Shed,
    /// Right before the request, the lock of this name expires.
    ExpireLock(&'static str),
}

pub(crate) struct Meddler {
    bridge: String,
    redis: PathBuf,
    http: reqwest::Client,
    of: Of,
    mischief: Mischief,
    /// Requests that are on their way.
    held: Mutex<Vec<(HeaderMap, Bytes)>>,
    /// Withheld replies wait for this; it never has a permit, but can be closed.
    replies: Semaphore,
}

/// Starts a meddler before `bridge`. Returns its address, too.
pub(crate) async fn start(bridge: &Bridge, of: Of, mischief: Mischief) -> (Arc<Meddler>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let meddler = Arc::new(Meddler {
        bridge: bridge.url().to_owned(),
        redis: bridge.redis_socket().to_owned(),
        http: reqwest::Client::new(),
        of,
        mischief,
        held: Mutex::default(),
        replies: Semaphore::new(0),
    });
    let app = Router::new().fallback(pass).with_state(meddler.clone());
    tokio::spawn(async { axum::serve(listener, app).await });
    (meddler, format!("http://{address}"))
}

async fn pass(State(meddler): State<Arc<Meddler>>, headers: HeaderMap, body: Bytes) -> Response {
    if !String::from_utf8_lossy(&body).contains(meddler.of) {
        return meddler.forward(&headers, body).await;
    }
    let gateway_error = || (StatusCode::BAD_GATEWAY, "<html>Bad Gateway</html>").into_response();
    match meddler.mischief {
        Mischief::Hold => {
            meddler.held.lock().expect("no panic").push((headers, body));
            std::future::pending().await
        }
        Mischief::Shed => {
            let told = r#"{"error":"too many requests"}"#;
            (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "86400")], told).into_response()
        }
        Mischief::LoseRequest => gateway_error(),
        Mischief::LoseReply => {
            meddler.forward(&headers, body).await;
            gateway_error()
        }
        Mischief::HoldReply => {
            let reply = meddler.forward(&headers, body).await;
            // This ends with an error when it is closed.
            let _ = meddler.replies.acquire().await;
            reply
        }
        Mischief::ExpireLock(name) => {
            let deleted: u64 = Redis::connect(&meddler.redis).run(&format!("DEL {name}"));
            assert_eq!(deleted, 1);
            meddler.forward(&headers, body).await
        }
    }
}

impl Meddler {
    /// Lets all replies through from now on.
    pub(crate) fn open(&self) {
        self.replies.close();
    }

    /// How many requests are held.
    pub(crate) fn held(&self) -> usize {
        self.held.lock().expect("no panic").len()
    }

    /// Delivers the requests that were held, late as they are. Returns how many.
    pub(crate) async fn deliver(&self) -> usize {
        let held = std::mem::take(&mut *self.held.lock().expect("no panic"));
        let count = held.len();
        for (headers, body) in held {
            let answer = self.forward(&headers, body).await.into_body();
            to_bytes(answer, usize::MAX).await.expect("a whole answer");
        }
        count
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
