//! `POST /orders/ID` ships an order, and not twice at once.
mod host;

use std::time::Duration;

use edgelock::{Bridge, Client, Error};
use spin_sdk::http::{IntoResponse, Request, StatusCode};
use spin_sdk::{http_service, variables};

#[http_service]
async fn handle(request: Request) -> impl IntoResponse {
    let id = request.uri().path().trim_start_matches("/orders/");
    match ship_once(id).await {
        Ok(shipped) => (StatusCode::OK, shipped),
        Err(Error::Held { .. }) => (StatusCode::CONFLICT, "another request is at it".to_owned()),
        Err(error) => {
            eprintln!("{error}");
            (StatusCode::SERVICE_UNAVAILABLE, "orders cannot be locked now".to_owned())
        }
    }
}

async fn ship_once(id: &str) -> Result<String, Error> {
    let url = variables::get("bridge_url").await.unwrap_or_default();
    let credential = variables::get("bridge_credential").await.unwrap_or_default();
    let client = Client::new(Bridge::upstash(&url, &credential)?, host::Http, host::Spin::new());
    let lock = client.lock(&format!("order:{id}")).wait_timeout(Duration::from_secs(3));
    // Your own work goes in here. It is stopped if the lock is lost.
    lock.run(async |_lease| Ok(format!("shipped {id}"))).await
}
