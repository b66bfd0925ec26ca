//! Locks as a service, for programs in any language: take, renew, release and show a lock by HTTP.

mod delivery;

use std::time::Duration;

use edgelock::web::{Lease, Lock};
use edgelock::{Error, Token};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use shared::body::{Whole, parse};
use shared::call::{self, Answer, Call, decoded, told, wrong_method};
use shared::gate::{Gate, Most};
use shared::problem::{Problem, millis};
use worker::{Context, Env, Method, Request, Response, Result, event};

/// The prefix of each name, so that no caller reaches any other key.
const PREFIX: &str = "lock:";

thread_local! {
    /// Callers that take a lock, by its name. They wait in Redis.
    static TAKERS: Gate = Gate::new(Most { of_a_name: 16, in_all: 128 }, Most { of_a_name: 0, in_all: 0 });
    /// Callers that have a lock, or look at one. A crowd that takes locks keeps none of them out.
    static OTHERS: Gate = Gate::new(Most { of_a_name: 64, in_all: 128 }, Most { of_a_name: 64, in_all: 128 });
}

/// How long a request waits for what others do.
const PATIENCE: Duration = Duration::from_secs(1);

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let (method, path) = (request.method(), request.path());
    let call = match Call::new(&request, &env, context) {
        Ok(call) => call,
        Err(problem) => return told(problem),
    };
    let answer = answer(request, &env, call.clone(), &path).await;
    call.finish(answer, &method)
}

async fn answer(request: Request, env: &Env, call: Call, path: &str) -> Answer {
    use Method::{Get, Head, Post};
    let path: Vec<&str> = path.split('/').skip(1).collect();
    let admitted = |name| admit(&request, env, name);
    match (request.method(), &*path) {
        (Get | Head, ["locks", name]) => inspect(call, admitted(name)?).await,
        (Post, ["locks", name, "acquire"]) => acquire(admitted(name)?, request, call).await,
        (Post, ["locks", name, "renew"]) => renew(admitted(name)?, request, call).await,
        (Post, ["locks", name, "release"]) => release(admitted(name)?, request, call).await,
        (_, ["locks", _]) => Err(wrong_method("GET, HEAD")),
        (_, ["locks", _, "acquire" | "renew" | "release"]) => Err(wrong_method("POST")),
        _ => {
            let told = "there is /locks/{name} and /locks/{name}/acquire, renew, release";
            Err(Problem::new(404, "no_such_route", told))
        }
    }
}

/// Takes a lock: for how long, and how long to wait for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Acquire {
    #[serde(default = "default_ttl")]
    ttl_ms: Ttl,
    #[serde(default = "no_wait")]
    wait_ms: Whole<0, 30_000>,
}

/// Renews a lock, for this ttl, or for the one with which it was taken.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Renew {
    #[serde(deserialize_with = "token")]
    token: Token,
    ttl_ms: Option<Ttl>,
}

/// Releases a lock.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    #[serde(deserialize_with = "token")]
    token: Token,
}

/// From the shortest ttl of a lock to 24 h, the longest that this service grants.
type Ttl = Whole<4, 86_400_000>;

fn default_ttl() -> Ttl {
    Whole(10_000)
}

fn no_wait() -> Whole<0, 30_000> {
    Whole(0)
}

/// Tokens are secrets, so a wrong one is not quoted.
fn token<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Token, D::Error> {
    let text = serde_json::Value::deserialize(deserializer)?;
    let token = text.as_str().map(Token::parse).and_then(std::result::Result::ok);
    token.ok_or_else(|| serde::de::Error::custom("expected the token that acquire gave"))
}

async fn acquire(name: String, mut request: Request, call: Call) -> Answer {
    let body = call::read(&mut request).await?;
    let Acquire { ttl_ms, wait_ms } = parse(if body.is_empty() { b"{}" } else { &body })?;
    let call = call.ends_with_its_caller();
    call.pass(&TAKERS.with(Gate::clone), vec![name.clone()], Duration::ZERO).await?;
    let lock = lock(&call, &name).ttl(duration(ttl_ms.0)).wait_timeout(duration(wait_ms.0));
    let lease = lock.acquire().await.map_err(|error| match error {
        Error::Held { remaining, .. } => held(remaining),
        // The lock may be taken until its ttl is over, if it could not be given up either.
        error => Problem::of_write(error),
    })?;
    let acquired = json!({
        "name": name, "token": lease.token().expose(),
        "fence": lease.fence(), "remaining_ms": millis(lease.remaining()),
    });
    delivery::hand_over(call, lease, acquired.to_string())
}

async fn renew(name: String, mut request: Request, call: Call) -> Answer {
    let Renew { token, ttl_ms } = parse(&call::read(&mut request).await?)?;
    wait_in_line(&call, &name).await?;
    let lock = lock(&call, &name);
    let lock = match ttl_ms {
        Some(ttl) => lock.ttl(duration(ttl.0)),
        None => lock,
    };
    let lease = lock.resume(token).map_err(Problem::of)?;
    let renewed = lease.renew().await;
    let told = json!({"fence": lease.fence(), "remaining_ms": millis(lease.remaining())});
    // The caller keeps the lock, whatever the outcome of this renewal.
    lease.into_token();
    renewed.map_err(lost)?;
    call::json(200, &told)
}

async fn release(name: String, mut request: Request, call: Call) -> Answer {
    let Release { token } = parse(&call::read(&mut request).await?)?;
    wait_in_line(&call, &name).await?;
    let lease: Lease = lock(&call, &name).resume(token).map_err(Problem::of)?;
    lease.release().await.map_err(lost)?;
    call::json(200, &json!({"released": true}))
}

async fn inspect(call: Call, name: String) -> Answer {
    let call = call.ends_with_its_caller();
    wait_in_line(&call, &name).await?;
    let found = lock(&call, &name).inspect().await.map_err(Problem::of)?;
    let remaining = found.holder.as_ref().and_then(|holder| holder.remaining);
    let told = json!({
        "name": name, "held": found.holder.is_some(),
        "remaining_ms": remaining.map(millis), "fence": found.fence,
    });
    call::json(200, &told)
}

/// The lock's name, if the caller may use locks.
fn admit(request: &Request, env: &Env, name: &str) -> std::result::Result<String, Problem> {
    let name = decoded("name", name)?;
    call::admit(request, env, "LOCKS_CREDENTIAL")?;
    Ok(name)
}

async fn wait_in_line(call: &Call, name: &str) -> std::result::Result<(), Problem> {
    call.pass(&OTHERS.with(Gate::clone), vec![name.to_owned()], PATIENCE).await.map(drop)
}

fn lock(call: &Call, name: &str) -> Lock {
    call.replicated(call.client.clone().prefix(PREFIX).lock(name))
}

const fn duration(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn held(remaining: Option<Duration>) -> Problem {
    let told = "another holder has the lock; send the request again, or wait by wait_ms";
    let held = Problem::new(409, "lock_held", told).with("remaining_ms", remaining.map(millis));
    held.retry_after(remaining.unwrap_or_default())
}

fn lost(error: Error) -> Problem {
    match error {
        Error::Lost { .. } | Error::Expired { .. } => Problem::new(
            409,
            "lock_lost",
            "this token does not have the lock: its lease was released or ran out, or the token is another lock's",
        ),
        error => Problem::of_write(error),
    }
}
