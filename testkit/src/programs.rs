//! Runs the programs that `setup` installs.

use std::process::Command;

use anyhow::{Context, Result, ensure};

/// What a bundle for Node begins with, for those of its parts that are CommonJS.
pub const REQUIRE: &str = "import { createRequire } from \"node:module\"; const require = createRequire(import.meta.url);";

/// Runs one to its end.
///
/// # Errors
///
/// It is not installed, or it failed.
pub fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}: `cargo xtask setup` installs it"))?;
    ensure!(status.success(), "{program} failed ({status})");
    Ok(())
}
