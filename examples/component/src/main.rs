//! `GET /NAME` gives a customer one of 100 coupons, and the same one each time.
use std::env::var;
use std::time::Duration;

use edgelock::{Bridge, Command, Error, wasi};
use wstd::http::{Body, Request, Response};

#[wstd::http_server]
async fn main(request: Request<Body>) -> Result<Response<Body>, wstd::http::Error> {
    let (status, text) = match coupon(request.uri().path()).await {
        Ok(Some(number)) => (200, format!("coupon {number}\n")),
        Ok(None) => (200, "none left\n".to_owned()),
        Err(Error::Held { .. }) => (503, "too many at once, come again\n".to_owned()),
        Err(error) => return Err(error.into()),
    };
    Ok(Response::builder().status(status).body(text.into())?)
}

async fn coupon(name: &str) -> Result<Option<i64>, Error> {
    let set = |name| var(name).unwrap_or_default();
    let bridge = Bridge::upstash(&set("EDGELOCK_BRIDGE_URL"), &set("EDGELOCK_BRIDGE_CREDENTIAL"))?;
    // For jco; leave `push` out on other hosts (docs/wasm.md).
    let client = wasi::client(bridge.push(false));
    let lock = client.lock("coupons").wait_timeout(Duration::from_secs(20));
    let given = Command::new("HGET").key("{coupons}:given").arg(name);
    let read = [Command::new("HLEN").key("{coupons}:given"), given];
    let (lease, read) = lock.acquire_and_read(&read).await?;
    let number = read[0].as_i64().unwrap_or(0) + 1;
    if read[1].as_i64().is_some() || number > 100 {
        lease.release().await?;
        return Ok(read[1].as_i64());
    }
    let give = Command::new("HSET").key("{coupons}:given").arg(name).arg(number);
    lease.commit(&[give]).await?;
    Ok(Some(number))
}
