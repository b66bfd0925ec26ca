//! The workspace's native tests, as cargo built them. Each executable runs by itself, so that those
//! that compute can run beside those that wait.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::paths;

/// The arguments of cargo that build all tests. They are always for the whole workspace: for fewer
/// packages, cargo would build their dependencies again, with other features.
pub(super) const BUILD: &str = "test --workspace --no-run";

/// The tests of one target.
pub(super) struct Tests {
    target: String,
    executable: PathBuf,
    /// The folder of its package, where cargo runs tests, too.
    folder: PathBuf,
}

impl Tests {
    /// All tests that are built.
    pub(super) fn built() -> Result<Vec<Self>> {
        let output = paths::cargo()
            .args(BUILD.split(' '))
            .args(["--quiet", "--message-format=json-render-diagnostics"])
            .output()
            .context("cannot run cargo")?;
        ensure!(output.status.success(), "the tests are not built ({})", output.status);
        let messages = String::from_utf8(output.stdout)?;
        let tests: Vec<_> = messages.lines().filter_map(Self::named_by).collect();
        ensure!(!tests.is_empty(), "cargo names no tests");
        Ok(tests)
    }

    /// The tests that cargo names in `message`, if it names any.
    fn named_by(message: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(message).ok()?;
        (message["profile"]["test"] == true).then_some(())?;
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        Some(Self {
            target: message["target"]["name"].as_str()?.to_owned(),
            executable: message["executable"].as_str()?.into(),
            folder: manifest.parent()?.to_owned(),
        })
    }

    /// Whether this is the simulation of the lock, which computes all the time.
    pub(super) fn are_simulated(&self) -> bool {
        self.target == "sim"
    }

    /// Runs them, with these arguments of a test runner.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = paths::command(&self.executable);
        command.args(arguments).current_dir(&self.folder);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_built_of_tests_is_run_in_the_folder_of_its_package() {
        let tests = Tests::named_by(
            r#"{"reason":"compiler-artifact","manifest_path":"/a/b/Cargo.toml","target":{"kind":["test"],"name":"sim"},
                "profile":{"test":true},"executable":"/target/sim-1"}"#,
        )
        .expect("tests");
        assert!(tests.are_simulated());
        let command = tests.command(&["--skip", "attack::"]);
        assert_eq!(command.get_program(), "/target/sim-1");
        assert_eq!(command.get_current_dir(), Some("/a/b".as_ref()));
    }

    #[test]
    fn what_holds_no_tests_is_not_run() {
        let of = |profile: &str, executable: &str| {
            Tests::named_by(&format!(
                r#"{{"manifest_path":"/a/Cargo.toml","target":{{"name":"a"}},"profile":{{"test":{profile}}},"executable":{executable}}}"#
            ))
        };
        assert!(of("true", r#""/target/a""#).is_some());
        assert!(of("false", r#""/target/a""#).is_none());
        assert!(of("true", "null").is_none());
        assert!(Tests::named_by(r#"{"reason":"build-finished","success":true}"#).is_none());
    }
}
