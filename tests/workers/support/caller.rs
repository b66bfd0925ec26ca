//! Calls a Worker over HTTP, and checks what every answer promises.

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use xtask::stack::{Worker, WorkerConfig};

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

#[derive(Clone)]
pub(crate) struct Caller {
    http: Client,
    url: String,
    cron_url: String,
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
        Self {
            http: Client::new(),
            url: worker.url(),
            cron_url: worker.cron_url(),
            config: config.clone(),
        }
    }

    /// The address as `host:port`.
    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("http://").expect("an address on http")
    }

    /// Opens a sale that ends in an hour.
    pub(crate) async fn open(&self, sku: &str, stock: u64, limit_per_buyer: u64) -> Answer {
        self.open_until(sku, stock, limit_per_buyer, now_ms() + 3_600_000).await
    }

    pub(crate) async fn open_until(
        &self,
        sku: &str,
        stock: u64,
        limit_per_buyer: u64,
        ends_at_ms: u64,
    ) -> Answer {
        let terms =
            json!({"stock": stock, "limit_per_buyer": limit_per_buyer, "ends_at_ms": ends_at_ms});
        let path = format!("/sales/{sku}");
        self.admin("PUT", &path, &terms.to_string()).await
    }

    pub(crate) async fn sale(&self, sku: &str) -> Answer {
        self.send("GET", &format!("/sales/{sku}"), None, "").await
    }

    pub(crate) async fn order(&self, sku: &str, order: &str, buyer: &str, quantity: u64) -> Answer {
        let order = json!({"order_id": order, "buyer": buyer, "quantity": quantity});
        let path = format!("/sales/{sku}/orders");
        self.send("POST", &path, None, &order.to_string()).await
    }

    /// As [`Caller::order`], in a task of its own.
    pub(crate) async fn orders(self, sku: String, order: String, buyer: String, n: u64) -> Answer {
        self.order(&sku, &order, &buyer, n).await
    }

    /// Places an order of several sales: each sku, and how many units.
    pub(crate) async fn cart(&self, order: &str, buyer: &str, items: &[(&str, u64)]) -> Answer {
        let item = |(sku, quantity): &(&str, u64)| json!({"sku": sku, "quantity": quantity});
        let items: Vec<_> = items.iter().map(item).collect();
        let cart = json!({"order_id": order, "buyer": buyer, "items": items});
        self.send("POST", "/orders", None, &cart.to_string()).await
    }

    /// Whether the order is placed, now or by an earlier call. If not, it may be sent again.
    pub(crate) async fn is_placed(&self, sku: &str, order: &str) -> bool {
        let body = json!({"order_id": order, "buyer": order, "quantity": 1}).to_string();
        let order = self.http.post(format!("{}/sales/{sku}/orders", self.url));
        let answer = order.body(body).send().await;
        let status = answer.map_or(StatusCode::SERVICE_UNAVAILABLE, |answer| answer.status());
        assert!(status.is_success() || status == StatusCode::SERVICE_UNAVAILABLE, "{status}");
        status.is_success()
    }

    /// Places an order on a connection of its own, which is reset when the returned value is
    /// dropped.
    pub(crate) async fn order_to_hang_up(&self, sku: &str, order: &str) -> TcpStream {
        let body = json!({"order_id": order, "buyer": order, "quantity": 1}).to_string();
        let path = format!("/sales/{sku}/orders");
        self.to_hang_up(HangUp::Reset, "POST", &path, "", &body).await
    }

    /// Sends a request on a connection of its own. The caller hangs up when the returned value is
    /// dropped.
    pub(crate) async fn to_hang_up(
        &self,
        how: HangUp,
        method: &str,
        path: &str,
        bearer: &str,
        body: &str,
    ) -> TcpStream {
        let stream = TcpStream::connect(self.address()).await;
        let mut stream = stream.expect("a connection");
        if let HangUp::Reset = how {
            stream.set_zero_linger().expect("an option of sockets");
        }
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {bearer}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        stream
    }

    /// The credential of those who use locks.
    pub(crate) fn locks_token(&self) -> &str {
        self.config.locks_token()
    }

    /// The credential of those who open sales.
    pub(crate) fn admin_token(&self) -> &str {
        self.config.admin_token()
    }

    /// Waits until the Worker has noticed all that was sent, and who hung up, before: it has, once
    /// it has answered later requests.
    pub(crate) async fn hears_what_came_before(&self) {
        for _ in 0..20 {
            self.sale("42").await.answers(200);
        }
    }

    pub(crate) async fn enter(&self, lottery: &str, entrant: &str) -> Answer {
        let path = format!("/lottery/{lottery}/entrants");
        let entry = json!({ "entrant": entrant });
        self.send("POST", &path, None, &entry.to_string()).await
    }

    pub(crate) async fn lottery(&self, lottery: &str) -> Answer {
        let path = format!("/lottery/{lottery}");
        self.send("GET", &path, None, "").await
    }

    /// Fires the Worker's schedule, as if the clock showed `time_ms`.
    pub(crate) async fn fire(&self, time_ms: u64) {
        let url = format!("{}?time={time_ms}", self.cron_url);
        let fired = self.http.get(url).send().await.expect("an answer");
        assert_eq!(fired.text().await.expect("a whole answer"), "ok");
    }

    /// Sends a request with the credential of those who open sales.
    pub(crate) async fn admin(&self, method: &str, path: &str, body: &str) -> Answer {
        let token = self.config.admin_token();
        self.send(method, path, Some(token), body).await
    }

    /// Sends a request with the credential of those who use locks.
    pub(crate) async fn locks(&self, method: &str, path: &str, body: &str) -> Answer {
        let token = self.config.locks_token();
        self.send(method, path, Some(token), body).await
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        bearer: Option<&str>,
        body: &str,
    ) -> Answer {
        let verb = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.http.request(verb, format!("{}{path}", self.url));
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        if !body.is_empty() {
            request = request.body(body.to_owned());
        }
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a whole answer");
        let answer =
            Answer { status, json: serde_json::from_str(&text).unwrap_or_default(), headers, text };
        self.keeps_the_form_of_all_answers(&answer);
        api::describes(method, path, body, &answer);
        answer
    }

    fn keeps_the_form_of_all_answers(&self, answer: &Answer) {
        assert_eq!(answer.header("cache-control"), "no-store", "{answer:?}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        for name in ["EDGELOCK_BRIDGE_CREDENTIAL", "ADMIN_CREDENTIAL", "LOCKS_CREDENTIAL"] {
            let secret = self.config.binding(name);
            assert!(
                secret.is_empty() || !format!("{answer:?}").contains(secret),
                "{name} in {answer:?}"
            );
        }
        if answer.status < 400 {
            assert_eq!(answer.header("content-type"), "application/json");
            return;
        }
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert_eq!(answer.json["status"], answer.status, "{answer:?}");
        for member in ["type", "title", "code", "detail"] {
            assert!(answer.json[member].is_string(), "{member} of {answer:?}");
        }
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    #[track_caller]
    pub(crate) fn number(&self, member: &str) -> u64 {
        self.json[member].as_u64().unwrap_or_else(|| panic!("no number {member} in {self:?}"))
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

    /// Checks that the answer says when to come back.
    #[track_caller]
    pub(crate) fn says_when_to_retry(self) -> Self {
        let after = self.header("retry-after").parse::<u64>();
        assert!(after.is_ok_and(|seconds| seconds >= 1), "{self:?}");
        self
    }
}
