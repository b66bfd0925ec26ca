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
mod rules;
mod sales;
mod shared;
mod support;
mod trouble;

// The Workers' own files that know no host, in the Workers' own format.
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../lottery/src/day.rs"]
mod day;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../lottery/src/draw.rs"]
mod draw;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../worker/src/input.rs"]
mod input;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../worker/src/ledger.rs"]
mod ledger;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../lottery/src/rules.rs"]
mod lottery_rules;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../worker/src/placement.rs"]
mod placement;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../worker/src/sold_out.rs"]
mod sold_out;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../lottery/src/tickets.rs"]
mod tickets;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../worker/src/turn.rs"]
mod turn;
