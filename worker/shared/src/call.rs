//! One request: its client, who may make it, and how it is answered.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use edgelock::Runtime;
use edgelock::web::{Client, Host, Lock};
use futures_util::StreamExt;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use subtle::ConstantTimeEq;
use worker::js_sys::Reflect;
use worker::send::SendFuture;
use worker::wasm_bindgen::JsValue;
use worker::{
    Context, Env, Method, Request, Response, ResponseBuilder, console_error, console_log,
};

use crate::body::Id;
use crate::gate::{Gate, Place};
use crate::observe::{self, Timing};
use crate::problem::Problem;

pub type Answer = Result<Response, Problem>;

/// How many bytes a body may have.
const BODY_LIMIT: usize = 16 * 1024;

/// How long a request may wait for replicas. They are milliseconds behind, or away.
const REPLICATED: Duration = Duration::from_secs(1);

/// What a handler knows of its request, besides the request.
#[derive(Clone)]
pub struct Call {
    pub client: Client,
    pub context: Rc<Context>,
    pub replicas: Option<u32>,
    signal: JsValue,
    places: Rc<RefCell<Vec<Place>>>,
    timing: Rc<Timing>,
}

impl Call {
    /// # Errors
    /// 500 `not_configured`.
    pub fn new(request: &Request, env: &Env, context: Context) -> Result<Self, Problem> {
        let (context, timing) = (Rc::new(context), Rc::new(Timing::default()));
        let places = Rc::<RefCell<Vec<Place>>>::default();
        let (behind, kept, heard) = (Host::from(&*context), places.clone(), timing.clone());
        let host = Host::default()
            .wait_until(move |task| {
                let kept = kept.clone();
                behind.spawn(Box::pin(SendFuture::new(async move {
                    task.await;
                    drop(kept);
                })));
            })
            .on_event(move |event| {
                heard.hear(&event.kind);
                console_log!("{}", observe::line(event.lock, &event.kind));
            });
        let client = Client::from_env(env, host)
            .map_err(|error| Problem::not_configured(error.to_string()))?;
        let (replicas, signal) = (replicas(env)?, request.inner().signal().into());
        Ok(Self { client, context, replicas, signal, places, timing })
    }

    /// Gives up what it does if its caller hangs up.
    #[must_use]
    pub fn ends_with_its_caller(mut self) -> Self {
        self.client = self.client.signal(&self.signal);
        self
    }

    /// Whether the caller has hung up, as far as anybody can know.
    pub fn is_alone(&self) -> bool {
        Reflect::get(&self.signal, &"aborted".into()).is_ok_and(|aborted| aborted.is_truthy())
    }

    /// Goes through a gate. The place is the caller's until it is dropped.
    ///
    /// # Errors
    /// 503 `crowded`.
    pub async fn enter(
        &self,
        gate: &Gate,
        names: Vec<String>,
        patience: Duration,
    ) -> Result<Place, Problem> {
        gate.enter(names, patience, self.client.runtime()).await
    }

    /// As [`Call::enter`]. The request keeps its place until what it leaves behind is done: it may
    /// have to give up a lock. Returns what is left of `patience`.
    ///
    /// # Errors
    /// As there.
    pub async fn pass(
        &self,
        gate: &Gate,
        names: Vec<String>,
        patience: Duration,
    ) -> Result<Duration, Problem> {
        let came_at = self.client.runtime().now();
        let place = self.enter(gate, names, patience).await?;
        self.places.borrow_mut().push(place);
        Ok(patience.saturating_sub(self.client.runtime().now().since(came_at)))
    }

    /// So many replicas must have `lock`, and what is written under it, as this Worker is told to
    /// wait for.
    pub fn replicated(&self, lock: Lock) -> Lock {
        replicated(lock, self.replicas)
    }

    /// The answer as it is sent.
    ///
    /// # Errors
    /// Those of the host.
    pub fn finish(&self, answer: Answer, method: &Method) -> worker::Result<Response> {
        let mut response = answer.or_else(told)?;
        if let Some(timing) = self.timing.header() {
            response.headers_mut().set("server-timing", &timing)?;
        }
        if *method != Method::Head {
            return Ok(response);
        }
        let headers = response.headers().clone();
        Ok(ResponseBuilder::new().with_status(response.status_code()).with_headers(headers).empty())
    }
}

/// The path has these methods alone.
#[must_use]
pub fn wrong_method(allow: &'static str) -> Problem {
    let told = format!("this route knows {allow}");
    Problem::new(405, "method_not_allowed", told).header("allow", allow)
}

/// As [`Call::replicated`].
pub fn replicated(lock: Lock, replicas: Option<u32>) -> Lock {
    match replicas {
        Some(count) => lock.wait_for_replicas(count, REPLICATED),
        None => lock,
    }
}

/// How many replicas this Worker is told to wait for.
///
/// # Errors
/// 500 `not_configured`.
pub fn replicas(env: &Env) -> Result<Option<u32>, Problem> {
    const REPLICAS: &str = "WAIT_FOR_REPLICAS";
    let Some(count) = variable(env, REPLICAS) else { return Ok(None) };
    let is_number = count.parse().ok().filter(|count| *count > 0);
    let told = || format!("{REPLICAS} is a number from 1 on, and not {count:?}");
    is_number.map(Some).ok_or_else(|| Problem::not_configured(told()))
}

