//! What a crowd of callers costs. `cargo xtask test` runs these beside no other test.

mod crowd;
