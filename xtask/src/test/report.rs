//! Steps, one after the other, and what came of them.

use std::fmt;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Error;

use crate::group;

pub(crate) struct Step {
    name: &'static str,
    limit: Duration,
    command: Command,
    counts: Counts,
    quiet: bool,
}

/// What a step adds to the sum.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Counts {
    /// Itself.
    One,
    /// The tests that it says it ran.
    Tests,
}

#[derive(Default)]
pub(crate) struct Report {
    outcomes: Vec<Outcome>,
}

struct Outcome {
    name: &'static str,
    took: Duration,
    tally: Tally,
    error: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Step {
    pub(crate) fn new(name: &'static str, minutes: u64, command: Command) -> Self {
        Self {
            name,
            limit: Duration::from_secs(60 * minutes),
            command,
            counts: Counts::One,
            quiet: false,
        }
    }

    pub(crate) fn counts(mut self, counts: Counts) -> Self {
        self.counts = counts;
        self
    }

    /// Runs beside other steps: its output appears only when it failed.
    pub(crate) fn quiet(self) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", r#"exec "$0" "$@" 2>&1"#])
            .arg(self.command.get_program())
            .args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = self.command.get_current_dir() {
            command.current_dir(folder);
        }
        Self {
            command,
            quiet: true,
            ..self
        }
    }
}

impl Report {
    /// Runs a step; whether it succeeded.
    pub(crate) async fn run(&mut self, step: Step) -> bool {
        eprintln!(
            "\n== {}{}",
            step.name,
            if step.quiet { " (meanwhile)" } else { "" }
        );
        let start = Instant::now();
        let mut tally = Tally::default();
        let mut kept = String::new();
        let ended = group::run(step.command, step.limit, |line| {
            tally.add(line);
            if step.quiet {
                kept.extend([line, "\n"]);
            } else {
                println!("{line}");
            }
        });
        let error = ended.await.err().map(|error| format!("{error:#}"));
        if error.is_some() {
            eprint!("{kept}");
        }
        self.push(Outcome::new(
            step.name,
            start.elapsed(),
            step.counts,
            tally,
            error,
        ))
    }

    /// Runs them one after the other, whatever becomes of them.
    pub(crate) async fn run_all(&mut self, steps: impl Iterator<Item = Step>) {
        for step in steps {
            self.run(step).await;
        }
    }

    /// Records what was checked in this process.
    pub(crate) fn done(&mut self, name: &'static str, outcome: anyhow::Result<()>) {
        let error = outcome.err().map(|error| format!("{error:#}"));
        self.push(Outcome::new(
            name,
            Duration::ZERO,
            Counts::One,
            Tally::default(),
            error,
        ));
    }

    /// Records a step that could not even be started.
    pub(crate) fn failed(&mut self, name: &'static str, error: &Error) {
        self.push(Outcome::new(
            name,
            Duration::ZERO,
            Counts::One,
            Tally::default(),
            Some(format!("{error:#}")),
        ));
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.outcomes.append(&mut other.outcomes);
    }

    /// Prints the summary, the sum alone on the last line; whether everything holds.
    pub(crate) fn finish(self) -> bool {
        println!();
        for outcome in &self.outcomes {
            println!("{outcome}");
        }
        let passed: u64 = self
            .outcomes
            .iter()
            .map(|outcome| outcome.tally.passed)
            .sum();
        let failed: u64 = self
            .outcomes
            .iter()
            .map(|outcome| outcome.tally.failed)
            .sum();
        println!("\n{passed} passed, {failed} failed");
        failed == 0
    }

    fn push(&mut self, outcome: Outcome) -> bool {
        eprintln!("== {outcome}");
        let good = outcome.error.is_none();
        self.outcomes.push(outcome);
        good
    }
}

impl Outcome {
    fn new(
        name: &'static str,
        took: Duration,
        counts: Counts,
        tally: Tally,
        error: Option<String>,
    ) -> Self {
        let (tally, error) = match counts {
            Counts::One => (
                Tally {
                    passed: error.is_none().into(),
                    failed: error.is_some().into(),
                    skipped: 0,
                },
                error,
            ),
            Counts::Tests => strict(tally, error),
        };
        Self {
            name,
            took,
            tally,
            error,
        }
    }
}

/// A test that cannot run fails: those that were skipped count as failed, and so does a step that ran none.
fn strict(tally: Tally, error: Option<String>) -> (Tally, Option<String>) {
    let error = match error {
        None if tally.skipped > 0 => Some(format!("{} tests were skipped", tally.skipped)),
        None if tally.failed > 0 => Some(format!("{} tests failed", tally.failed)),
        None if tally.passed == 0 => Some("no test ran".to_owned()),
        other => other,
    };
    let failed = (tally.failed + tally.skipped).max(error.is_some().into());
    (
        Tally {
            passed: tally.passed,
            failed,
            skipped: 0,
        },
        error,
    )
}

impl Tally {
    /// Adds what a line of a test runner says, as in `test result: ok. 5 passed; 0 failed; 1 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for (count, what) in counts.split("; ").filter_map(|count| count.split_once(' ')) {
            let count: u64 = count.parse().unwrap_or(0);
            match what {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.skipped += count,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.error.is_some() { "FAILED" } else { "ok" };
        write!(
            f,
            "{verdict:6} {:6.1} s  {}",
            self.took.as_secs_f64(),
            self.name
        )?;
        if self.tally.passed + self.tally.failed > 1 {
            write!(
                f,
                ": {} passed, {} failed",
                self.tally.passed, self.tally.failed
            )?;
        }
        match &self.error {
            Some(error) => write!(f, " ({error})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_test_runners_say_is_added_up() {
        let mut tally = Tally::default();
        tally.add("running 2 tests");
        tally.add("test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.15s");
        tally.add(
            "test result: FAILED. 1 passed; 2 failed; 4 ignored; 0 filtered out; finished in 0.18s",
        );
        assert_eq!(
            tally,
            Tally {
                passed: 6,
                failed: 2,
                skipped: 4
            }
        );
    }

    #[test]
    fn a_step_whose_tests_cannot_run_fails() {
        let judge = |passed, failed, skipped, error: Option<&str>| {
            let (tally, error) = strict(
                Tally {
                    passed,
                    failed,
                    skipped,
                },
                error.map(str::to_owned),
            );
            (tally.passed, tally.failed, error.is_some())
        };
        assert_eq!(judge(5, 0, 0, None), (5, 0, false));
        assert_eq!(judge(0, 0, 0, None), (0, 1, true));
        assert_eq!(judge(5, 0, 2, None), (5, 2, true));
        assert_eq!(judge(5, 1, 0, None), (5, 1, true));
        assert_eq!(judge(5, 0, 0, Some("not done within 60 s")), (5, 1, true));
        assert_eq!(judge(5, 2, 0, Some("cargo failed")), (5, 2, true));
    }
}
