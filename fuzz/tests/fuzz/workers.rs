//! Whatever a caller sends to the Workers, and whatever Redis answers them, is decided or refused,
//! and no refusal has a secret.

use edgelock::{Bridge, Client, Command, Decision, Reply};
use edgelock_fuzz::{INPUTS, Mutants, Text, check};
use shared::body::{Id, parse};
use shared::problem::Problem;
use shared::section::section;

use crate::day::Day;
use crate::host::{CREDENTIAL, Host, TOKEN};
use crate::input::{Cart, Order, Terms};
use crate::ledger::{Ledger, SoldOutNow};
use crate::placement::{OrderNow, SaleNow, place};
use crate::tickets::{LotteryNow, Tickets, let_in, names};

const REQUESTS: &str = include_str!("../../corpus/worker_requests.txt");
const REPLIES: &str = include_str!("../../corpus/worker_replies.txt");

/// Does what the Workers do with such a path and body.
async fn answer(client: &Client<Host, Host>, request: &Text) -> Result<(), Problem> {
    let request = request.lossy();
    let mut parts = request.splitn(3, ' ').skip(1);
    let (path, body) = (parts.next().unwrap_or_default(), parts.next());
    let body = body.unwrap_or_default().as_bytes();
    let name = path.split('/').nth(2).unwrap_or_default();
    if let Some(day) = Day::parse(name) {
        return take_part(client, &Tickets::of(day), body).await;
    }
    let sku = Id::parse(name).ok_or_else(|| Problem::invalid("sku", Id::RULE))?;
    let ledger = Ledger::of(&sku);
    let found = client.read(&ledger.read_sold_out()).await;
    let _ = SoldOutNow::parse(&found.map_err(Problem::of)?);
    let (terms, cart) = (parse::<Terms>(body), parse::<Cart>(body));
    let order = parse::<Order>(body);
    if terms.is_ok() {
        let decide = |replies: &[Reply]| SaleNow::parse(replies).map(|_| ledger.expire(1));
        return decided(client, &ledger.lock_name(), &ledger.read_sale(), decide).await;
    }
    if let Ok(cart) = cart {
        assert!((1..=32).contains(&cart.items.len()));
    }
    let order = order?;
    let decide =
        |replies: &[Reply]| place(&order, None, &OrderNow::parse(replies, 7)?).map(|_| vec![]);
    decided(client, &ledger.lock_name(), &ledger.read_order(&order), decide).await
}

async fn take_part(
    client: &Client<Host, Host>,
    tickets: &Tickets,
    body: &[u8],
) -> Result<(), Problem> {
    let entrant = parse::<serde_json::Value>(body)?;
    let entrant = Id::parse(entrant["entrant"].as_str().unwrap_or_default());
    let entrant = entrant.ok_or_else(|| Problem::invalid("entrant", Id::RULE))?;
    let reads = tickets.read_with(&entrant);
    let decide = |replies: &[Reply]| {
        let (now, before) = LotteryNow::parse_with(replies)?;
        let _ = (let_in(replies), names(replies), before);
        Ok(tickets.enter(&entrant, now.entrants, now.now_ms))
    };
    decided(client, &tickets.entrance_lock_name(&entrant), &reads, decide).await
}

async fn decided(
    client: &Client<Host, Host>,
    lock: &str,
    reads: &[Command],
    decide: impl FnOnce(&[Reply]) -> Result<Vec<Command>, Problem>,
) -> Result<(), Problem> {
    let decide = |replies: &[Reply], _| Ok(Decision::Write(decide(replies)?, ()));
    section(&client.lock(lock), reads, decide).await.map(drop)
}

#[test]
fn every_request_to_the_workers_is_decided_or_refused_without_a_secret() {
    check!()
        .with_iterations(INPUTS)
        .with_generator((Mutants::of(REQUESTS).up_to(2), Mutants::of(REPLIES).up_to(4)))
        .for_each(|(requests, replies)| {
            let host = Host::answering(replies, 100);
            let bridge = Bridge::upstash("https://a.example", CREDENTIAL).expect("a bridge");
            let client = Client::new(bridge, host.clone(), host.clone());
            for request in requests {
                let Err(problem) = host.run(answer(&client, request)) else {
                    continue;
                };
                assert!((400..600).contains(&problem.status));
                let body = problem.body().to_string();
                for told in [&body, &problem.log().unwrap_or_default()] {
                    assert!(!told.contains(CREDENTIAL), "{told}");
                }
                assert!(!body.contains(TOKEN), "{body}");
            }
        });
}
