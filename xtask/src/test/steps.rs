//! Steps of a report that run cargo, or one of our own commands.

use std::path::Path;
use std::process::Command;

use testkit::paths;

use super::report::{Counts, Step};

pub(super) fn check(name: &'static str, minutes: u64, arguments: &str) -> Step {
    Step::new(name, minutes, cargo(arguments))
}

pub(super) fn tests(name: &'static str, minutes: u64, command: Command) -> Step {
    Step::new(name, minutes, command).counts(Counts::Tests)
}

/// Runs another of our own commands, as a process that can be stopped.
pub(super) fn ours(name: &'static str, minutes: u64, xtask: &Path, command: &str) -> Step {
    let mut process = Command::new(xtask);
    process.arg(command);
    Step::new(name, minutes, process)
}

pub(super) fn cargo(arguments: &str) -> Command {
    let mut command = paths::cargo();
    command.args(arguments.split(' '));
    command
}
