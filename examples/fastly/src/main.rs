//! `POST /orders/ID` ships an order, and not twice at once.
mod host;

use std::error::Error;
use std::time::Duration;

use edgelock::{Client, Error::Held};
use fastly::{Request, Response};
use host::{Backend, Compute};

fn main() {
    let compute = Compute::new();
    let answer = compute.run(handle(&compute, &Request::from_client()));
    answer.unwrap_or_else(refusal).send_to_client();
    // What gives back a dropped call goes on behind the response.
    compute.finish();
}

async fn handle(compute: &Compute, request: &Request) -> Result<Response, Box<dyn Error>> {
    let client = Client::new(host::bridge()?, Backend("bridge"), compute.clone());
    let id = request.get_path().trim_start_matches("/orders/");
    let lock = client.lock(&format!("order:{id}")).wait_timeout(Duration::from_secs(3));
    // Your own work goes in here. It is stopped if the lock is lost.
    lock.run(async |_lease| Ok(Response::from_body(format!("shipped {id}")))).await
}

fn refusal(error: Box<dyn Error>) -> Response {
    if let Some(Held { .. }) = error.downcast_ref() {
        return Response::from_status(409).with_body("another request is at it");
    }
    eprintln!("{error}");
    Response::from_status(503).with_body("orders cannot be locked now")
}
