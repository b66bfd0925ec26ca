//! A child process whose output is kept, and which never outlives its handle.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The lines of output that are kept for a person who looks into a failure.
const KEPT_LINES: usize = 10_000;

/// How long a program may take until it says that it is ready.
pub(super) const START_LIMIT: Duration = Duration::from_secs(20);

pub(super) struct Process {
    child: Child,
    stdout: Receiver<String>,
    log: Log,
}

type Log = Arc<Mutex<VecDeque<String>>>;

impl Process {
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let log = Log::default();
        let (lines, stdout) = mpsc::channel();
        if let Some(pipe) = child.stdout.take() {
            keep_lines(pipe, log.clone(), Some(lines));
        }
        if let Some(pipe) = child.stderr.take() {
            keep_lines(pipe, log.clone(), None);
        }
        Ok(Self { child, stdout, log })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The first thing that `pick` finds in a line of standard output, within `limit`.
    pub(super) fn wait_for<T>(
        &self,
        what: &str,
        limit: Duration,
        pick: impl Fn(&str) -> Option<T>,
    ) -> Result<T> {
        let until = Instant::now() + limit;
        loop {
            match self.stdout.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(found) = pick(&line) {
                        return Ok(found);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    bail!("no {what} within {limit:?}; it said:\n{}", self.log())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("it ended before it said {what}; it said:\n{}", self.log())
                }
            }
        }
    }

    /// The port of a server that says `{"event":"listen","port":…}` when it listens. If it has
    /// several sockets, it says `"socket":…` too. Ask for them in the order in which they listen.
    pub(super) fn wait_for_port(&self, socket: Option<&str>, limit: Duration) -> Result<u16> {
        self.wait_for("port", limit, |line| {
            let event: Value = serde_json::from_str(line).ok()?;
            (event["event"] == "listen" && event["socket"].as_str() == socket).then_some(())?;
            event["port"].as_u64()?.try_into().ok()
        })
    }

    pub(super) fn log(&self) -> String {
        let lines = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    /// Sends it a signal, if it still runs.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Sends SIGTERM, so that it can end its own children. Returns whether it ended within `limit`.
    pub(super) fn terminate(&mut self, limit: Duration) -> bool {
        let id = Pid::from_child(&self.child);
        // This cannot hit a stranger: the id stays ours until `try_wait` has collected the child.
        if !matches!(self.child.try_wait(), Ok(None)) || kill_process(id, Signal::TERM).is_err() {
            return true;
        }
        let until = Instant::now() + limit;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            thread::sleep(Duration::from_millis(2));
        }
        false
    }

    /// Sends SIGKILL.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn keep_lines(pipe: impl Read + Send + 'static, log: Log, lines: Option<Sender<String>>) {
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some(lines) = &lines {
                let _ = lines.send(line.clone());
            }
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if log.len() == KEPT_LINES {
                log.pop_front();
            }
            log.push_back(line);
        }
    });
}
