//! A client that has work executed once. Its work fails, takes too long, is dropped, or dies with
//! its machine.

use std::cell::Cell;
use std::time::Duration;

use edgelock::{Error, OnceOutcome};

use super::client::{Asked, Client};
use crate::check::Wanted;
use crate::host::within;

/// How long results are kept, in milliseconds: some end soon, some last longer than any world.
const KEEPS: [u64; 4] = [30, 300, 3_000, 86_400_000];

/// For how many of its last milliseconds a copy is stale.
const STALE: Duration = Duration::from_millis(200);

/// The fingerprints of callers.
const PRINTS: [Option<&str>; 3] = [None, Some("x"), Some("y")];

impl Client {
    pub(super) async fn have_executed(&self, asked: &Asked, ttl: Duration, wait: Duration) {
        if self.case.has_copies.get() {
            return self.have_copy(asked.name.name, ttl, wait).await;
        }
        let (case, rng, key) = (&self.case, &self.case.rng, asked.name.name);
        let prints = if case.is_of_one_print.get() { 2 } else { 3 };
        let print = rng.pick(&PRINTS[..prints]);
        let keep = Duration::from_millis(rng.pick(&KEEPS));
        let once = self.client.once(key).ttl(ttl).wait_timeout(wait).keep(keep);
        let once = match print {
            Some(print) => once.fingerprint(print),
            None => once,
        };
        let own = format!("{} {}", rng.next(), print.unwrap_or_default());
        let begun = case.world.now();
        case.check.want(key, print);
        let is_done = Cell::new(false);
        let work = async |lease: &crate::host::SimLease| {
            let _held = self.hold(asked, lease, lease.fence());
            let time = match rng.between(0, 3) {
                // Until the last millisecond, if the lease is not renewed.
                0 => lease.remaining().saturating_sub(self.ms(0, 2)),
                1 => self.long(0, 1_500),
                _ => self.ms(0, 40),
            };
            self.sleep(time).await;
            if rng.chance(200) {
                return Err(Error::example("invalid_argument", "").expect("a code"));
            }
            is_done.set(true);
            Ok(own.clone())
        };
        let patience = match rng.chance(100) {
            true => self.long(0, 800),
            false => Duration::from_secs(600),
        };
        let told = within(self.sleep(patience), once.run_text(work)).await;
        let wanted = Wanted { key, print, begun, is_done: is_done.get(), own: own.clone() };
        if let Some(told) = told {
            case.check.told_result(&wanted, &told);
        }
    }

    async fn have_copy(&self, key: &'static str, ttl: Duration, wait: Duration) {
        let (case, rng) = (&self.case, &self.case.rng);
        let fresh = Duration::from_millis(rng.pick(&KEEPS));
        let cached = self.client.cached(key, fresh, STALE).ttl(ttl);
        let cached = cached.wait_timeout(wait);
        let (own, begun) = (rng.next(), case.world.now());
        case.check.want_copy(key, STALE);
        let refill = async || {
            let time = match rng.between(0, 3) {
                0 => self.long(0, 1_500),
                _ => self.ms(0, 40),
            };
            self.sleep(time).await;
            let fails = || Error::example("invalid_argument", "").expect("a code");
            (!rng.chance(200)).then_some(own).ok_or_else(fails)
        };
        let patience = match rng.chance(100) {
            true => self.long(0, 800),
            false => Duration::from_secs(600),
        };
        // Its own is kept, or Redis was away. All else must have been kept while it asked.
        if let Some(Ok(copy)) = within(self.sleep(patience), cached.get(refill)).await
            && copy != own
        {
            let told = Ok(OnceOutcome::Replayed(copy.to_string()));
            let own = own.to_string();
            let (print, is_done) = (None, false);
            let wanted = Wanted { key, print, begun, own, is_done };
            case.check.told_result(&wanted, &told);
        }
    }
}
