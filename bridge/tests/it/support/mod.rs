//! A bridge, a Redis, and how tests wait.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use reqwest::{Method, RequestBuilder, Response};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout};

pub(crate) const TOKEN: &str = "the-standard-secret";
pub(crate) const READ_ONLY_TOKEN: &str = "the-read-only-secret";
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// A running bridge. When it is dropped, it is killed with the Redis that it spawned.
pub(crate) struct Bridge {
    child: Child,
    url: String,
    socket: Option<PathBuf>,
    log: Arc<Mutex<String>>,
    http: reqwest::Client,
}

impl Bridge {
    /// A bridge that spawns its own Redis.
    pub(crate) async fn spawn() -> Self {
        Self::start(["--redis", "spawn"]).await
    }

    /// The same, with these options.
    pub(crate) async fn with<'a>(options: impl IntoIterator<Item = &'a str>) -> Self {
        Self::start(["--redis", "spawn"].into_iter().chain(options)).await
    }

    pub(crate) async fn start<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Self {
        Self::of(command(args)).await
    }

    /// A bridge in front of the Redis at `url`, which has a certificate of this authority.
    pub(crate) async fn trusting(authority: &Path, url: &str) -> Self {
        let mut bridge = command(["--redis", url]);
        bridge.env("SSL_CERT_FILE", authority);
        Self::of(bridge).await
    }

    /// The same, with at most so many open files.
    pub(crate) async fn with_files<S: AsRef<OsStr>>(
        files: u32,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        let bridge = command(args);
        let bridge = bridge.as_std();
        let mut limited = Command::new("sh");
        limited
            .args(["-c", &format!("ulimit -n {files} && exec \"$@\""), "sh"])
            .arg(bridge.get_program())
            .args(bridge.get_args())
            .envs(bridge.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self::of(piped(limited)).await
    }

    async fn of(mut command: Command) -> Self {
        let spawns_redis =
            command.as_std().get_args().any(|arg| arg.as_encoded_bytes().starts_with(b"spawn"));
        let mut child = command.spawn().expect("the bridge starts");
        let log = Arc::default();
        collect(child.stderr.take().expect("stderr is piped"), Arc::clone(&log));
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let Some(url) = line(&mut stdout, "edgelock-bridge listening on ").await else {
            panic!("the bridge does not listen: {}", log.lock().unwrap());
        };
        let socket = match spawns_redis {
            true => line(&mut stdout, "redis unix socket ").await,
            false => None,
        };
        let socket = socket.map(PathBuf::from);
        Self { child, url, socket, log, http: http() }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The address as `host:port`.
    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("http://").expect("an address on http")
    }

    /// A client with connections of its own.
    pub(crate) fn another_client(&self) -> Client {
        Client { url: self.url.clone(), http: http() }
    }

    fn socket(&self) -> &Path {
        self.socket.as_deref().expect("a bridge that spawned its Redis")
    }

    /// The folder of the Redis that it spawned.
    pub(crate) fn folder(&self) -> &Path {
        self.socket().parent().expect("a folder")
    }

    /// The address of the Redis that it spawned.
    pub(crate) fn redis_url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("a bridge that runs")
    }

    /// What the Redis that it spawned answers to `INFO` and the like.
    pub(crate) async fn told(&self, command: &str, about: &str) -> String {
        told(&mut connect(&self.redis_url()).await, command, about).await
    }

    /// The process id of the Redis that it spawned.
    pub(crate) async fn redis_id(&self) -> u32 {
        let about = self.told("INFO", "server").await;
        let id = about.lines().find_map(|line| line.strip_prefix("process_id:"));
        id.and_then(|id| id.parse().ok()).expect("a process")
    }

    /// The most memory that it has used so far, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("a bridge that runs, on Linux");
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = most.and_then(|most| most.trim().strip_suffix(" kB"));
        kilobytes.expect("a line").parse::<u64>().expect("a number") * 1024
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// A request without a credential.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).timeout(LIMIT)
    }

    pub(crate) fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        self.request(Method::POST, path).bearer_auth(TOKEN).body(body)
    }

    /// The status and body of the answer.
    pub(crate) fn ask<B: Into<reqwest::Body>>(
        &self,
        path: &str,
        body: B,
    ) -> impl Future<Output = (u16, String)> + use<B> {
        answer(self.post(path, body))
    }

    /// The status and body of the answer to a command.
    pub(crate) async fn run(&self, command: &str) -> (u16, String) {
        self.ask("/", command.to_owned()).await
    }

    /// The same, for whom may only read.
    pub(crate) async fn read_only(
        &self,
        path: &str,
        body: impl Into<reqwest::Body>,
    ) -> (u16, String) {
        let asked = self.request(Method::POST, path).bearer_auth(READ_ONLY_TOKEN);
        answer(asked.body(body)).await
    }

    pub(crate) async fn health(&self) -> (u16, String) {
        answer(self.request(Method::GET, "/health")).await
    }

    pub(crate) async fn set(&self, key: &str, value: &str) {
        let set = serde_json::to_string(&["SET", key, value]).expect("text");
        assert_eq!(self.run(&set).await, (200, r#"{"result":"OK"}"#.to_owned()));
    }

    /// The connection to Redis that carried a command, by its id.
    pub(crate) async fn connection(&self, command: &str) -> String {
        let body = format!(r#"[{command},["CLIENT","ID"]]"#);
        let (status, body) = self.ask("/pipeline", body).await;
        assert_eq!(status, 200, "{body}");
        let id = body.rsplit_once(':').map(|(_, id)| id.to_owned());
        id.expect("an answer to each")
    }

    /// A connection on which this was sent, though the bridge may have refused it before its end.
    pub(crate) async fn sent(&self, line: &str, header: &str, body: &str) -> TcpStream {
        let stream = TcpStream::connect(self.address()).await;
        let mut stream = stream.expect("a connection");
        let head = format!("{line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n");
        let sent = format!("{head}{header}\r\n\r\n{body}");
        let _ = stream.write_all(sent.as_bytes()).await;
        stream
    }

    /// The same, with a body as long as it says.
    pub(crate) async fn posted(&self, path: &str, body: &str) -> TcpStream {
        let length = format!("Content-Length: {}", body.len());
        self.sent(&format!("POST {path}"), &length, body).await
    }

    pub(crate) async fn until_ping(&self, status: u16) {
        until(&format!("PING is {status}"), async || self.run(r#"["PING"]"#).await.0 == status)
            .await;
    }

    pub(crate) async fn until_logs(&self, text: &str) {
        until(text, async || self.log().contains(text)).await;
    }

    pub(crate) async fn signal(&self, name: &str) {
        signal(self.id(), name).await;
    }

    pub(crate) async fn exit(&mut self) -> ExitStatus {
        let exit = timeout(LIMIT, self.child.wait()).await;
        exit.expect("the bridge ends").expect("its status can be had")
    }
}

/// A client of a bridge that shares no connection with others.
pub(crate) struct Client {
    url: String,
    http: reqwest::Client,
}

impl Client {
    /// The status and body of the answer to a command.
    pub(crate) async fn run(&self, command: &str) -> (u16, String) {
        let asked = self.http.post(&self.url).timeout(LIMIT);
        answer(asked.bearer_auth(TOKEN).body(command.to_owned())).await
    }
}

fn http() -> reqwest::Client {
    let client = reqwest::Client::builder().no_proxy().build();
    client.expect("a client without TLS")
}

/// The bridge's command line, for tests that do not need it to start.
pub(crate) fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_edgelock-bridge"));
    command
        .args(["--listen", "127.0.0.1:0"])
        .args(args)
        .env("EDGELOCK_BRIDGE_CREDENTIAL", TOKEN)
        .env("EDGELOCK_BRIDGE_READ_ONLY_CREDENTIAL", READ_ONLY_TOKEN);
    piped(command)
}

fn piped(mut command: Command) -> Command {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// A command of these words.
pub(crate) fn as_json(words: &str) -> String {
    serde_json::to_string(&words.split(' ').collect::<Vec<_>>()).expect("words")
}

pub(crate) async fn send(request: RequestBuilder) -> Response {
    request.send().await.expect("the bridge answers")
}

pub(crate) async fn answer(request: RequestBuilder) -> (u16, String) {
    let response = send(request).await;
    let status = response.status().as_u16();
    (status, response.text().await.expect("a whole body"))
}

/// Fails unless an answer is this one.
#[track_caller]
pub(crate) fn is((status, body): (u16, String), expected: u16, whole: &str) {
    assert_eq!((status, body.as_str()), (expected, whole));
}

/// Fails unless an answer has this status, and this text in its body.
#[track_caller]
pub(crate) fn says((status, body): (u16, String), expected: u16, text: &str) {
    assert!(status == expected && body.contains(text), "{status} {body}");
}

pub(crate) fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    let value = response.headers().get(name).unwrap_or_else(|| panic!("no header {name}"));
    value.to_str().expect("a header of text")
}

/// Fails unless a request was refused for now, with when to come back. Returns the body.
pub(crate) async fn refused_for_now(request: RequestBuilder) -> String {
    let refused = send(request).await;
    let (status, url) = (refused.status(), refused.url().clone());
    let second = refused.headers().get("retry-after").cloned();
    let body = refused.text().await.expect("a whole body");
    assert!(status == 503 && second.is_some_and(|second| second == "1"), "{url}: {body}");
    assert!(body.ends_with(r#","executed":false}"#), "{url}: {body}");
    body
}

/// What a bridge says that does not start.
pub(crate) async fn ends(mut bridge: Command) -> String {
    let ended = bridge.output().await.expect("it ends");
    assert!(!ended.status.success() && ended.stdout.is_empty());
    String::from_utf8_lossy(&ended.stderr).into_owned()
}

/// Asks again and again until the answer is yes, and fails if it never is.
pub(crate) async fn until(what: &str, mut yes: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !yes().await {
        assert!(began.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// By a shell, because the standard library can only kill.
pub(crate) async fn signal(id: u32, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {id}")]).status().await;
    assert!(sent.expect("a shell").success(), "signal {name}");
}

/// What follows `prefix` in the next line; `None` if there is no line in time.
async fn line(stdout: &mut Lines<BufReader<ChildStdout>>, prefix: &str) -> Option<String> {
    let line = timeout(LIMIT, stdout.next_line()).await.ok()?.expect("stdout is text")?;
    let rest = line.strip_prefix(prefix);
    Some(rest.unwrap_or_else(|| panic!("{line:?} does not begin with {prefix:?}")).to_owned())
}

fn collect(from: impl AsyncRead + Unpin + Send + 'static, into: Arc<Mutex<String>>) {
    tokio::spawn(async move {
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            into.lock().unwrap().push_str(&format!("{line}\n"));
        }
    });
}

/// A connection past the bridge.
pub(crate) async fn connect(url: &str) -> MultiplexedConnection {
    let client = redis::Client::open(url).expect("an address");
    let connection = client.get_multiplexed_async_connection().await;
    connection.expect("redis-server listens")
}

/// What Redis answers to a command about itself.
pub(crate) async fn told(direct: &mut MultiplexedConnection, command: &str, about: &str) -> String {
    let told = redis::cmd(command).arg(about).query_async(direct).await;
    told.expect("redis answers")
}

/// How many `calls` of a command Redis got, or `rejected_calls`.
pub(crate) async fn counted(direct: &mut MultiplexedConnection, command: &str, what: &str) -> u64 {
    let stats = told(direct, "INFO", "commandstats").await;
    let of_command = stats.split(&format!("cmdstat_{command}:")).nth(1);
    let count = of_command.and_then(|counts| counts.split(&format!("{what}=")).nth(1));
    let digits = count.and_then(|count| count.split(',').next());
    digits.map_or(0, |digits| digits.parse().expect("a number"))
}

/// Waits until a script keeps Redis busy.
pub(crate) async fn until_busy(direct: &mut MultiplexedConnection) {
    until("it is busy", async || {
        let pong = redis::cmd("PING").exec_async(direct).await;
        pong.is_err_and(|error| error.code() == Some("BUSY"))
    })
    .await;
}

/// Waits until Redis has a client that is blocked.
pub(crate) async fn until_blocked(direct: &mut MultiplexedConnection) {
    until("a command waits", async || {
        let info = told(direct, "INFO", "clients").await;
        info.contains("blocked_clients:1")
    })
    .await;
}
