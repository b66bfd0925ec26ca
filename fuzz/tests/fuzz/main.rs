//! Input from outside, given to the public face of the client and of the Worker.
#![cfg(not(target_family = "wasm"))]

mod builders;
mod calls;
mod host;
mod replies;
mod workers;

// The Workers' own files that know no host, in the Workers' own format.
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../../lottery/src/day.rs"]
mod day;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../../worker/src/input.rs"]
mod input;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../../worker/src/ledger.rs"]
mod ledger;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../../worker/src/placement.rs"]
mod placement;
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub)]
#[path = "../../../lottery/src/tickets.rs"]
mod tickets;
