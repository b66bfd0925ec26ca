//! The host's request, clock, variables and answer, in the form that `entry.js` uses. The only file
//! that knows JavaScript.

use std::cell::OnceCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use edgelock::web;
use js_sys::{Promise, Reflect};
use wasm_bindgen::prelude::*;

use crate::config::Config;
use crate::drawing::Draw;
use crate::http::{Head, Response};
use crate::observe::{self, Timing};
use crate::problem::Problem;
use crate::shop::{Isolate, Shop};

type HostedShop = Shop<web::Fetch, web::Host>;

thread_local! {
    static ISOLATE: Isolate = Isolate::default();
    /// An isolate's variables do not change.
    static CONFIG: OnceCell<Config> = const { OnceCell::new() };
}

#[wasm_bindgen(module = "/src/host.js")]
extern "C" {
    fn parts(status: u16, text: Option<&str>, content_type: &str, headers: Vec<String>) -> JsValue;
    fn gone(request: &JsValue) -> Promise;
}

#[wasm_bindgen]
extern "C" {
    /// The host's context of one request.
    pub type Context;
    #[wasm_bindgen(method, js_name = waitUntil)]
    fn wait_until(this: &Context, promise: &Promise);

    #[wasm_bindgen(js_namespace = console, js_name = log)]
    fn console_log(line: &str);
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(line: &str);
}

/// Whether to read the request's body. It is not read if the caller may not do what it asks for.
#[wasm_bindgen]
pub fn wants_body(method: String, url: &str, authorization: Option<String>, env: &JsValue) -> bool {
    let head = head(method, url, authorization);
    let shop = shop(env, web::Host::default());
    shop.and_then(|shop| shop.admit(&head))
        .is_ok_and(|admitted| admitted.has_body())
}

/// The answer to a request, as `parts`, or a promise of it.
#[wasm_bindgen]
pub fn answer(
    method: String,
    url: &str,
    authorization: Option<String>,
    body: Option<Vec<u8>>,
    env: &JsValue,
    context: Context,
    request: JsValue,
) -> JsValue {
    let timing = Rc::default();
    let shop = shop(env, host(context, &timing));
    let head = head(method, url, authorization);
    web::begin(async move {
        let is_head = head.method == "HEAD";
        let answer = answered(shop, &head, &body.unwrap_or_default(), &request).await;
        told(answer, timing.header(), is_head)
    })
}

/// The answer to a request whose body was wanted, and is longer than `limit`, or broke off if there
/// is no limit.
#[wasm_bindgen]
pub fn without_body(limit: Option<u32>) -> JsValue {
    let problem = match limit {
        Some(limit) => {
            let told = format!("a body may have {limit} bytes");
            Problem::new(413, "body_too_large", told)
        }
        None => Problem::new(400, "broken_body", "the body broke off"),
    };
    told(Err(problem), None, false)
}

/// Noon of a lottery, called on all Workers at once.
#[wasm_bindgen]
pub fn draw(scheduled_ms: f64, env: &JsValue, context: Context) -> JsValue {
    let shop = shop(env, host(context, &Rc::default()));
    web::begin(async move {
        match drawn(shop, scheduled_ms as i64).await {
            Ok(draw) => console_log(&draw.log()),
            Err(problem) => log(&problem),
        }
        JsValue::UNDEFINED
    })
}

async fn answered(
    shop: Result<HostedShop, Problem>,
    head: &Head,
    body: &[u8],
    request: &JsValue,
) -> Result<Response, Problem> {
    let shop = shop?;
    let admitted = shop.admit(head)?;
    if !admitted.ends_with_its_caller() {
        return shop.answer(admitted, body).await;
    }
    unless_gone(shop.answer(admitted, body), request).await
}

/// Awaits `answer`, and drops it if the caller hangs up. The host is asked for that only if there
/// is something to wait for: an answer that is known at once must cost no more.
async fn unless_gone(
    answer: impl Future<Output = Result<Response, Problem>>,
    request: &JsValue,
) -> Result<Response, Problem> {
    let mut answer = pin!(answer);
    let mut hung_up = None;
    poll_fn(|cx| {
        if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
            return Poll::Ready(answer);
        }
        let hung_up = hung_up.get_or_insert_with(|| web::settled(&gone(request)));
        Pin::new(hung_up).poll(cx).map(|()| Err(Problem::hung_up()))
    })
    .await
}

async fn drawn(shop: Result<HostedShop, Problem>, scheduled_ms: i64) -> Result<Draw, Problem> {
    let random = web::Host::default();
    shop?.draw(scheduled_ms, &random).await
}

fn head(method: String, url: &str, authorization: Option<String>) -> Head {
    Head {
        method,
        path: path(url).to_owned(),
        authorization,
    }
}

/// The path of an address in the host's form, without what follows `?` or `#`.
fn path(url: &str) -> &str {
    let behind_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = behind_scheme
        .find('/')
        .map_or("/", |at| &behind_scheme[at..]);
    path.split(['?', '#']).next().unwrap_or(path)
}

fn told(answer: Result<Response, Problem>, timing: Option<String>, is_head: bool) -> JsValue {
    let response = answer.unwrap_or_else(|problem| {
        log(&problem);
        problem.into()
    });
    let timing = timing.map(|value| ("server-timing", value));
    let headers = response.headers.into_iter().chain(timing);
    let headers = headers.flat_map(|(name, value)| [name.to_owned(), value]);
    let text = Some(response.body.as_str()).filter(|_| !is_head);
    let content_type = response.content_type;
    parts(response.status, text, content_type, headers.collect())
}

fn shop(env: &JsValue, host: web::Host) -> Result<HostedShop, Problem> {
    let variable = |name: &str| Reflect::get(env, &name.into()).ok()?.as_string();
    let config = CONFIG.with(|known| match known.get() {
        Some(config) => Ok(config.clone()),
        None => Config::from_variables(variable).map(|config| known.get_or_init(|| config).clone()),
    })?;
    let isolate = ISOLATE.with(Isolate::clone);
    Ok(Shop::new(config, isolate, web::Fetch::default(), host))
}

/// Finishes work after the answer, and records what happens to locks.
fn host(context: Context, timing: &Rc<Timing>) -> web::Host {
    let timing = timing.clone();
    web::Host::default()
        .wait_until(move |task| context.wait_until(&web::promise(task)))
        .on_event(move |event| {
            timing.hear(&event.kind);
            console_log(&observe::line(event.lock, &event.kind));
        })
}

fn log(problem: &Problem) {
    if let Some(line) = problem.log() {
        console_error(&line);
    }
}
