//! What the Workers promise: the real `workerd`, bridge and Redis.
#![cfg(not(target_family = "wasm"))]

mod access;
mod attack;
mod cart;
mod hostile;
mod locks;
mod lottery;
mod observe;
mod orders;
mod page;
mod purchase;
mod reservations;
mod rules;
mod sales;
mod support;
mod trouble;

// The Workers' own files that know no host, in the Workers' own format.
#[allow(dead_code, unreachable_pub)]
#[path = "../../lottery/src/day.rs"]
mod day;
#[allow(dead_code, unreachable_pub)]
#[path = "../../lottery/src/draw.rs"]
mod draw;
#[allow(dead_code, unreachable_pub)]
#[path = "../../worker/src/input.rs"]
mod input;
#[allow(dead_code, unreachable_pub)]
#[path = "../../worker/src/ledger.rs"]
mod ledger;
#[allow(dead_code, unreachable_pub)]
#[path = "../../lottery/src/rules.rs"]
mod lottery_rules;
#[allow(dead_code, unreachable_pub)]
#[path = "../../worker/src/placement.rs"]
mod placement;
#[allow(dead_code, unreachable_pub)]
#[path = "../../worker/src/sold_out.rs"]
mod sold_out;
#[allow(dead_code, unreachable_pub)]
#[path = "../../lottery/src/tickets.rs"]
mod tickets;
#[allow(dead_code, unreachable_pub)]
#[path = "../../worker/src/turn.rs"]
mod turn;
