//! A client that asks for a copy, and asks again when the one that it got is stale.

use edgelock::{Error, OnceOutcome};

use super::{Client, WAIT};
use crate::check::Wanted;
use crate::explore::plan::Copies;
use crate::explore::stage::Stand;

impl Client {
    pub(super) async fn have_copies(&self, copies: Copies) {
        let (stage, seat, key) = (&self.stage, self.seat(), self.name.name);
        stage.check.want_copy(key, copies.stale);
        for round in 0..2 {
            if round > 0 {
                stage.world.sleep(&seat.machine, copies.fresh).await;
            }
            let own = 10 * self.number as u64 + round;
            let begun = stage.world.now();
            let cached = self.client.cached(key, copies.fresh, copies.stale);
            let cached = cached.ttl(self.ttl()).wait_timeout(WAIT);
            seat.stand.set(Stand::Asking);
            let refill = async || {
                seat.stand.set(Stand::Working);
                self.point().await;
                let fails = || Error::example("invalid_argument", "").expect("a code");
                let is_made = round == 0 || !stage.plan.fails;
                is_made.then_some(own).ok_or_else(fails)
            };
            let told = cached.get(refill).await;
            seat.stand.set(Stand::Working);
            stage.tell(|| format!("{} is told: {told:?}", seat.name));
            // Its own is kept, or Redis was away. All else must have been kept while it asked.
            if let Some(copy) = told.ok().filter(|copy| *copy != own) {
                let told = Ok(OnceOutcome::Replayed(copy.to_string()));
                let wanted =
                    Wanted { key, print: None, begun, is_done: false, own: own.to_string() };
                stage.check.told_result(&wanted, &told);
            }
            seat.note((round, begun));
        }
    }
}
