//! Steps, one after another, and their outcomes.

use std::fmt;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Error;

use crate::group;

/// Commands that run one after another, even if one fails, within one time limit.
pub(crate) struct Step {
    name: &'static str,
    limit: Duration,
    commands: Vec<Command>,
    counts: Counts,
    quiet: bool,
}

/// What a step adds to the total.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Counts {
    /// One, for itself.
    One,
    /// The number of tests that it says it ran.
    Tests,
}

/// How many of the last lines of a failed step are repeated at the end.
const LAST_LINES: usize = 12;

#[derive(Default)]
pub(crate) struct Report {
    outcomes: Vec<Outcome>,
}

struct Outcome {
    name: &'static str,
    took: Duration,
    tally: Tally,
    error: Option<String>,
    /// The last lines of its output, if it failed.
    last_words: Vec<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Step {
    pub(crate) fn new(name: &'static str, minutes: u64, command: Command) -> Self {
        Self::of(name, minutes, vec![command])
    }

    pub(crate) fn of(name: &'static str, minutes: u64, commands: Vec<Command>) -> Self {
        Self {
            name,
            limit: Duration::from_secs(60 * minutes),
            commands,
            counts: Counts::One,
            quiet: false,
        }
    }

    pub(crate) fn counts(mut self, counts: Counts) -> Self {
        self.counts = counts;
        self
    }

    /// Lets it run beside other steps: its output appears only if it fails.
    pub(crate) fn quiet(self) -> Self {
        Self { quiet: true, ..self }
    }

    /// Gives way to the steps beside it, so that those find a core when they need one. It still
    /// gets a tenth of what one of them gets, so that the servers of its own start in time.
    pub(crate) fn giving_way(self) -> Self {
        self.through(&["nice", "-n", "10"])
    }

    /// Lets another program run the commands.
    fn through(mut self, runner: &[&str]) -> Self {
        for command in &mut self.commands {
            let mut outer = Command::new(runner[0]);
            outer.args(&runner[1..]).arg(command.get_program()).args(command.get_args());
            for (name, value) in command.get_envs() {
                match value {
                    Some(value) => outer.env(name, value),
                    None => outer.env_remove(name),
                };
            }
            if let Some(folder) = command.get_current_dir() {
                outer.current_dir(folder);
            }
            *command = outer;
        }
        self
    }
}

impl Report {
    /// Runs a step. Returns whether it succeeded.
    pub(crate) async fn run(&mut self, step: Step) -> bool {
        eprintln!("\n== {}{}", step.name, if step.quiet { " (meanwhile)" } else { "" });
        let step = step.through(&["sh", "-c", r#"exec "$0" "$@" 2>&1"#]);
        let start = Instant::now();
        let mut tally = Tally::default();
        let mut kept = String::new();
        let mut error = None;
        for command in step.commands {
            let left = step.limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                break;
            }
            let ended = group::run(command, left, |line| {
                tally.add(line);
                kept.extend([line, "\n"]);
                if !step.quiet {
                    println!("{line}");
                }
            });
            if let Err(failed) = ended.await {
                error.get_or_insert_with(|| format!("{failed:#}"));
            }
        }
        if error.is_some() && step.quiet {
            print!("{kept}");
        }
        let outcome = Outcome::new(step.name, start.elapsed(), step.counts, tally, error);
        self.push(outcome.which_said(&kept))
    }

    /// Records a check that runs in this process.
    pub(crate) async fn check(
        &mut self,
        name: &'static str,
        checked: impl Future<Output = anyhow::Result<()>>,
    ) {
        let start = Instant::now();
        let error = checked.await.err().map(|error| format!("{error:#}"));
        self.push(Outcome::new(name, start.elapsed(), Counts::One, Tally::default(), error));
    }

    /// Records a step that could not be started.
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

    /// Prints a summary with all failures at its end, and the total alone on the last line. Returns
    /// whether everything holds.
    pub(crate) fn finish(mut self) -> bool {
        println!();
        self.outcomes.sort_by_key(|outcome| outcome.error.is_some());
        for outcome in &self.outcomes {
            println!("{outcome}");
            for line in &outcome.last_words {
                println!("    {line}");
            }
        }
        let passed: u64 = self.outcomes.iter().map(|outcome| outcome.tally.passed).sum();
        let failed: u64 = self.outcomes.iter().map(|outcome| outcome.tally.failed).sum();
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
        Self { name, took, tally, error, last_words: Vec::new() }
    }

    fn which_said(mut self, output: &str) -> Self {
        if self.error.is_some() {
            let last = output.lines().rev().take(LAST_LINES).map(str::to_owned);
            self.last_words = last.collect();
            self.last_words.reverse();
        }
        self
    }
}

/// A test that cannot run fails: those that were skipped count as failed, and so does a step that
/// ran none.
fn strict(tally: Tally, error: Option<String>) -> (Tally, Option<String>) {
    let error = match error {
        None if tally.skipped > 0 => Some(format!("{} tests were skipped", tally.skipped)),
        None if tally.failed > 0 => Some(format!("{} tests failed", tally.failed)),
        None if tally.passed == 0 => Some("no test ran".to_owned()),
        other => other,
    };
    let failed = (tally.failed + tally.skipped).max(error.is_some().into());
    (Tally { passed: tally.passed, failed, skipped: 0 }, error)
}

impl Tally {
    /// Adds what a line of a test runner says, as in `test result: ok. 5 passed; 0 failed; 1
    /// ignored; …`.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) =
            line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
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
        write!(f, "{verdict:6} {:6.1} s  {}", self.took.as_secs_f64(), self.name)?;
        if self.tally.passed + self.tally.failed > 1 {
            write!(f, ": {} passed, {} failed", self.tally.passed, self.tally.failed)?;
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
        assert_eq!(tally, Tally { passed: 6, failed: 2, skipped: 4 });
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn each_command_of_a_step_runs_though_one_before_it_failed() {
        let says = |passed, then| {
            shell(&format!("echo 'test result: ok. {passed} passed; 0 failed'; {then}"))
        };
        let commands = vec![says(3, "exit 1"), says(4, "exit 0")];
        let mut report = Report::default();
        assert!(!report.run(Step::of("both", 1, commands).counts(Counts::Tests)).await);
        let tally = report.outcomes[0].tally;
        assert_eq!((tally.passed, tally.failed), (7, 1));
    }

    #[tokio::test]
    async fn what_a_step_said_last_is_told_again_if_it_failed() {
        let says = |end| shell(&format!("seq 20; echo why >&2; {end}"));
        let mut report = Report::default();
        report.run(Step::new("good", 1, says("exit 0"))).await;
        report.run(Step::new("bad", 1, says("exit 1")).quiet()).await;
        assert!(report.outcomes[0].last_words.is_empty());
        let told = &report.outcomes[1].last_words;
        assert_eq!((told.len(), told[0].as_str()), (LAST_LINES, "10"));
        assert_eq!(told[LAST_LINES - 1], "why");
    }

    #[tokio::test]
    async fn the_commands_of_a_step_share_its_limit() {
        let late = shell("echo 'test result: ok. 1 passed; 0 failed'");
        let mut step = Step::of("both", 1, vec![shell("sleep 60"), late]);
        step.limit = Duration::from_millis(200);
        let mut report = Report::default();
        assert!(!report.run(step.counts(Counts::Tests)).await);
        assert_eq!(report.outcomes[0].tally.passed, 0);
    }

    #[tokio::test]
    async fn a_step_that_gives_way_has_its_folder_and_its_variables() {
        let mut command = shell(
            r#"test "$(nice)" -ge 10 && test "$PWD" = / && test "$GIVEN" = a && test -z "$HOME""#,
        );
        command.current_dir("/").env("GIVEN", "a").env_remove("HOME");
        let mut report = Report::default();
        assert!(report.run(Step::new("gives way", 1, command).giving_way().quiet()).await);
    }

    #[test]
    fn a_step_whose_tests_cannot_run_fails() {
        let judge = |passed, failed, skipped, error: Option<&str>| {
            let (tally, error) =
                strict(Tally { passed, failed, skipped }, error.map(str::to_owned));
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
