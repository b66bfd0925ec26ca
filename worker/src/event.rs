//! The host's request, clock, variables and response. The only room that knows JavaScript.

use std::cell::OnceCell;
use std::rc::Rc;

use edgelock::{Task, web};
use worker::js_sys::{Promise, Reflect, Uint8Array};
use worker::wasm_bindgen::prelude::*;
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{Request as HostRequest, Response as HostResponse};
use worker::{Context, Env, ScheduleContext, ScheduledEvent, console_error, console_log, event};

use crate::config::Config;
use crate::drawing::Draw;
use crate::http::{Head, Response};
use crate::observe::{self, Timing};
use crate::problem::Problem;
use crate::shop::{Isolate, Shop};

thread_local! {
    static ISOLATE: Isolate = Isolate::default();
    /// An isolate's variables do not change.
    static CONFIG: OnceCell<Config> = const { OnceCell::new() };
}

#[wasm_bindgen(wasm_bindgen = worker::wasm_bindgen, module = "/src/event.js")]
extern "C" {
    #[wasm_bindgen(js_name = body)]
    fn body_of(request: &HostRequest, limit: usize) -> Promise;
    #[wasm_bindgen(js_name = response)]
    fn host_response(status: u16, text: Option<&str>, headers: Vec<String>) -> HostResponse;
}

const BODY_LIMIT: usize = 16 * 1024;

#[event(fetch)]
async fn fetch(request: HostRequest, env: Env, context: Context) -> worker::Result<HostResponse> {
    let timing = Rc::default();
    let host = host(move |task| context.wait_until(task), &timing);
    let is_head = request.method() == "HEAD";
    let answer = answer(request, &env, host).await;
    let mut response = answer.unwrap_or_else(|problem| {
        log(&problem);
        problem.into()
    });
    let timing = timing.header().map(|value| ("server-timing", value));
    response.headers.extend(timing);
    let headers = response.headers.into_iter();
    let headers = headers.flat_map(|(name, value)| [name.to_owned(), value]);
    let body = Some(response.body.as_str()).filter(|_| !is_head);
    Ok(host_response(response.status, body, headers.collect()))
}

/// A lottery's noon, on all Workers at once.
#[event(scheduled)]
async fn scheduled(event: ScheduledEvent, env: Env, context: ScheduleContext) {
    let host = host(move |task| context.wait_until(task), &Rc::default());
    match draw(&event, &env, host).await {
        Ok(draw) => console_log!("{}", draw.log()),
        Err(problem) => log(&problem),
    }
}

/// Finishes work behind the answer, and tells what happens to locks.
fn host(wait_until: impl Fn(Task) + 'static, timing: &Rc<Timing>) -> web::Host {
    let timing = timing.clone();
    web::Host::default()
        .wait_until(wait_until)
        .on_event(move |event| {
            timing.hear(&event.kind);
            console_log!("{}", observe::line(event.name, &event.kind));
        })
}

fn log(problem: &Problem) {
    if let Some(line) = problem.log() {
        console_error!("{line}");
    }
}

async fn draw(event: &ScheduledEvent, env: &Env, host: web::Host) -> Result<Draw, Problem> {
    let random = web::Host::default();
    shop(env, host)?
        .draw(event.schedule() as i64, &random)
        .await
}

async fn answer(request: HostRequest, env: &Env, host: web::Host) -> Result<Response, Problem> {
    let shop = shop(env, host)?;
    let head = Head {
        method: request.method(),
        path: path(&request.url()),
        authorization: request.headers().get("authorization").ok().flatten(),
    };
    let admitted = shop.admit(&head)?;
    let body = match admitted.has_body() {
        true => read_body(&request).await?,
        false => Vec::new(),
    };
    shop.answer(admitted, &body).await
}

/// Of an address as hosts write it: with a path, and what follows that behind `?` or `#`.
fn path(url: &str) -> String {
    let behind_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = behind_scheme
        .find('/')
        .map_or("/", |at| &behind_scheme[at..]);
    path.split(['?', '#']).next().unwrap_or(path).to_owned()
}

fn shop(env: &Env, host: web::Host) -> Result<Shop<web::Fetch, web::Host>, Problem> {
    let variable = |name: &str| Reflect::get(env, &name.into()).ok()?.as_string();
    let config = CONFIG.with(|known| match known.get() {
        Some(config) => Ok(config.clone()),
        None => Config::from_variables(variable).map(|config| known.get_or_init(|| config).clone()),
    })?;
    let isolate = ISOLATE.with(Isolate::clone);
    Ok(Shop::new(config, isolate, web::Fetch::default(), host))
}

async fn read_body(request: &HostRequest) -> Result<Vec<u8>, Problem> {
    let body = JsFuture::from(body_of(request, BODY_LIMIT))
        .await
        .map_err(|_| Problem::new(400, "broken_body", "the body broke off"))?;
    if body.is_undefined() {
        return Err(Problem::new(
            413,
            "body_too_large",
            format!("a body may have {BODY_LIMIT} bytes"),
        ));
    }
    Ok(body.unchecked_into::<Uint8Array>().to_vec())
}
