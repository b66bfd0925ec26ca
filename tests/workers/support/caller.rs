//! Calls a Worker over HTTP, and checks what every answer promises.

use std::pin::Pin;

use reqwest::Client;
use serde_json::{Value, json};
use testkit::stack::{Worker, WorkerConfig};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::{api, now_ms};

/// How a caller hangs up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HangUp {
    /// As a program that crashes, or a browser's tab that is closed.
    Reset,
    /// As a client whose time is up. A host may take that for the end of the request alone, until
    /// it has sent something.
    Close,
}

/// An answer that is still to come. It may be awaited in another task.
pub(crate) type Asking = Pin<Box<dyn Future<Output = Answer> + Send>>;

#[derive(Clone)]
pub(crate) struct Caller {
    http: Client,
    pub(crate) port: u16,
    pub(crate) cron_url: String,
    config: WorkerConfig,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Caller {
    pub(crate) fn new(worker: &Worker, config: &WorkerConfig) -> Self {
        let (http, config) = (Client::new(), config.clone());
        Self { http, port: worker.port(), cron_url: worker.cron_url(), config }
    }

    /// Opens a sale that ends in an hour.
    pub(crate) async fn open(&self, sku: &str, stock: u64, limit: u64) -> Answer {
        self.open_until(sku, stock, limit, now_ms() + 3_600_000).await
    }

    pub(crate) async fn open_until(&self, sku: &str, stock: u64, limit: u64, end: u64) -> Answer {
        let terms = json!({"stock": stock, "limit_per_buyer": limit, "ends_at_ms": end});
        self.ask("PUT", &format!("/sales/{sku}"), &terms.to_string()).await
    }

    pub(crate) async fn open_all(&self, skus: &[impl AsRef<str>], stock: u64, limit: u64) {
        for sku in skus {
            self.open(sku.as_ref(), stock, limit).await.answers(201);
        }
    }

    pub(crate) fn sale(&self, sku: &str) -> Asking {
        self.send("GET", &format!("/sales/{sku}"), None, "")
    }

    pub(crate) fn order(&self, sku: &str, order: &str, buyer: &str, quantity: u64) -> Asking {
        let order = json!({"order_id": order, "buyer": buyer, "quantity": quantity}).to_string();
        self.send("POST", &format!("/sales/{sku}/orders"), None, &order)
    }

    /// Places an order of several sales: each sku, and how many units.
    pub(crate) fn cart(&self, order: &str, buyer: &str, items: &[(&str, u64)]) -> Asking {
        let item = |(sku, quantity): &(&str, u64)| json!({"sku": sku, "quantity": quantity});
        let items: Vec<_> = items.iter().map(item).collect();
        let cart = json!({"order_id": order, "buyer": buyer, "items": items});
        self.send("POST", "/orders", None, &cart.to_string())
    }

    /// Opens a sale in two steps that ends in an hour.
    pub(crate) async fn open_in_two_steps(&self, sku: &str, stock: u64, limit: u64) {
        let terms = json!({
            "stock": stock, "limit_per_buyer": limit, "ends_at_ms": now_ms() + 3_600_000,
            "two_steps": true,
        });
        self.ask("PUT", &format!("/sales/{sku}"), &terms.to_string()).await.answers(201);
    }

    pub(crate) fn reserve(&self, sku: &str, buyer: &str, quantity: u64) -> Asking {
        let wanted = json!({"buyer": buyer, "quantity": quantity}).to_string();
        self.send("POST", &format!("/sales/{sku}/reservations"), None, &wanted)
    }

    /// Takes the second step of a sale: `confirm`, or `release`.
    pub(crate) fn step(&self, sku: &str, step: &str, token: &str) -> Asking {
        let reserved = json!({"token": token}).to_string();
        self.send("POST", &format!("/sales/{sku}/reservations/{step}"), None, &reserved)
    }

    /// Sends a request with the credential that opens its route, if one does.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Asking {
        self.send(method, path, Some(self.credential_of(path)), body)
    }

