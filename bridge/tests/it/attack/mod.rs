//! What one client of the bridge can do, and what a client beside it gets all the same.

mod commands;
mod replies;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;

use crate::support::Bridge;

/// A well-behaved client: it asks for one thing after the other, on a connection of its own, for as long as the attack lasts.
pub(crate) struct Beside {
    over: Arc<AtomicBool>,
    asks: JoinHandle<Vec<(u16, String)>>,
}

impl Beside {
    pub(crate) async fn of(bridge: &Bridge) -> Self {
        assert_eq!(bridge.run(r#"["SET","beside","well"]"#).await.0, 200);
        let over = Arc::new(AtomicBool::new(false));
        let (other, ends) = (bridge.another_client(), over.clone());
        let asks = tokio::spawn(async move {
            let mut answers = Vec::new();
            while !ends.load(Ordering::Relaxed) || answers.is_empty() {
                answers.push(other.run(r#"["GET","beside"]"#).await);
            }
            answers
        });
        Self { over, asks }
    }

    /// Ends the attack, and fails if it was refused anything.
    #[track_caller]
    pub(crate) fn got_all(self) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            self.over.store(true, Ordering::Relaxed);
            let answers = self.asks.await.expect("no panic");
            let served = (200, r#"{"result":"well"}"#.to_owned());
            let refused: Vec<_> = answers.iter().filter(|answer| **answer != served).collect();
            assert!(
                refused.is_empty(),
                "{caller}: {} of {} were not served, first {:?}",
                refused.len(),
                answers.len(),
                refused[0]
            );
        }
    }
}
