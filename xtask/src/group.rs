//! A command with a time limit, in a process group of its own. All that it started ends with it.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpid,
};
use tokio::io::{AsyncBufReadExt, BufReader};

const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Runs a command to its end and gives each line of its standard output to `see`.
///
/// Cancel safety: dropped, or at the end of `limit`, it ends the whole group, politely first.
pub(crate) async fn run(
    mut command: Command,
    limit: Duration,
    mut see: impl FnMut(&str),
) -> Result<()> {
    use std::os::unix::process::CommandExt;

    let program = command.get_program().to_string_lossy().into_owned();
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = tokio::process::Command::from(command)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let _group = Group::of(&child)?;
    let stdout = child.stdout.take().context("the child has a standard output")?;
    let ended = tokio::time::timeout(limit, async {
        let mut lines = BufReader::new(stdout).split(b'\n');
        while let Some(line) = lines.next_segment().await? {
            see(&String::from_utf8_lossy(&line));
        }
        child.wait().await
    });
    match ended.await {
        Ok(status) => {
            let status = status?;
            ensure!(status.success(), "{status}");
            Ok(())
        }
        Err(_) => bail!("not done within {} s", limit.as_secs()),
    }
}

pub(crate) struct Group(Pid);

impl Group {
    pub(crate) fn of(child: &tokio::process::Child) -> Result<Self> {
        let id = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        id.map(Self).context("the child has an id")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let until = Instant::now() + STOP_LIMIT;
        let mut asked = kill_process_group(self.0, Signal::TERM);
        while asked.is_ok() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
            // Collects the first process of the group, since it counts as running until then.
            let _ = waitpid(Some(self.0), WaitOptions::NOHANG);
            asked = test_kill_process_group(self.0);
        }
        if asked.is_ok() {
            let _ = kill_process_group(self.0, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn each_line_is_seen_and_the_status_counts() {
        let mut seen = Vec::new();
        let ended = run(shell("echo one; echo two; exit 3"), STOP_LIMIT, |line| {
            seen.push(line.to_owned());
        });
        let error = ended.await.expect_err("it fails").to_string();
        assert!(error.contains('3'), "{error}");
        assert_eq!(seen, ["one", "two"]);
    }

    #[tokio::test]
    async fn out_of_time_everything_that_it_started_ends() {
        let (mut output, writer) = io::pipe().expect("a pipe");
        let mut command = shell("(sleep 3; echo alive >&2) & echo started; wait");
        command.stderr(writer);
        let ended = run(command, Duration::from_millis(500), |line| assert_eq!(line, "started"));
        let error = ended.await.expect_err("it does not end").to_string();
        assert!(error.starts_with("not done within"), "{error}");

        // The output ends when no process is left that could write to it.
        let mut said = String::new();
        output.read_to_string(&mut said).expect("what it said");
        assert_eq!(said, "");
    }
}
