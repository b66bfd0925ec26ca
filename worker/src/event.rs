//! The host's request, variables and response. The only room that knows JavaScript.

use edgelock::web;
use worker::js_sys::{Reflect, Uint8Array};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{
    Headers, ReadableStream, ReadableStreamDefaultReader, Response as HostResponse, ResponseInit,
};
use worker::{Context, Env, console_error, event};

use crate::config::Config;
use crate::http::{Request, Response};
use crate::problem::Problem;
use crate::shop::Shop;

const BODY_LIMIT: usize = 16 * 1024;

#[event(fetch)]
async fn fetch(
    request: worker::Request,
    env: Env,
    context: Context,
) -> worker::Result<HostResponse> {
    let answer = answer(request, &env, context).await;
    let response = answer.unwrap_or_else(|problem| {
        if let Some(line) = problem.log() {
            console_error!("{line}");
        }
        problem.into()
    });
    Ok(host_response(response)?)
}

async fn answer(
    request: worker::Request,
    env: &Env,
    context: Context,
) -> Result<Response, Problem> {
    let variable = |name: &str| Reflect::get(env, &name.into()).ok()?.as_string();
    let config = Config::from_variables(variable)?;
    let host = web::Host::default().wait_until(move |task| context.wait_until(task));
    let shop = Shop::new(config, web::Fetch::default(), host);
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
