//! The inputs of all fuzzers.
//!
//! A parser refuses most random bytes at the first one. So each input begins as a text of a corpus,
//! which is valid or interesting, and [`Mutants`] changes it in a few places. `bolero` draws,
//! repeats and shrinks the inputs.

mod corpus;
mod edit;
mod mutants;
mod text;

pub use bolero::{check, produce};

pub use mutants::{Mutants, Several};
pub use text::Text;

/// How many inputs each target gets in a run of the tests. `cargo xtask fuzz` gives it more.
pub const INPUTS: usize = 20_000;
