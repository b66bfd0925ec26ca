//! A server that misbehaves on purpose. It answers with given bytes, or stands before a real bridge
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
    /// The words of the posted command, in either dialect. Of several commands, those of the first.
    pub(crate) fn words(&self) -> Vec<String> {
        if let Ok(several) = serde_json::from_str::<Vec<Vec<String>>>(&self.body) {
            return several.into_iter().next().expect("a command");
        }
        if self.body.starts_with('[') {
            return serde_json::from_str(&self.body).expect("a command as a JSON array of strings");
        }
        let words = self.body.split('/').map(percent_decode_str);
        words.map(|word| word.decode_utf8().expect("UTF-8").into_owned()).collect()
    }

    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).expect("a request line")
    }

    fn is_subscription(&self) -> bool {
        self.head.starts_with("POST /subscribe/") || self.body.starts_with("SUBSCRIBE/")
    }

    /// The request's nonce: the first argument after the keys.
    pub(crate) fn nonce(&self) -> String {
        let words = self.words();
        let keys: usize = words[2].parse().expect("a number of keys");
        words[3 + keys].clone()
    }
}

/// Serves on a port that the system picks, and returns the address. `answer` gives the bytes of
/// each response, or `None` to hang up.
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
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(Asked { head, body: String::from_utf8(body).ok()? })
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
    /// The request never arrives, and the connection is closed.
    LoseRequest,
    /// The request is executed, and the connection is closed without a reply.
    LoseReply,
    /// The request never arrives: whoever stands before the bridge answers with a 401.
    Refuse,
    /// The request arrives twice, and the client gets the second reply.
    Duplicate,
    /// The request arrives when [`Proxy::deliver`] is called. The client waits until then.
    Delay,
    /// The request is executed. The client waits for the reply until [`Proxy::deliver`] is called.
    Withhold,
}

/// A proxy before a real bridge. Its faults apply to requests in order, and all later requests
/// pass. It has no subscriptions.
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

    /// A proxy before the bridge at an address; `route` says how the bridge is reached at another
    /// address.
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
        Self { client: client_of(route(&url)), url, state }
    }

    /// Adds a fault behind those that were given.
    pub(crate) fn next(&self, fault: Fault) {
        self.state.faults.lock().expect("faults").push_back(fault);
    }

    /// The words of each request so far.
    pub(crate) fn seen(&self) -> Vec<Vec<String>> {
        self.state.seen.lock().expect("seen").clone()
    }

    /// Delivers the first request that was delayed, or the first reply that was withheld. Returns
    /// when the request was executed.
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
        let fault = self.faults.lock().expect("faults").pop_front().unwrap_or(Fault::Pass);
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
    let mut post =
        reqwest::Client::new().post(format!("{url}{}", asked.path())).body(asked.body.clone());
    for line in asked.head.lines().skip(1) {
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        if ["authorization", "content-type"].contains(&&*name.to_ascii_lowercase()) {
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

/// The same response, in which the bridge says this of itself.
fn saying(said: &str, answer: &[u8]) -> Vec<u8> {
    let answer = std::str::from_utf8(answer).expect("text");
    let header = format!("x-edgelock-bridge: {said}\r\ncontent-length: ");
    answer.replacen("content-length: ", &header, 1).into_bytes()
}

/// The same response, in which the bridge says nothing of itself.
pub(crate) fn saying_nothing(answer: &[u8]) -> Vec<u8> {
    let answer = std::str::from_utf8(answer).expect("text");
    let kept = |line: &&str| !line.starts_with("x-edgelock-bridge: ");
    let lines: Vec<_> = answer.split("\r\n").filter(kept).collect();
    lines.join("\r\n").into_bytes()
}
