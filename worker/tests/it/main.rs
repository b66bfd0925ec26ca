//! What the Worker promises: the real `workerd`, bridge and Redis.
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
mod sales;
mod shared;
mod support;
mod trouble;
