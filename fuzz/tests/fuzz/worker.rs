//! Whatever a caller sends to the Worker, and whatever Redis answers it, each request gets an
//! answer that says what it is, without a secret.

use edgelock_fuzz::{INPUTS, Mutants, Text, check};
use edgelock_worker::{Config, Head, Isolate, Problem, Response, Shop};

use crate::host::{CREDENTIAL, Host, TOKEN};

const REQUESTS: &str = include_str!("../../corpus/worker_requests.txt");
const REPLIES: &str = include_str!("../../corpus/worker_replies.txt");

/// The credential of those who open sales and take locks.
const ADMIN: &str = "Rapunzel-let-down-91b2";

fn shop(host: &Host) -> Shop<Host, Host> {
    let variable = |name: &str| match name {
        "BRIDGE_URL" => Some("https://a.example".to_owned()),
        "BRIDGE_CREDENTIAL" => Some(CREDENTIAL.to_owned()),
        "ADMIN_CREDENTIAL" | "LOCKS_CREDENTIAL" => Some(ADMIN.to_owned()),
        _ => None,
    };
    let config = Config::from_variables(variable).expect("a configuration");
    Shop::new(config, Isolate::default(), host.clone(), host.clone())
}

async fn answer(shop: &Shop<Host, Host>, request: &Text, access: u8) -> Result<Response, Problem> {
    let request = request.lossy();
    let mut parts = request.splitn(3, ' ').map(str::to_owned);
    let mut part = || parts.next().unwrap_or_default();
    let (method, path, body) = (part(), part(), part());
    let authorization = match access {
        0 => None,
        1 => Some(format!("Basic {ADMIN}")),
        _ => Some(format!("Bearer {ADMIN}")),
    };
    let head = Head {
        method,
        path,
        authorization,
    };
    let admitted = shop.admit(&head)?;
    shop.answer(admitted, body.as_bytes()).await
}

#[test]
fn every_request_to_the_worker_gets_an_answer_without_a_secret() {
    check!()
        .with_iterations(INPUTS)
        .with_generator((
            Mutants::of(REQUESTS).up_to(2),
            Mutants::of(REPLIES).up_to(4),
            0..5_u8,
        ))
        .for_each(|(requests, replies, access)| {
            let host = Host::answering(replies, 100);
            let shop = shop(&host);
            for request in requests {
                let answered = host.run(answer(&shop, request, *access));
                let log = answered.as_ref().err().and_then(Problem::log);
                let response = answered.unwrap_or_else(Response::from);
                let headers = format!("{:?}", response.headers);
                for told in [&response.body, &headers, &log.unwrap_or_default()] {
                    assert!(
                        !told.contains(CREDENTIAL) && !told.contains(ADMIN),
                        "{told}"
                    );
                }
                // Only the caller that takes a lock gets its token.
                let took = response.status == 201 || request.lossy().contains(TOKEN);
                assert!(took || !response.body.contains(TOKEN), "{}", response.body);
                assert!((200..600).contains(&response.status));
                assert!(!response.body.is_empty());
            }
        });
}
