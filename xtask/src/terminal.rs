//! A reader's terminal: a shell that keeps its folder and its variables between commands.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::group::Group;

/// The limit for one command. Within it, a Worker in Rust is compiled for the first time, beside
/// other work.
const LIMIT: Duration = Duration::from_secs(600);

/// Printed before the status of a command that has ended.
const ENDED: &str = "edgelock: the command ended with ";

/// Cancel safety: when it is dropped, it ends all that runs in it.
pub(crate) struct Terminal {
    stdin: ChildStdin,
    lines: mpsc::UnboundedReceiver<String>,
    _group: Group,
}

impl Terminal {
    /// Opens a terminal in `folder`, with the variables of `like`.
    pub(crate) fn open(folder: &Path, like: &Command) -> Result<Self> {
        use std::os::unix::process::CommandExt;

        let mut shell = Command::new("sh");
        for (name, value) in like.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell
            .args(["-c", "exec sh 2>&1"])
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut shell = tokio::process::Command::from(shell).spawn()?;
        let stdout = shell.stdout.take().context("a standard output")?;
        Ok(Self {
            stdin: shell.stdin.take().context("a standard input")?,
            lines: lines_of(stdout),
            _group: Group::of(&shell)?,
        })
    }

    /// Types a command, and waits for its end. Returns what it printed.
    pub(crate) async fn run(&mut self, command: &str) -> Result<String> {
        self.enter(command).await?;
        let mut printed = String::new();
        let ended = self.read(&mut printed, |line| Some(line.strip_prefix(ENDED)?.to_owned()));
        let status = ended.await.with_context(|| command.trim().to_owned())?;
        ensure!(status == "0", "{} ended with {status}:\n{printed}", command.trim());
        // This line end belongs to the line that says that the command has ended.
        printed.pop();
        Ok(printed)
    }

    /// Types a command that goes on, and waits until it prints a line with `sign`. Returns what it
    /// printed up to there.
    pub(crate) async fn start(&mut self, command: &str, sign: &str) -> Result<String> {
        self.enter(command).await?;
        let mut printed = String::new();
        let seen = self.read(&mut printed, |line| {
            let failed = line.strip_prefix(ENDED).is_some_and(|status| status != "0");
            (failed || line.contains(sign)).then_some(failed)
        });
        let failed = seen.await.with_context(|| command.trim().to_owned())?;
        ensure!(!failed, "{} failed:\n{printed}", command.trim());
        Ok(printed)
    }

    async fn enter(&mut self, command: &str) -> Result<()> {
        // What is typed next must not become a command's input.
        let typed = format!("{{ {command}\n}} </dev/null\nprintf '\\n{ENDED}%s\\n' $?\n");
        Ok(self.stdin.write_all(typed.as_bytes()).await?)
    }

    /// Adds lines to `printed` up to the first in which `pick` finds something.
    async fn read<T>(
        &mut self,
        printed: &mut String,
        pick: impl Fn(&str) -> Option<T>,
    ) -> Result<T> {
        let found = timeout(LIMIT, async {
            while let Some(line) = self.lines.recv().await {
                let found = pick(&line);
                if !line.starts_with(ENDED) {
                    printed.push_str(&line);
                    printed.push('\n');
                }
                if found.is_some() {
                    return found;
                }
            }
            None
        });
        match found.await {
            Ok(Some(found)) => Ok(found),
            Ok(None) => bail!("the shell ended:\n{printed}"),
            Err(_) => bail!("not done within {} s:\n{printed}", LIMIT.as_secs()),
        }
    }
}

/// The lines are read all the time, so that a server that prints much does not stall.
fn lines_of(stdout: ChildStdout) -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut stdout = BufReader::new(stdout).split(b'\n');
        while let Ok(Some(line)) = stdout.next_segment().await {
            // If nobody listens any more, nobody needs the line.
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_terminal_keeps_its_folder_and_its_variables() -> Result<()> {
        let mut like = Command::new("sh");
        like.env("GIVEN", "a");
        let mut terminal = Terminal::open(Path::new("/"), &like)?;
        terminal.run("cd dev\nexport HERE=b").await?;
        assert_eq!(terminal.run("printf $PWD$GIVEN$HERE").await?, "/devab");
        assert_eq!(terminal.run("cat; echo c").await?, "c\n");
        let error = terminal.run("echo d; false").await.expect_err("it failed");
        assert_eq!(error.to_string(), "echo d; false ended with 1:\nd\n\n");
        let error = terminal.start("false", "e").await.expect_err("it failed");
        assert!(error.to_string().starts_with("false failed"), "{error}");
        let printed = terminal.start("echo e; echo f; sleep 60", "f");
        assert_eq!(printed.await?.lines().collect::<String>(), "ef");
        Ok(())
    }
}
