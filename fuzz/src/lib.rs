//! The inputs of all fuzzers.
//!
//! A parser refuses most random bytes at the first one. So each input begins as a text of a corpus,
//! which is valid or interesting, and [`Mutants`] changes it in a few places. `bolero` draws,
//! repeats and shrinks the inputs.
//!
//! libFuzzer searches the same targets by coverage, with a stable compiler:
//!
//! ```text
//! cargo install cargo-bolero
//! cargo bolero test -p edgelock-fuzz --profile fuzz --sanitizer NONE \
//!     --corpus-dir target/fuzz-corpus --crashes-dir target/fuzz-crashes \
//!     -T 10m replies::no_answer_makes_the_client_panic_or_hang_or_tell_a_secret
//! ```

mod corpus;
mod edit;
mod mutants;
mod text;

pub use bolero::{check, produce};

pub use mutants::{Mutants, Several};
pub use text::Text;

/// How many inputs each target gets in a run of the tests. `cargo xtask fuzz` gives it more.
pub const INPUTS: usize = 20_000;