/// A variable or secret that is set.
fn variable(env: &Env, name: &str) -> Option<String> {
    let value = env.var(name).ok()?.to_string();
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The shortest secret that callers send: 64 bits as `openssl rand -hex 8` writes them.
const SHORTEST_SECRET: usize = 16;

/// The secrets of a bridge. Whoever sends one of them must open nothing else.
const OF_BRIDGES: [&str; 3] =
    ["EDGELOCK_BRIDGE_CREDENTIAL", "UPSTASH_REDIS_REST_TOKEN", "KV_REST_API_TOKEN"];

/// Lets in a caller that sent this secret as a bearer token. The time that this takes does not tell
/// how much of a guess was right.
///
/// # Errors
/// 403 `closed` if it is not set: callers are not told its name. 401 `unauthorized` if none or
/// another was sent. 500 `not_configured` if it could be guessed, or is a bridge's.
pub fn admit(request: &Request, env: &Env, secret_name: &'static str) -> Result<(), Problem> {
    let Some(secret) = variable(env, secret_name) else {
        let told = "this route is closed until its secret is set; the Worker's README says which one that is";
        return Err(Problem::new(403, "closed", told));
    };
    check(env, secret_name, &secret)?;
    let authorization = request.headers().get("authorization")?.unwrap_or_default();
    let sent =
        authorization.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let sent = sent.map_or("", |(_, sent)| sent.trim());
    if secret.as_bytes().ct_eq(sent.as_bytes()).into() {
        return Ok(());
    }
    let told = match sent {
        "" => "this route needs the header `Authorization: Bearer <credential>`",
        _ => "the credential in `Authorization` is not the one for this route",
    };
    Err(Problem::new(401, "unauthorized", told).header("www-authenticate", "Bearer"))
}

fn check(env: &Env, name: &str, secret: &str) -> Result<(), Problem> {
    if secret.chars().count() < SHORTEST_SECRET {
        return Err(Problem::not_configured(format!(
            "{name} has fewer than {SHORTEST_SECRET} characters, so it could be guessed: set what `openssl rand -hex 16` prints"
        )));
    }
    match OF_BRIDGES.iter().find(|other| variable(env, other).as_deref() == Some(secret)) {
        Some(other) => Err(Problem::not_configured(format!(
            "{name} and {other} are the same, so each would open what the other is for: set another one"
        ))),
        None => Ok(()),
    }
}

/// The body's bytes.
///
/// # Errors
/// 413 if there are too many, and then the rest is not read. 400 if the body broke off.
pub async fn read(request: &mut Request) -> Result<Vec<u8>, Problem> {
    let broken = |_| Problem::new(400, "broken_body", "the body broke off");
    let too_large =
        || Problem::new(413, "body_too_large", format!("a body may have {BODY_LIMIT} bytes"));
    match request.headers().get("content-length")?.and_then(|length| length.parse::<usize>().ok()) {
        Some(length) if length > BODY_LIMIT => return Err(too_large()),
        Some(_) => return request.bytes().await.map_err(broken),
        None if request.inner().body().is_none() => return Ok(Vec::new()),
        None => {}
    }
    let (mut parts, mut bytes) = (request.stream().map_err(broken)?, Vec::new());
    while let Some(part) = parts.next().await {
        bytes.extend(part.map_err(broken)?);
        if bytes.len() > BODY_LIMIT {
            return Err(too_large());
        }
    }
    Ok(bytes)
}

/// A part of the path, as text.
///
/// # Errors
/// 422 if it is not UTF-8.
pub fn decoded(field: &str, part: &str) -> Result<String, Problem> {
    let text = percent_decode_str(part).decode_utf8();
    let told = || format!("the {field} in the path is not UTF-8");
    text.map(String::from).map_err(|_| Problem::invalid(field, told()))
}

/// A part of the path that is an id.
///
/// # Errors
/// 422 if it is none.
pub fn id(field: &str, part: &str) -> Result<Id, Problem> {
    let told = || format!("a {field} is {}", Id::RULE);
    Id::parse(&decoded(field, part)?).ok_or_else(|| Problem::invalid(field, told()))
}

/// # Errors
/// Those of the host.
pub fn json(status: u16, body: &impl Serialize) -> Answer {
    // Our structs of numbers and text always serialize.
    let text = serde_json::to_string(body).unwrap_or_default();
    Ok(head(status, "application/json")?.fixed(text.into_bytes()))
}

/// What each answer has besides its body. Stock and locks change at any time, and a lock's token is
/// secret. No browser takes JSON for a page.
///
/// # Errors
/// Those of the host.
pub fn head(status: u16, content_type: &str) -> worker::Result<ResponseBuilder> {
    ResponseBuilder::new()
        .with_status(status)
        .with_header("content-type", content_type)?
        .with_header("cache-control", "no-store")?
        .with_header("x-content-type-options", "nosniff")
}

/// A refusal, as the host sends it.
///
/// # Errors
/// Those of the host.
pub fn told(problem: Problem) -> worker::Result<Response> {
    log(&problem);
    let mut head = head(problem.status, "application/problem+json")?;
    if let Some((name, value)) = &problem.header {
        head = head.with_header(name, value)?;
    }
    Ok(head.fixed(problem.body().to_string().into_bytes()))
}

/// Logs a failure that is ours.
pub fn log(problem: &Problem) {
    if let Some(line) = problem.log() {
        console_error!("{line}");
    }
}

impl From<worker::Error> for Problem {
    fn from(error: worker::Error) -> Self {
        Self::failed(error.to_string())
    }
}
