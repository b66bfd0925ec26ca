//! A Worker's first lock.
#![cfg(target_family = "wasm")]

use std::time::Duration;

use edgelock::web::{Bridge, Client, Fetch, Host};
use edgelock::{Command, Error, Reply};
use worker::{Context, Env, Request, Response, Result, event};

#[event(fetch)]
async fn fetch(_request: Request, env: Env, context: Context) -> Result<Response> {
    let url = env.var("EDGELOCK_BRIDGE_URL")?.to_string();
    let credential = env.secret("EDGELOCK_BRIDGE_CREDENTIAL")?.to_string();
    match sell_one(&url, &credential, context).await {
        Ok(message) => Response::ok(message),
        Err(Error::Held { .. }) => Response::error("too many at once, come again", 503),
        Err(error) => Response::error(error.to_string(), 500),
    }
}

async fn sell_one(
    url: &str,
    credential: &str,
    context: Context,
) -> std::result::Result<String, Error> {
    // Clean-up goes on after the response.
    let host = Host::default().wait_until(move |task| context.wait_until(task));
    let client = Client::new(Bridge::upstash(url, credential)?, Fetch::default(), host);
    let lock = client
        .lock("sku:42")
        .ttl(Duration::from_secs(10))
        .wait_timeout(Duration::from_secs(3));

    // One request takes the lock and reads, and one writes and releases.
    // If the lease is lost in between, the write does not happen.
    let (lease, replies) = lock
        .acquire_and_read(&[Command::new("GET").key("{sku:42}:stock")])
        .await?;
    let stock = replies.first().and_then(Reply::as_i64).unwrap_or(5);
    if stock == 0 {
        lease.release().await?;
        return Ok("sold out\n".to_owned());
    }
    lease
        .commit(&[Command::new("SET").key("{sku:42}:stock").arg(stock - 1)])
        .await?;
    Ok(format!(
        "sold one, {} left, fence {}\n",
        stock - 1,
        lease.fence()
    ))
}
