//! For Workers that use the crate `worker`: clients of its `Env` and `Context`, its `Fetcher` as a
//! way to a bridge, and errors as its handlers return them.

use std::fmt::Write;

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use worker::{Context, Env, Fetcher, ScheduleContext};

use super::{Client, Fetch, Host, promise};
use crate::bridge::Bridge;
use crate::drive;
use crate::error::{Error, Fault};

#[wasm_bindgen]
extern "C" {
    /// The host's own context, of which there may be several handles.
    #[derive(Clone)]
    type Waiting;
    #[wasm_bindgen(method, catch, js_name = waitUntil)]
    fn wait_until(this: &Waiting, promise: &Promise) -> Result<(), JsValue>;
}

/// The names under which hosts give a bridge. They are those of the npm package.
const NAMES: [[&str; 2]; 3] = [
    ["EDGELOCK_BRIDGE_URL", "EDGELOCK_BRIDGE_CREDENTIAL"],
    ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"],
    ["KV_REST_API_URL", "KV_REST_API_TOKEN"],
];

impl Client {
    /// A client of the bridge that the Worker's variables and secrets name, by the first of these
    /// pairs that is set: `EDGELOCK_BRIDGE_URL` and `EDGELOCK_BRIDGE_CREDENTIAL`,
    /// `UPSTASH_REDIS_REST_URL` and `UPSTASH_REDIS_REST_TOKEN`, `KV_REST_API_URL` and
    /// `KV_REST_API_TOKEN`. Clean-up goes on after the response, in `context`: a [`Context`], or a
    /// [`ScheduleContext`]. Sends nothing.
    ///
    /// Needs the feature `worker`.
    ///
    /// ```ignore
    /// #[event(fetch)]
    /// async fn fetch(_: Request, env: Env, context: Context) -> Result<Response> {
    ///     let client = Client::from_env(&env, &context)?;
    ///     let lease = client.lock("sku:42").acquire().await?;
    ///     // ...
    ///     lease.release().await?;
    ///     Response::ok("done")
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if no pair is set, or one of which half is missing: the next
    /// bridge would be another Redis. Also if the address is invalid.
    pub fn from_env(env: &Env, context: impl Into<Host>) -> Result<Self, Error> {
        let bridge = Bridge::from_env(env)?;
        Ok(Self::new(bridge, Fetch::default(), context.into()))
    }
}

impl Client {
    /// The same client for a request that has `signal`, as [`Host::signal`]:
    /// `Client::from_env(&env, &context)?.signal(&request.inner().signal())`.
    #[must_use]
    pub fn signal(self, signal: &JsValue) -> Self {
        self.on(|host| {
            drive::Host::new(host.transport.clone(), host.runtime.clone().signal(signal))
        })
    }

    /// The same client by way of a service binding: `.by(&env.service("BRIDGE")?)`. The path is
    /// that of the bridge's address. The binding gets the requests, whatever host the address has.
    #[must_use]
    pub fn by(self, fetcher: &Fetcher) -> Self {
        self.on(|host| drive::Host::new(fetcher.into(), host.runtime.clone()))
    }
}

impl Bridge {
    /// The bridge that the Worker's variables and secrets name, as
    /// [`Client::from_env`](Client::from_env) finds it. Needs the feature `worker`.
    ///
    /// # Errors
    /// As there.
    pub fn from_env(env: &Env) -> Result<Self, Error> {
        let get = |name: &str| Reflect::get(env, &name.into()).ok()?.as_string();
        for [url_name, credential_name] in NAMES {
            match (get(url_name), get(credential_name)) {
                (Some(url), Some(credential)) => return Self::upstash(&url, &credential),
                (Some(_), None) => return Err(half(url_name, credential_name)),
                (None, Some(_)) => return Err(half(credential_name, url_name)),
                (None, None) => {}
            }
        }
        let mut message = "the environment names no bridge: set ".to_owned();
        for (at, [url, credential]) in NAMES.iter().enumerate() {
            let between = ["", ", ", ", or "][at];
            // A text can be written to.
            let _ = write!(message, "{between}{url} and {credential}");
        }
        Err(Fault::invalid(message).into())
    }
}

fn half(set: &str, missing: &str) -> Error {
    let what = format!("the environment has {set}, and no {missing}: set both");
    Fault::invalid(what).into()
}

/// Background work goes on after the response. The context stays the handler's.
impl From<&Context> for Host {
    fn from(context: &Context) -> Self {
        let waiting: &JsValue = context.as_ref().as_ref();
        let waiting: Waiting = waiting.clone().unchecked_into();
        Self::default().wait_until(move |task| {
            // It refuses only in a request that is over, and that runs no tasks either.
            let _ = waiting.wait_until(&promise(task));
        })
    }
}

/// Background work goes on after the handler of the schedule.
impl From<&ScheduleContext> for Host {
    fn from(context: &ScheduleContext) -> Self {
        let context = context.clone();
        Self::default().wait_until(move |task| context.wait_until(task))
    }
}

/// A service binding as the way to a bridge ([`Client::by`]).
impl From<&Fetcher> for Fetch {
    fn from(fetcher: &Fetcher) -> Self {
        let fetch = Reflect::get(fetcher.as_ref(), &"fetch".into()).unwrap_or_default();
        let fetch: Function = fetch.unchecked_into();
        Self::with(fetch.bind0(fetcher.as_ref()))
    }
}

/// Lets a handler use `?`. The result has the error's message, but not what a program needs to tell
/// errors apart: match on [`Error`] before.
impl From<Error> for worker::Error {
    fn from(error: Error) -> Self {
        Self::RustError(error.to_string())
    }
}
