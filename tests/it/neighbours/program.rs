//! Another library's lock, driven from a test: a program that is asked by lines, or a crate.

use std::process::Stdio;

use rslock::{Lock, LockError, LockManager};
use testkit::paths;
use testkit::stack::Bridge;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::support::ms;

/// One client of the other library. It has one lock at most.
pub(super) enum Neighbour {
    Program(Box<Program>),
    Rslock(LockManager, Option<Lock>),
}

pub(super) struct Program {
    asked: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Neighbour {
    /// A script of this folder, over the Redis behind each of `bridges`. Most know only the first.
    pub(super) fn script(file: &str, bridges: &[&Bridge]) -> Self {
        Self::Program(Box::new(Program::start(file, bridges)))
    }

    pub(super) fn rslock(bridges: &[&Bridge]) -> Self {
        let servers = bridges.iter().map(|bridge| bridge.redis()).collect();
        let mut manager = LockManager::from_clients(servers);
        manager.set_retry(1, ms(1));
        Self::Rslock(manager, None)
    }

    /// Tries to acquire; whether it has the lock now.
    pub(super) async fn acquire(&mut self, name: &str, ttl_ms: u64) -> bool {
        match self {
            Self::Program(program) => program.ask(&format!("acquire {name} {ttl_ms}")).await,
            Self::Rslock(manager, held) => match manager.lock(name, ms(ttl_ms)).await {
                Ok(lock) => Some(held.insert(lock)).map(|_| true),
                Err(LockError::Unavailable) => Some(false),
                Err(error) => panic!("{error}"),
            },
        }
        .expect("each says whether it acquired")
    }

    /// Extends; whether it says that it did, or `None` if it cannot extend.
    pub(super) async fn extend(&mut self, ttl_ms: u64) -> Option<bool> {
        match self {
            Self::Program(program) => program.ask(&format!("extend {ttl_ms}")).await,
            Self::Rslock(manager, held) => {
                let held = held.as_ref().expect("it has acquired");
                Some(manager.extend(held, ms(ttl_ms)).await.is_ok())
            }
        }
    }

    /// Releases; whether it says that it did, or `None` if it does not say.
    pub(super) async fn release(&mut self) -> Option<bool> {
        match self {
            Self::Program(program) => program.ask("release").await,
            Self::Rslock(manager, held) => {
                manager.unlock(held.as_ref().expect("it has acquired")).await;
                None
            }
        }
    }
}

impl Program {
    pub(super) fn start(file: &str, bridges: &[&Bridge]) -> Self {
        let sockets: Vec<_> =
            bridges.iter().map(|bridge| bridge.redis_socket().display().to_string()).collect();
        let script = paths::root().join("tests/it/neighbours").join(file);
        let mut command = if file.ends_with(".py") {
            let mut python = Command::new(paths::python("python"));
            // Else Python would leave its bytecode beside the sources.
            python.arg("-B");
            python
        } else {
            Command::new("node")
        };
        let mut child = command
            .arg(script)
            .env("REDIS_SOCKETS", sockets.join(","))
            .env("EDGELOCK_BRIDGE_URL", bridges[0].url())
            .env("EDGELOCK_BRIDGE_CREDENTIAL", bridges[0].token())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts; else run `cargo xtask setup`");
        Self {
            asked: child.stdin.take().expect("a standard input"),
            answers: BufReader::new(child.stdout.take().expect("a standard output")).lines(),
            _child: child,
        }
    }

    /// Its answer; `None` if it does not say.
    pub(super) async fn ask(&mut self, words: &str) -> Option<bool> {
        let line = format!("{words}\n");
        self.asked.write_all(line.as_bytes()).await.expect("it reads");
        let answer = self.answers.next_line().await.expect("text");
        let answer = answer.expect("an answer; what went wrong is in the output");
        serde_json::from_str(&answer).expect("true, false or null")
    }
}
