//! What the Workers here share: they check a request, bound how many are served at once, answer,
//! and log. A request of each goes through [`call::Call`].

pub mod body;
#[cfg(target_family = "wasm")]
pub mod call;
pub mod gate;
pub mod observe;
pub mod problem;
pub mod reply;
pub mod section;
