//! The development commands of edgelock, and the parts of them that tests use too.
//!
//! Tests take [`stack`] as a dev-dependency: a real bridge with a real Redis behind it, and the
//! Worker in the real `workerd`.

pub mod beside;
pub mod component;
pub mod paths;
pub mod programs;
pub mod setup;
pub mod stack;
pub mod stale;
pub mod worker_build;
