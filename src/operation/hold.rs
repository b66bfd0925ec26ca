//! A hold on a lock, as far as its own process knows of it: what the operations of one lease share.

mod phase;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::{Claim, Cx, GiveBack, TimeLimit};
use crate::command::{Command, Reply};
use crate::error::{Error, Fault};
use crate::event::EventKind;
use crate::runtime::{Instant, Runtime};
use crate::script::{Call, Renewal, Renewed, Write};
use crate::tasks::{Watchers, locked};
use crate::token::Token;
use crate::topology::Holding;
use phase::State;

pub(crate) use phase::Why;
pub(super) use phase::Writing;

/// No write follows the release of a hold.
pub(super) const LAST: u64 = (1 << 53) - 1;

pub(crate) struct Hold {
    pub(crate) claim: Claim,
    state: Arc<Mutex<State>>,
    /// They are told when it ends, and when a write of it ends.
    pub(crate) watchers: Watchers,
}

impl Hold {
    /// Without a deadline it is that of a resumed lease, which learns its fence from its first
    /// renewal, and its ttl if it was given none.
    pub(crate) fn new(
        claim: Claim,
        fence: u64,
        ttl: Option<Duration>,
        deadline: Option<Instant>,
    ) -> Self {
        let state = Arc::new(Mutex::new(State::new(fence, ttl, deadline)));
        let hold = Self { claim, state, watchers: Watchers::default() };
        let lock = &hold.claim.lock;
        lock.topology.holds().enter(&lock.name, Arc::downgrade(&hold.state) as _);
        hold
    }

    /// By which the scripts recognise it; 0 as long as it is not known.
    pub(crate) fn fence(&self) -> u64 {
        self.state().fence
    }

    pub(crate) fn remaining(&self, now: Instant) -> Duration {
        self.state().remaining(now)
    }

    /// It is over here, and goes on where its token is resumed.
    pub(crate) fn leave(&self) {
        self.claim.use_up();
        self.end(Why::Released);
    }

    /// As [`Hold::leave`], while others may have calls of it under way.
    pub(crate) fn hand_over(&self, host: &dyn Runtime, now: Instant) -> Result<Token, Fault> {
        self.check_own(host, now)?;
        let handed = self.state().hand_over();
        handed.map_err(|why| self.error(why))?;
        self.watchers.tell();
        Ok(self.claim.token.clone())
    }

    /// What gives it back if nobody has it any more.
    pub(crate) fn give_back(&self) -> Option<GiveBack> {
        let state = self.state();
        let (is_over, tells_loss) = (state.is_over(), state.tells_loss());
        drop(state);
        if is_over || !self.claim.is_own() {
            return None;
        }
        let call = self.release(LAST, &[], 0);
        Some(GiveBack::lease(self.claim.clone(), call, tells_loss))
    }

    /// The call that gives it back, as its write of this number.
    /// The next holder is told what the last `told` of the commands find, which only read.
    pub(super) fn release(&self, number: u64, commands: &[Command], told: usize) -> Call {
        let write = Write {
            session: &self.claim.session,
            number,
            // A release ends any hold of the token.
            fence: match number {
                LAST => 0,
                _ => self.fence(),
            },
            commands,
        };
        Call::release(self.claim.subject(), &write, told)
    }

