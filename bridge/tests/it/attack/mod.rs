//! What one client of the bridge can do, and what other clients still get.

mod commands;
mod connections;
mod replies;
mod rights;
mod scripts;
mod sizes;
mod streams;
mod waits;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::support::Bridge;

/// A well-behaved client. It asks for one thing after another, on a connection of its own, as long
/// as the attack lasts.
pub(crate) struct HonestClient {
    over: Arc<AtomicBool>,
    asks: JoinHandle<Vec<Answered>>,
}

struct Answered {
    answer: (u16, String),
    took: Duration,
}

/// So many, or a multiple if `cargo xtask attack` asks for it.
pub(crate) fn many(count: usize) -> usize {
    let times = std::env::var("EDGELOCK_ATTACK").ok();
    count * times.and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// For how long a client is watched, alone and beside an attack.
pub(crate) const SHORTLY: Duration = Duration::from_secs(1);

/// How many answers a new client gets within `time`, one after another.
pub(crate) async fn served_in(bridge: &Bridge, time: Duration) -> usize {
    let (client, since, mut served) = (bridge.another_client(), Instant::now(), 0);
    while since.elapsed() < time {
        served += usize::from(client.run(r#"["PING"]"#).await.0 == 200);
    }
    served
}

impl HonestClient {
    pub(crate) async fn of(bridge: &Bridge) -> Self {
        Self::asking(bridge, r#"["GET","beside"]"#).await
    }

    /// A client that repeats a command that answers with the value of the key `beside`.
    pub(crate) async fn asking(bridge: &Bridge, command: &'static str) -> Self {
        assert_eq!(bridge.run(r#"["SET","beside","well"]"#).await.0, 200);
        let over = Arc::new(AtomicBool::new(false));
        let (other, ends) = (bridge.another_client(), over.clone());
        let asks = tokio::spawn(async move {
            let mut answers = Vec::new();
            while !ends.load(Ordering::Relaxed) || answers.is_empty() {
                let asked = Instant::now();
                let answer = other.run(command).await;
                let took = asked.elapsed();
                answers.push(Answered { answer, took });
            }
            answers
        });
        Self { over, asks }
    }

    /// Ends the attack. Fails if the client was refused anything.
    #[track_caller]
    pub(crate) fn got_all(self) -> impl Future<Output = ()> {
        self.got(|_| false)
    }

    /// Ends the attack. Fails if the client was left without knowing what became of a command.
    #[track_caller]
    pub(crate) fn got_all_or_was_told(self) -> impl Future<Output = ()> {
        self.got(executed_nothing)
    }

    #[track_caller]
    fn got(self, or: impl Fn(&(u16, String)) -> bool) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            self.over.store(true, Ordering::Relaxed);
            let answers = self.asks.await.expect("no panic");
            let served = |answered: &&Answered| answered.answer == well();
            let count = answers.iter().filter(served).count();
            let mut took: Vec<_> = answers.iter().map(|answered| answered.took).collect();
            took.sort();
            let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
            // `cargo xtask attack` shows this.
            println!(
                "{caller}: {count} of {} served, median {median:.1?}, longest {longest:.1?}",
                answers.len()
            );
            assert!(count > 0, "{caller}: nothing was served");
            let wrong = |answered: &&Answered| !served(answered) && !or(&answered.answer);
            let wrong: Vec<_> = answers.iter().filter(wrong).collect();
            assert!(
                wrong.is_empty(),
                "{caller}: {} of {} were not served, first {:?}",
                wrong.len(),
                answers.len(),
                wrong[0].answer
            );
        }
    }
}

fn well() -> (u16, String) {
    (200, r#"{"result":"well"}"#.to_owned())
}

/// An answer after which it is worth asking again soon, and safe.
pub(crate) fn executed_nothing((status, body): &(u16, String)) -> bool {
    *status == 503 && body.ends_with(r#""executed":false}"#)
}
