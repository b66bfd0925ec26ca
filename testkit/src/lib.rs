//! The real parts that edgelock is tested, measured and broken with.
//!
//! [`stack`] is a real bridge with a real Redis behind it, and the Worker in the real `workerd`.
//! [`sale`] is a crowd that buys there. Tests, benchmarks and `cargo xtask` use the same parts.

pub mod beside;
pub mod component;
pub mod interrupt;
pub mod limits;
pub mod paths;
pub mod programs;
pub mod sale;
pub mod stack;
pub mod stale;
pub mod worker_build;
