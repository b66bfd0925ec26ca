//! `POST /orders/ID` ships an order, and not twice at once.
use std::env::var;
use std::time::Duration;

use edgelock::Error::{Held, TimedOut, Unavailable};
use edgelock::native::{self, Bridge, Client};
use lambda_http::{Error, Request, Response, run, service_fn};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let set = |name| var(name).unwrap_or_default();
    let bridge = Bridge::upstash(&set("EDGELOCK_BRIDGE_URL"), &set("EDGELOCK_BRIDGE_CREDENTIAL"))?;
    let client = native::client(bridge);
    run(service_fn(|request| handle(&client, request))).await
}

async fn handle(client: &Client, request: Request) -> Result<Response<String>, Error> {
    let id = request.uri().path().trim_start_matches("/orders/");
    let lock = client.lock(&format!("order:{id}")).wait_timeout(Duration::from_secs(1));
    // Your own work goes in here. It is stopped if the lock is lost.
    let shipped = lock.run(async |_lease| Ok(format!("shipped {id}"))).await;
    shipped.map(Response::new).or_else(refusal)
}

/// Nothing was done if the lock was not to be had, so the client may come again.
fn refusal(error: Error) -> Result<Response<String>, Error> {
    let (status, reason) = match error.downcast_ref() {
        Some(Held { .. }) => (409, "another request is at it"),
        Some(Unavailable { .. } | TimedOut { .. }) => (503, "orders cannot be locked now"),
        // A lost lease, wrong settings, or an error of your own work: these are for the log.
        _ => return Err(error),
    };
    Ok(Response::builder().status(status).header("retry-after", 5).body(reason.to_owned())?)
}
