//! A flash sale and a lottery at the edge, and locks as a service. The Worker parses a request,
//! calls edgelock, and shapes a response.
//!
//! Everything but `host` is plain Rust without JavaScript: [`Shop::admit`] checks a [`Head`], and
//! [`Shop::answer`] makes the [`Response`].

#[cfg(target_family = "wasm")]
pub mod host;

mod cart;
mod config;
mod day;
mod draw;
mod drawing;
mod http;
mod input;
mod ledger;
mod locks;
mod look;
mod lottery;
#[cfg(any(target_family = "wasm", test))]
mod observe;
mod orders;
mod page;
mod placement;
mod problem;
mod reply;
mod route;
mod sales;
mod section;
mod shop;
mod sold_out;
mod tickets;

pub use config::Config;
pub use drawing::Draw;
pub use http::{Head, Response};
pub use problem::Problem;
pub use shop::{Admitted, Isolate, Shop};
