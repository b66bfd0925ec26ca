//! Runs the programs that `setup` installs, and our own.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::paths;

/// What a bundle for Node begins with, for those of its parts that are CommonJS.
pub const REQUIRE: &str = "import { createRequire } from \"node:module\"; const require = createRequire(import.meta.url);";

/// Runs one to its end.
pub fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}: `cargo xtask setup` installs it"))?;
    ensure!(status.success(), "{program} failed ({status})");
    Ok(())
}

/// Runs one of our own commands, as `cargo xtask` does.
pub fn xtask(arguments: &[&str]) -> Result<()> {
    run(of_workspace("xtask").args(arguments))
}

/// A program of the workspace, which cargo compiles first. It names no package: then cargo would
/// compile the crates of others again, with the features of that package alone.
pub fn of_workspace(program: &str) -> Command {
    let mut cargo = paths::cargo();
    cargo.args(["run", "--quiet", "--bin", program, "--"]);
    cargo
}

/// Writes a script of the shell.
pub fn script(path: &Path, text: &str) -> Result<()> {
    fs::write(path, format!("#!/bin/sh\nset -e\n{text}"))?;
    Ok(fs::set_permissions(path, Permissions::from_mode(0o755))?)
}

/// How our process ends: whether all holds that was to hold, or why it could not be learned.
pub fn ends_as(held: Result<bool>) -> ExitCode {
    match held {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
