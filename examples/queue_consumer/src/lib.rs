//! Each order is confirmed by one mail, however often the queue delivers its message, and to how
//! many consumers at once. `POST /ORDER` puts an order into the queue.
use std::time::Duration;

use edgelock::web::Client;
use edgelock::{Error, OnceOutcome};
use serde::{Deserialize, Serialize};
use worker::{
    Context, Env, MessageBatch, MessageExt, QueueRetryOptionsBuilder, Request, Response, Result,
    console_log, event,
};

#[derive(Deserialize, Serialize)]
struct Order {
    id: String,
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, _: Context) -> Result<Response> {
    let id = request.path().trim_matches('/').to_owned();
    env.queue("ORDERS")?.send(Order { id }).await?;
    Response::ok("we send you a mail\n")
}

#[event(queue)]
async fn queue(batch: MessageBatch<Order>, env: Env, context: Context) -> Result<()> {
    let client = Client::from_env(&env, &context)?;
    for message in batch.messages()? {
        let id = &message.body().id;
        // Kept for longer than the queue keeps a message.
        let once =
            client.once(&format!("confirmation:{id}")).keep(Duration::from_secs(7 * 24 * 3600));
        match once.wait_timeout(Duration::from_secs(8)).run(async |_lease| send_mail(id)).await {
            Ok(OnceOutcome::Replayed(mail)) => console_log!("order {id}: {mail}, as before"),
            Ok(sent) => console_log!("order {id}: {}", sent.into_value()),
            Err(error) => {
                // Another is at it yet, or it failed: nothing is kept, so it is tried again.
                let later =
                    error.retry_after().unwrap_or(Duration::from_secs(10)).as_secs_f64().ceil();
                let options = QueueRetryOptionsBuilder::new().with_delay_seconds(later as u32);
                message.retry_with_options(&options.build());
                continue;
            }
        }
        message.ack();
    }
    Ok(())
}

/// Stands for your own code.
fn send_mail(id: &str) -> std::result::Result<String, Error> {
    Ok(format!("mail for {id}"))
}