    /// Until what is returned is dropped, it is kept.
    pub(crate) fn begin_keeping(&self) -> Result<Keeping<'_>, Fault> {
        self.start_keeping()?;
        Ok(Keeping(self))
    }

    /// It is kept, until [`Hold::quit_keeping`].
    pub(crate) fn start_keeping(&self) -> Result<(), Fault> {
        let begun = self.state().begin_keeping();
        begun.map_err(|why| self.error(why))
    }

    pub(crate) fn quit_keeping(&self) {
        self.state().end_keeping();
    }

    /// Whether it is held, or its release or commit may be sent again.
    ///
    /// # Errors
    /// Why neither: busy while a release or commit is under way.
    pub(super) fn may_end(&self) -> Result<bool, Why> {
        let state = self.state();
        state.check_last()?;
        Ok(state.is_held())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over()
    }

    /// No write of it is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().is_idle()
    }

    pub(super) fn is_held(&self) -> bool {
        self.state().is_held()
    }

    /// `None` for that of a resumed lease that was not renewed yet.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.state().deadline()
    }

    /// What renewals give it, if that is known.
    pub(super) fn known_ttl(&self) -> Option<Duration> {
        self.state().ttl
    }

    /// What renewals give it, as far as that is known.
    pub(super) fn ttl(&self) -> Duration {
        self.known_ttl().unwrap_or_else(|| self.claim.ttl())
    }

    /// Why it is not known what became of the last write, if it is not.
    pub(crate) fn unknown(&self, now: Instant) -> Option<Fault> {
        let unknown = self.state().unknown(now);
        unknown.map(|error| error.of_lock(Some(self.claim.shown())))
    }

    pub(crate) fn error(&self, why: Why) -> Fault {
        why.about(self.claim.shown())
    }

    /// It reads from now on.
    pub(super) fn become_reader(&self) {
        self.state().is_downgraded = true;
    }

    /// Begins a write that counts, behind one of the checks.
    pub(super) fn begin(
        &self,
        cx: &Cx<'_>,
        has_commands: bool,
        is_last: bool,
    ) -> Result<Writing, Fault> {
        self.check_own(cx.host(), cx.now)?;
        let begun = self.state().begin(has_commands, is_last, cx.now);
        begun.map_err(|why| self.error(why))
    }

    /// The outcome for the caller of a write, from what Redis told.
    pub(super) fn settle(
        &self,
        cx: &Cx<'_>,
        writing: Writing,
        told: Result<Vec<Reply>, Fault>,
    ) -> Result<Vec<Reply>, Fault> {
        let told = self.state().settle(writing, cx.now, told);
        self.watchers.tell();
        told
    }

    /// Nobody waits for a write any more.
    pub(super) fn forsake(&self, now: Instant, writing: Writing) {
        let lock = self.claim.shown();
        self.state().forsake(writing, now, lock);
        self.watchers.tell();
    }

    /// It was renewed from `renewed_at` on, by what the script said, or for what it was told.
    pub(super) fn renew(
        &self,
        renewed: Option<&Renewed>,
        told: Option<Duration>,
        is_for_once: bool,
        renewed_at: Instant,
    ) {
        self.state().renew(renewed, told, is_for_once, renewed_at);
    }

    /// It goes on, unless something else has ended it meanwhile.
    pub(super) fn observe_renewal(&self, cx: &Cx<'_>, took: Duration) {
        if self.is_held() {
            self.claim.observe(cx.host(), EventKind::Renewed { took });
        }
    }

    /// A renewal found the lock not held: why.
    pub(super) fn miss(&self, cx: &mut Cx<'_>) -> Fault {
        let why = self.state().why_not_held();
        if why == Why::Lost {
            self.lose(cx);
        }
        self.error(why)
    }

    fn lose(&self, cx: &mut Cx<'_>) {
        self.claim.use_up();
        self.end(Why::Lost);
        self.tell_loss(cx.host(), cx.now);
        // A minority may still keep others out.
        if self.claim.lock.kind.is_voted() {
            self.claim.abandon(cx, None, TimeLimit::TIMEOUT);
        }
    }

    /// A release or a commit came back; what its caller is told of it.
    pub(super) fn observe_end(
        &self,
        cx: &Cx<'_>,
        told: &Result<Vec<Reply>, Fault>,
        asked_at: Instant,
    ) {
        match told.as_ref().map_err(|fault| &**fault) {
            Ok(_) | Err(Error::CommandFailed { .. } | Error::NotReplicated { .. }) => {
                self.claim.observe_release(cx.host(), cx.now, asked_at);
            }
            Err(Error::Lost { .. }) => self.tell_loss(cx.host(), cx.now),
            Err(_) => {}
        }
    }

    /// It is over for good, unless it was before.
    pub(crate) fn end(&self, why: Why) {
        self.state().end(why);
        self.watchers.tell();
    }

    /// Another goes on with its acquisition.
    pub(super) fn pass_on(&self, host: &dyn Runtime, now: Instant) -> Fault {
        self.end(Why::Lost);
        self.tell_loss(host, now);
        self.error(Why::Lost)
    }

    pub(super) fn tell_loss(&self, host: &dyn Runtime, now: Instant) {
        let is_news = self.state().tell_lost();
        if is_news {
            let held = now.since(self.claim.since);
            self.claim.observe(host, EventKind::Lost { held });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

/// Whether a request under a hold makes sense, and until when.
impl Hold {
    /// For how long a request under it makes sense, or why none does.
    pub(super) fn check_held(&self, cx: &Cx<'_>) -> Result<TimeLimit, Fault> {
        let checked = self.state().check_held();
        checked.map_err(|why| self.refusal(why, cx.now))?;
        self.check_time(cx)
    }

    /// As [`Hold::check_held`], for a commit.
    pub(super) fn check_last_write(&self, cx: &Cx<'_>) -> Result<TimeLimit, Fault> {
        self.check_last(cx.now)?;
        self.check_time(cx)
    }

    /// As [`Hold::check_held`], for a writer that is to read.
    pub(super) fn check_writer(&self, cx: &Cx<'_>) -> Result<TimeLimit, Fault> {
        if self.claim.lock.kind.downgrade().is_none() || self.state().is_downgraded {
            return Err(self.no_writer());
        }
        let until = self.check_held(cx)?;
        // Who would go on with its acquisition would go on as the writer.
        self.check_own(cx.host(), cx.now)?;
        Ok(until)
    }

    pub(super) fn no_writer(&self) -> Fault {
        let what = "only the lease of a read/write lock's writer can be downgraded";
        Fault::invalid(what)
    }

    pub(super) fn check_last(&self, now: Instant) -> Result<(), Fault> {
        let checked = self.state().check_last();
        checked.map_err(|why| self.refusal(why, now))
    }

    /// Past the deadline it is over, whoever gives it back at the moment.
    fn refusal(&self, why: Why, now: Instant) -> Fault {
        self.error(match why {
            Why::Busy if self.is_past(now) => Why::Expired,
            _ => why,
        })
    }

    fn is_past(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    fn check_time(&self, cx: &Cx<'_>) -> Result<TimeLimit, Fault> {
        let state = self.state();
        match state.deadline() {
            Some(deadline) if deadline <= cx.now => {
                // Of an earlier one that nobody knows the outcome of, this says nothing.
                if let Some(unknown) = state.unsettled().and_then(Fault::again) {
                    return Err(unknown);
                }
                drop(state);
                Err(self.expire(cx))
            }
            Some(deadline) => Ok(TimeLimit::at(deadline)),
            None => Ok(TimeLimit::TIMEOUT),
        }
    }

    /// Whether the answer to a renewal comes past the deadline, where that says no more than that
    /// a majority votes for it now: others may have had the lock in between.
    pub(super) fn answers_too_late(&self, now: Instant) -> bool {
        self.claim.lock.kind.is_voted() && self.is_past(now)
    }

    /// The renewal that begins now.
    pub(super) fn number_renewal(&self) -> Renewal {
        self.state().number_renewal()
    }

    /// A majority had voted for it before.
    pub(super) fn grant(&self, renewal: Renewal) {
        self.state().grant(renewal);
    }

    /// It is past its deadline.
    pub(super) fn expire(&self, cx: &Cx<'_>) -> Fault {
        self.tell_loss(cx.host(), cx.now);
        self.error(Why::Expired)
    }

    /// From now on nobody else can go on with its acquisition.
    ///
    /// # Errors
    /// [`Error::Lost`] if somebody has.
    fn check_own(&self, host: &dyn Runtime, now: Instant) -> Result<(), Fault> {
        match self.claim.use_up() {
            true => Ok(()),
            false => Err(self.pass_on(host, now)),
        }
    }
}

/// That a hold is kept.
pub(crate) struct Keeping<'a>(&'a Hold);

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        self.0.quit_keeping();
    }
}

impl Holding for Mutex<State> {
    fn is_held(&self, now: Instant) -> bool {
        !locked(self).remaining(now).is_zero()
    }
}
