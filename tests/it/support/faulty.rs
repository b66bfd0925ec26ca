//! A server that misbehaves on purpose: it answers with given bytes, or stands before a real bridge
//! and loses messages.

use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;
use std::sync::Mutex;

use edgelock::Bridge;
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::{Stack, TestClient, client_of};

/// The headers and the body of a request.
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    /// The words of the command that was posted, in either dialect; of the first, if they are
    /// several.
    pub(crate) fn words(&self) -> Vec<String> {
        if let Ok(several) = serde_json::from_str::<Vec<Vec<String>>>(&self.body) {
            return several.into_iter().next().expect("a command");
        }
        if self.body.starts_with('[') {
            return serde_json::from_str(&self.body).expect("a command as a JSON array of strings");
        }
        let words = self.body.split('/').map(percent_decode_str);
        words
            .map(|word| word.decode_utf8().expect("UTF-8").into_owned())
            .collect()
    }

    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).expect("a request line")
    }

    fn is_subscription(&self) -> bool {
        self.head.starts_with("POST /subscribe/") || self.body.starts_with("SUBSCRIBE/")
    }

    /// The first argument behind the keys.
    pub(crate) fn nonce(&self) -> String {
        let words = self.words();
        let keys: usize = words[2].parse().expect("a number of keys");
        words[3 + keys].clone()
    }
}

/// Serves on a port that the system picks; `answer` gives the bytes of a response, or `None` to
/// hang up. The address.
pub(crate) async fn serve<F, A>(answer: A) -> String
where
    F: Future<Output = Option<Vec<u8>>> + 'static,
    A: Fn(Asked) -> F + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = Rc::new(answer);
    tokio::task::spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::task::spawn_local(async move {
                let mut stream = BufReader::new(stream);
                if let Some(asked) = read(&mut stream).await
                    && let Some(bytes) = answer(asked).await
                {
                    // The client may have hung up meanwhile.
                    let _ = stream.write_all(&bytes).await;
                }
            });
        }
    });
    url
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(Asked {
        head,
        body: String::from_utf8(body).ok()?,
    })
}

/// A whole response with a JSON body.
pub(crate) fn json(status: u16, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

/// What happens to a request on its way to the bridge.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    Pass,
    /// It never arrives, and the sender is hung up on.
    LoseRequest,
    /// It is executed, and the sender is hung up on.
    LoseReply,
    /// It never arrives, and the sender is not let in.
    Refuse,
    /// It arrives twice; the second reply is the one that is seen.
    Duplicate,
    /// It arrives once the caller of [`Proxy::deliver`] says so; the sender is kept waiting.
    Delay,
    /// It is executed, and the sender is kept waiting until the caller of [`Proxy::deliver`] says
    /// so.
    Withhold,
}

/// Stands before a real bridge. Faults apply to requests in order; behind the last, all is well. It
/// has no subscriptions.
pub(crate) struct Proxy {
    pub(crate) client: TestClient,
    pub(crate) url: String,
    state: Rc<State>,
}

struct State {
    bridge: String,
    faults: Mutex<VecDeque<Fault>>,
    seen: Mutex<Vec<Vec<String>>>,
    deliver: Notify,
    delivered: Notify,
}

impl Proxy {
    pub(crate) async fn before(stack: &Stack, faults: impl IntoIterator<Item = Fault>) -> Self {
        Self::to(&stack.url(), |url| stack.route_by(url), faults).await
    }

    /// Before the bridge at an address; `route` says how it is reached at another.
    pub(crate) async fn to(
        bridge: &str,
        route: impl FnOnce(&str) -> Bridge,
        faults: impl IntoIterator<Item = Fault>,
    ) -> Self {
        let state = Rc::new(State {
            bridge: bridge.to_owned(),
            faults: Mutex::new(faults.into_iter().collect()),
            seen: Mutex::default(),
            deliver: Notify::new(),
            delivered: Notify::new(),
        });
        let served = state.clone();
        let url = serve(move |asked| served.clone().pass(asked)).await;
        Self {
            client: client_of(route(&url)),
            url,
            state,
        }
    }

    /// One more fault, behind those that were given.
    pub(crate) fn next(&self, fault: Fault) {
        self.state.faults.lock().expect("faults").push_back(fault);
    }

    /// The words of each request so far.
    pub(crate) fn seen(&self) -> Vec<Vec<String>> {
        self.state.seen.lock().expect("seen").clone()
    }

    /// Lets the first request that was delayed arrive, or its answer that was withheld, and returns
    /// when it was executed.
    pub(crate) async fn deliver(&self) {
        self.state.deliver.notify_one();
        self.state.delivered.notified().await;
    }
}

impl State {
    async fn pass(self: Rc<Self>, asked: Asked) -> Option<Vec<u8>> {
        if asked.is_subscription() {
            self.see(vec!["SUBSCRIBE".to_owned()]);
            return Some(json(404, r#"{"error":"no subscriptions"}"#));
        }
        self.see(asked.words());
        let fault = self
            .faults
            .lock()
            .expect("faults")
            .pop_front()
            .unwrap_or(Fault::Pass);
        match fault {
            Fault::Pass => Some(forward(&self.bridge, &asked).await),
            Fault::LoseRequest => None,
            Fault::LoseReply => {
                forward(&self.bridge, &asked).await;
                None
            }
            Fault::Refuse => Some(json(401, r#"{"error":"Unauthorized"}"#)),
            Fault::Duplicate => {
                forward(&self.bridge, &asked).await;
                Some(forward(&self.bridge, &asked).await)
            }
            Fault::Delay => {
                self.deliver.notified().await;
                let bytes = forward(&self.bridge, &asked).await;
                self.delivered.notify_one();
                Some(bytes)
            }
            Fault::Withhold => {
                let bytes = forward(&self.bridge, &asked).await;
                self.deliver.notified().await;
                self.delivered.notify_one();
                Some(bytes)
            }
        }
    }

    fn see(&self, words: Vec<String>) {
        self.seen.lock().expect("seen").push(words);
    }
}

/// What the bridge at `url` answers.
pub(crate) async fn forward(url: &str, asked: &Asked) -> Vec<u8> {
    let mut post = reqwest::Client::new()
        .post(format!("{url}{}", asked.path()))
        .body(asked.body.clone());
    for line in asked.head.lines().skip(1) {
        if let Some((name @ ("authorization" | "content-type"), value)) = line.split_once(": ") {
            post = post.header(name, value);
        }
    }
    let response = post.send().await.expect("the bridge answers");
    let status = response.status().as_u16();
    let said = response.headers().get("x-edgelock-bridge");
    let said = said.map(|said| said.to_str().expect("ASCII").to_owned());
    let answer = json(status, &response.text().await.expect("text"));
    match said {
        Some(said) => saying(&said, &answer),
        None => answer,
    }
}

/// The response of a bridge that says this of itself.
fn saying(said: &str, answer: &[u8]) -> Vec<u8> {
    let answer = std::str::from_utf8(answer).expect("text");
    let header = format!("x-edgelock-bridge: {said}\r\ncontent-length: ");
    answer.replacen("content-length: ", &header, 1).into_bytes()
}

/// The same response without what the bridge says of itself.
pub(crate) fn saying_nothing(answer: &[u8]) -> Vec<u8> {
    let answer = std::str::from_utf8(answer).expect("text");
    let kept = |line: &&str| !line.starts_with("x-edgelock-bridge: ");
    let lines: Vec<_> = answer.split("\r\n").filter(kept).collect();
    lines.join("\r\n").into_bytes()
}
