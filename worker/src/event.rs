//! The host's request, clock, variables and response. The only room that knows JavaScript.

use std::rc::Rc;

use edgelock::{Task, web};
use worker::js_sys::{Reflect, Uint8Array};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{
    Headers, ReadableStream, ReadableStreamDefaultReader, Response as HostResponse, ResponseInit,
};
use worker::{Context, Env, ScheduleContext, ScheduledEvent, console_error, console_log, event};

use crate::config::Config;
use crate::drawing::Draw;
use crate::http::{Request, Response};
use crate::observe::{self, Timing};
use crate::problem::Problem;
use crate::shop::{Isolate, Shop};

thread_local! {
    static ISOLATE: Isolate = Isolate::default();
}

const BODY_LIMIT: usize = 16 * 1024;

#[event(fetch)]
async fn fetch(
    request: worker::Request,
    env: Env,
    context: Context,
) -> worker::Result<HostResponse> {
    let timing = Rc::default();
    let host = host(move |task| context.wait_until(task), &timing);
    let answer = answer(request, &env, host).await;
    let mut response = answer.unwrap_or_else(|problem| {
        log(&problem);
        problem.into()
    });
    let timing = timing.header().map(|value| ("server-timing", value));
    response.headers.extend(timing);
    Ok(host_response(response)?)
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

async fn answer(request: worker::Request, env: &Env, host: web::Host) -> Result<Response, Problem> {
    let shop = shop(env, host)?;
    let body = match request.inner().body() {
        Some(stream) => read_body(stream).await?,
        None => Vec::new(),
    };
    let request = Request {
        // As it was sent: `worker::Method` takes a method that it does not know for GET.
        method: request.inner().method(),
        path: request.path(),
        authorization: request.headers().get("authorization").ok().flatten(),
        body,
    };
    shop.answer(&request).await
}

fn shop(env: &Env, host: web::Host) -> Result<Shop<web::Fetch, web::Host>, Problem> {
    let variable = |name: &str| Reflect::get(env, &name.into()).ok()?.as_string();
    let config = Config::from_variables(variable)?;
    let isolate = ISOLATE.with(Isolate::clone);
    Ok(Shop::new(config, isolate, web::Fetch::default(), host))
}

/// The body, which is not read on once it is too long.
async fn read_body(stream: ReadableStream) -> Result<Vec<u8>, Problem> {
    let reader: ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    let mut body = Vec::new();
    while let Some(chunk) = read_chunk(&reader)
        .await
        .map_err(|_| Problem::new(400, "broken_body", "the body broke off"))?
    {
        if body.len() + chunk.length() as usize > BODY_LIMIT {
            return Err(Problem::new(
                413,
                "body_too_large",
                format!("a body may have {BODY_LIMIT} bytes"),
            ));
        }
        body.extend(chunk.to_vec());
    }
    Ok(body)
}

async fn read_chunk(reader: &ReadableStreamDefaultReader) -> Result<Option<Uint8Array>, JsValue> {
    let read = JsFuture::from(reader.read()).await?;
    let done = Reflect::get(&read, &"done".into())?.is_truthy();
    let chunk = Reflect::get(&read, &"value".into())?;
    Ok((!done).then(|| chunk.unchecked_into()))
}

/// Not through `worker::Response`, which brings streams and WebSockets along.
fn host_response(response: Response) -> Result<HostResponse, JsValue> {
    let headers = Headers::new()?;
    for (name, value) in &response.headers {
        headers.set(name, value)?;
    }
    let init = ResponseInit::new();
    init.set_status(response.status);
    init.set_headers(&headers);
    HostResponse::new_with_opt_str_and_init(Some(&response.body), &init)
}
