//! The table of `edgelock::testing` as a bridge on a port, by a real clock: so it can be held to
//! what is promised over real bridges.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use edgelock_table::{HEADER, Listener, Reply, Table, begun, channel, message};
use redis::{Cmd, ConnectionLike, RedisResult, Value};
use tokio::sync::{mpsc, oneshot};

/// A table on a port. It goes when this is dropped.
pub(crate) struct Served {
    address: SocketAddr,
    shared: Shared,
    _stop: oneshot::Sender<Infallible>,
}

type Shared = Arc<Mutex<Open>>;
type Stream = mpsc::UnboundedSender<Vec<u8>>;

#[derive(Default)]
struct Open {
    table: Table,
    streams: Vec<(Listener, Stream)>,
}

fn open(shared: &Shared) -> MutexGuard<'_, Open> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_us() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(now.expect("after 1970").as_micros()).expect("this age")
}

impl Open {
    fn deliver(&mut self) {
        for (to, text) in self.table.take_messages() {
            let stream = self.streams.iter().find(|(own, _)| *own == to);
            if let Some((_, stream)) = stream {
                let _ = stream.send(text);
            }
        }
    }
}

impl Served {
    pub(crate) fn start() -> Self {
        let shared = Shared::default();
        let (told, address) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let router = Router::new().fallback(answer).with_state(shared.clone());
        std::thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
                let listener = listener.expect("a port");
                let address = listener.local_addr().expect("an address");
                told.send(address).expect("whoever started it");
                tokio::select! {
                    _ = axum::serve(listener, router) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address: address.recv().expect("it starts"), shared, _stop: stop }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A way to the table's keys, past the bridge.
    pub(crate) fn connection(&self) -> Box<dyn ConnectionLike + Send> {
        Box::new(Direct(self.shared.clone()))
    }
}

async fn answer(State(shared): State<Shared>, uri: Uri, body: Bytes) -> Response {
    if let Some(channel) = channel(uri.path()) {
        return stream(&shared, channel);
    }
    let body = String::from_utf8_lossy(&body);
    let mut open = open(&shared);
    let (status, body) = open.table.answer(now_us(), uri.path(), &body);
    open.deliver();
    let status = axum::http::StatusCode::from_u16(status).expect("a status");
    (status, [HEADER], body).into_response()
}

fn stream(shared: &Shared, channel: Vec<u8>) -> Response {
    let (stream, heard) = mpsc::unbounded_channel();
    let line = {
        let mut open = open(shared);
        let listener = open.table.listen(&channel);
        open.streams.push((listener, stream));
        Line(shared.clone(), listener)
    };
    let first = Some(begun(&channel));
    let pieces = futures_util::stream::unfold(
        (line, heard, channel, first),
        |(line, mut heard, channel, first)| async move {
            let piece = match first {
                Some(first) => first,
                None => message(&channel, &heard.recv().await?),
            };
            Some((Ok::<_, Infallible>(piece), (line, heard, channel, None)))
        },
    );
    Body::from_stream(pieces).into_response()
}

/// A subscription that ends when the client hangs up.
struct Line(Shared, Listener);

impl Drop for Line {
    fn drop(&mut self) {
        let mut open = open(&self.0);
        open.table.hang_up(self.1);
        open.streams.retain(|(own, _)| *own != self.1);
    }
}

/// Executes what a client of Redis would send.
struct Direct(Shared);

impl ConnectionLike for Direct {
    fn req_command(&mut self, command: &Cmd) -> RedisResult<Value> {
        let words = command.args_iter().map(|word| match word {
            redis::Arg::Simple(word) => word.to_vec(),
            _ => panic!("a cursor"),
        });
        let words: Vec<Vec<u8>> = words.collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let mut open = open(&self.0);
        let reply = open.table.execute(now_us(), &words);
        open.deliver();
        match value(reply) {
            Ok(value) => Ok(value),
            Err(text) => panic!("{text}"),
        }
    }

    fn req_packed_command(&mut self, _: &[u8]) -> RedisResult<Value> {
        unreachable!("commands come unpacked")
    }

    fn req_packed_commands(&mut self, _: &[u8], _: usize, _: usize) -> RedisResult<Vec<Value>> {
        unreachable!("commands come one by one")
    }

    fn get_db(&self) -> i64 {
        0
    }

    fn check_connection(&mut self) -> bool {
        true
    }

    fn is_open(&self) -> bool {
        true
    }
}

fn value(reply: Reply) -> Result<Value, String> {
    Ok(match reply {
        Reply::Nil => Value::Nil,
        Reply::Int(number) => Value::Int(number),
        Reply::Bulk(bytes) => Value::BulkString(bytes),
        Reply::Status(text) => Value::SimpleString(text),
        Reply::Error(text) => return Err(text),
        Reply::Array(all) => Value::Array(all.into_iter().map(value).collect::<Result<_, _>>()?),
    })
}