    fn credential_of(&self, path: &str) -> &str {
        match path.starts_with("/locks") {
            true => self.config.locks_token(),
            false => self.config.admin_token(),
        }
    }

    pub(crate) fn send(&self, verb: &str, path: &str, bearer: Option<&str>, body: &str) -> Asking {
        let (http, url) = (&self.http, format!("http://127.0.0.1:{}{path}", self.port));
        let mut request = http.request(verb.parse().expect("a method"), url);
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        if !body.is_empty() {
            request = request.body(body.to_owned());
        }
        let [verb, path, body] = [verb, path, body].map(str::to_owned);
        let config = self.config.clone();
        Box::pin(async move {
            let response = request.send().await.expect("an answer");
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let text = response.text().await.expect("a whole answer");
            let json = serde_json::from_str(&text).unwrap_or_default();
            let answer = Answer { status, headers, text, json };
            answer.keeps_the_form_of_all_answers(&verb, &config);
            api::describes(&verb, &path, &body, &answer);
            answer
        })
    }

    /// Sends a request as [`Caller::ask`] does: method, path and body, in one line, on a connection
    /// of its own. The caller hangs up when the returned value is dropped.
    pub(crate) async fn to_hang_up(&self, how: HangUp, request: &str) -> TcpStream {
        let mut parts = request.splitn(3, ' ');
        let [method, path, body] = [(); 3].map(|()| parts.next().unwrap_or_default());
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("a connection");
        if let HangUp::Reset = how {
            stream.set_zero_linger().expect("an option of sockets");
        }
        let (bearer, length) = (self.credential_of(path), body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {bearer}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        stream
    }
}

impl Answer {
    fn keeps_the_form_of_all_answers(&self, verb: &str, config: &WorkerConfig) {
        assert_eq!(self.header("cache-control"), "no-store", "{self:?}");
        assert_eq!(self.header("x-content-type-options"), "nosniff");
        for name in ["EDGELOCK_BRIDGE_CREDENTIAL", "ADMIN_CREDENTIAL", "LOCKS_CREDENTIAL"] {
            let secret = config.binding(name);
            let is_told = !secret.is_empty() && format!("{self:?}").contains(secret);
            assert!(!is_told, "{name} in {self:?}");
        }
        let is_done = self.status < 400;
        let content_type = if is_done { "application/json" } else { "application/problem+json" };
        assert_eq!(self.header("content-type"), content_type);
        let is_head = verb == "HEAD";
        assert!(!is_head || self.text.is_empty(), "{self:?}");
        if is_done || is_head {
            return;
        }
        assert_eq!(self.json["status"], self.status, "{self:?}");
        for member in ["type", "title", "code", "detail"] {
            assert!(self.json[member].is_string(), "{member} of {self:?}");
        }
        assert_eq!(self.header("www-authenticate") == "Bearer", self.status == 401, "{self:?}");
        assert_eq!(!self.header("allow").is_empty(), self.status == 405, "{self:?}");
        // Whoever is to come again is told when.
        if self.status == 503 || self.json["code"] == "lock_held" {
            let after = self.header("retry-after").parse::<u64>();
            assert!(after.is_ok_and(|seconds| seconds >= 1), "{self:?}");
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    #[track_caller]
    pub(crate) fn number(&self, member: &str) -> u64 {
        self.json[member].as_u64().unwrap_or_else(|| panic!("no number {member} in {self:?}"))
    }

    #[track_caller]
    pub(crate) fn token(&self) -> String {
        let token = self.json["token"].as_str().unwrap_or_else(|| panic!("no token in {self:?}"));
        token.to_owned()
    }

    #[track_caller]
    pub(crate) fn answers(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn refuses(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, &self.json["code"]), (status, &code.into()), "{self:?}");
        self
    }
}
