//! Runs programs that install or tell something.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use testkit::paths;

pub(super) fn say(what: &str) {
    eprintln!("setup: installing {what}");
}

/// Runs it. If it fails, the error says what to do instead.
pub(super) fn run_or_say(command: &mut Command, by_hand: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("that failed ({status}); install by hand: {by_hand}"),
        Err(error) => bail!("cannot run {program} ({error}); install by hand: {by_hand}"),
    }
}

/// Whether `stamp` was written for what is wanted now.
pub(super) fn is_stamped(stamp: &Path, wanted: &str) -> bool {
    fs::read_to_string(stamp).is_ok_and(|found| found == wanted)
}

pub(super) fn on_path(program: &str) -> bool {
    paths::on_path(program).is_some()
}

pub(super) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What it writes to standard output.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    ensure!(output.status.success(), "{program} failed ({})", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
