//! Input from outside, given to the public face of the client and of the Worker.
#![cfg(not(target_family = "wasm"))]

mod builders;
mod calls;
mod host;
mod replies;
mod worker;
