//! A caller that waits for the answer to its item, and drives a turn if nobody does.

use std::sync::Arc;
use std::time::Duration;

use super::driver::{Driver, leave_behind};
use super::gather::{Bound, Drive};
use super::lines::{Lines, held, pace};
use super::slot::Slot;
use crate::error::Error;
use crate::lock::Lock;
use crate::runtime::{Runtime, Task};
use crate::select::{Either, select};
use crate::token::Token;
use crate::transport::Transport;

impl<I, A> Lines<I, A> {
    /// The outcome of `item` under the name of `lock`. A caller that is to drive begins the turn by
    /// `begin`, with the rest of its own wait.
    pub(super) async fn submit<T: Transport, R: Runtime>(
        self: &Arc<Self>,
        lock: &Lock<T, R>,
        item: Arc<I>,
        bytes: usize,
        bound: Bound,
        begin: impl Fn(Driver<I, A>, Lock<T, R>) -> Task,
    ) -> Result<A, Error> {
        let runtime = lock.runtime();
        let give_up = runtime.now() + lock.wait;
        let pace = pace(lock);
        let name = lock.line();
        let ticket = Ticket::new(self, &name, item, bytes, bound);
        let ticket = ticket.map_err(|waiting| held(lock, waiting))?;
        // How long there was no sign of life. The first look does not count: a host that stood
        // still ends a driver's timers no sooner than ours.
        let (mut signs, mut quiet) = (0, None);
        let mut has_waited = false;
        loop {
            self.pass_over(&name, signs, quiet.unwrap_or_default());
            if let Some(outcome) = ticket.slot.take() {
                return outcome;
            }
            let left = give_up.since(runtime.now());
            if (!has_waited || !left.is_zero())
                && let Some((driver, orphan)) = ticket.drive(bound, pace)
            {
                // Whatever the outcome of its commit, nobody needs that lease any more. Dropping it
                // gives the lock back.
                drop(orphan.map(|token| lock.resume(token)));
                runtime.spawn(begin(driver, lock.clone().for_others().wait_timeout(left)));
                ticket.call_watchers();
            }
            if left.is_zero()
                && let Some(ahead) = ticket.ahead()
            {
                return Err(held(lock, ahead));
            }
            let now = self.signs(&name);
            if now != signs {
                (signs, quiet) = (now, None);
            }
            let look = match quiet.is_some() || ticket.watches() {
                true => pace,
                false => pace.saturating_mul(SELDOM),
            };
            // A caller in a turn may have to wait again.
            let nap = match left {
                Duration::ZERO => pace,
                left => look.min(left),
            };
            quiet = match select(ticket.slot.called(runtime), runtime.sleep(nap)).await {
                Either::Right(()) => {
                    Some(quiet.map_or(Duration::ZERO, |quiet| quiet.saturating_add(nap)))
                }
                Either::Left(()) => None,
            };
            has_waited = true;
        }
    }

    /// Goes on without a driver that has shown no sign of life since `signs`, if it should have by
    /// now.
    fn pass_over(&self, name: &str, signs: u64, quiet: Duration) {
        let left = self.with(name, |line| {
            let is_late = line.shows_within().is_some_and(|limit| limit <= quiet);
            is_late.then(|| line.has_gone(signs)).flatten()
        });
        if let Some(left) = left.flatten() {
            leave_behind(left);
        }
    }
}

/// A caller that waits. Dropping it removes its item, if its turn has not begun.
struct Ticket<'a, I, A> {
    lines: &'a Arc<Lines<I, A>>,
    name: &'a str,
    number: u64,
    slot: Arc<Slot<A>>,
}

/// So much less often looks who does not [watch](Ticket::watches).
const SELDOM: u32 = 8;

impl<'a, I, A> Ticket<'a, I, A> {
    /// # Errors
    /// So many wait already.
    fn new(
        lines: &'a Arc<Lines<I, A>>,
        name: &'a str,
        item: Arc<I>,
        bytes: usize,
        bound: Bound,
    ) -> Result<Self, usize> {
        let slot = Arc::new(Slot::new());
        let number = lines.arrive(name, item, bytes, &slot, bound)?;
        Ok(Self { lines, name, number, slot })
    }

    fn ahead(&self) -> Option<usize> {
        (self.lines.with(self.name, |line| line.ahead(self.number))).flatten()
    }

    /// As [`Gather::watches`](super::gather::Gather::watches).
    fn watches(&self) -> bool {
        let watches = (self.lines).with(self.name, |line| line.watches(self.number));
        watches.unwrap_or_default()
    }

    /// Calls those who are to watch now, to set their timers.
    fn call_watchers(&self) {
        let watchers = self.lines.with(self.name, |line| line.new_watchers());
        let watchers = watchers.unwrap_or_default();
        watchers.iter().for_each(|slot| slot.call());
    }

    /// A turn to drive, and the lease to give back first.
    fn drive(&self, bound: Bound, shows_within: Duration) -> Option<(Driver<I, A>, Option<Token>)> {
        let Drive { number, orphan } = (self.lines)
            .with(self.name, |line| {
                let drive = line.drive(self.number, bound);
                drive.inspect(|_| line.show_within(shows_within))
            })
            .flatten()?;
        let driver = Driver {
            lines: self.lines.clone(),
            name: self.name.to_owned(),
            number,
            acquisition: self.lines.acquisition(self.name),
        };
        Some((driver, orphan))
    }
}

impl<I, A> Drop for Ticket<'_, I, A> {
    fn drop(&mut self) {
        self.lines.leave();
        let next = (self.lines).with(self.name, |line| line.leave(self.number));
        if let Some(slot) = next.flatten() {
            slot.call();
        }
    }
}
