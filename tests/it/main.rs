//! What the client promises, on real parts.
#![cfg(not(target_family = "wasm"))]

mod acquisition;
mod away;
mod bridges;
mod builders;
mod cluster;
mod contract;
mod definite;
mod docs;
mod ending;
mod errors;
mod examples;
mod giving_up;
mod group;
mod holding;
mod invariants;
mod keeping;
mod lost;
mod misuse;
mod names;
mod neighbours;
mod once;
mod outcomes;
mod push;
mod quorum;
mod read_write;
mod reentrant;
mod refusals;
mod replicas;
mod retry_after;
mod semaphore;
mod sharding;
mod slots;
mod support;
mod threads;
mod waiting;
