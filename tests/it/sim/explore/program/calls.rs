//! Paced calls, which hold nothing.

use std::time::Duration;

use edgelock::Error;

use super::super::desk::SmallClient;
use super::super::plan::{Pace, Plan};
use super::{Client, begun};
use crate::paced::books::Number;

/// How often each client calls, and about how long its windows and waits are, in milliseconds.
const CALLS: u64 = 2;
const PACE_MS: Number = 1_000;

impl Client {
    /// The length of its window or wait tells each call from the others.
    pub(super) async fn calls(&self, pace: Pace) {
        let stage = &self.stage;
        for call in 0..CALLS {
            let number = PACE_MS + 10 * self.number as u64 + call;
            stage.tell(|| format!("{} begins call {number}", self.seat().name));
            match pace {
                Pace::Throttle => self.pass(number).await,
                Pace::Debounce => self.debounce(number).await,
            }
            // Nothing of this call matters for the next one.
            self.seat().forget_but((call, stage.world.now()));
            self.point().await;
        }
    }

    async fn pass(&self, number: Number) {
        let window = Duration::from_millis(number);
        let told = (self.client.throttle(self.name.name, window).try_pass()).await;
        let stage = &self.stage;
        stage.tell(|| format!("{} is told of {number}: {told:?}", self.seat().name));
        stage.enter(|books| books.told_pass(number, &told));
    }

    async fn debounce(&self, number: Number) {
        let (stage, wait) = (&self.stage, Duration::from_millis(number));
        let debounce = self.client.debounce(self.name.name, wait).max_wait(2 * wait);
        let work = async || {
            stage.enter(|books| books.begins_work(number));
            self.point().await;
            Ok::<_, Error>(())
        };
        let told = debounce.run(work).await;
        stage.tell(|| format!("{} is told of {number}: {told:?}", self.seat().name));
        stage.enter(|books| books.told_call(number, &told));
    }
}

/// Runs all scripts once that such calls may need.
pub(super) async fn rehearse(client: &SmallClient, plan: &Plan, pace: Pace) {
    let (name, time) = (plan.lock, Duration::from_millis(PACE_MS));
    match pace {
        Pace::Throttle => {
            let throttle = client.throttle(name, time);
            begun(throttle.try_pass()).await;
            drop(throttle.try_pass().await);
        }
        Pace::Debounce => {
            let (debounce, work) = (client.debounce(name, time), async || Ok::<_, Error>(()));
            begun(debounce.run(work)).await;
            drop(debounce.run(work).await);
        }
    }
}
