//! Writing under a hold: renewing it, running commands under it, and giving it back.
//!
//! ```text
//! New ─ may it? ─▶ Renewing ── answered ──▶ done: it goes on
//!          └─────▶ Ending ──── answered ──▶ done: it is over
//! ```
//!
//! Of the writes that count, which run commands or give it back, one at a time is under way.

use std::sync::Arc;
use std::time::Duration;

use super::hold::{Aim, Hold, LAST, Writing};
use super::{Ask, Completed, Cx, Id, Input, Operation, TimeLimit};
use crate::command::{Command, Reply};
use crate::error::{Error, Fault};
use crate::script::{self, Answer, Call, Renewal, shape};
use crate::ttl;

pub(crate) struct Write {
    hold: Arc<Hold>,
    phase: Phase,
    /// Set for a write with a number, from when it is sent until it is settled.
    writing: Option<Writing>,
}

enum Phase {
    New(Aimed),
    /// The hold goes on.
    Renewing(Ask, Term),
    /// It is over.
    Ending(Ask),
    Done,
}

/// What it is to do.
enum Aimed {
    /// For this ttl once, or for the lease's own.
    Renew(Option<Duration>),
    /// As a renewal; from then on the lease is a reader's.
    Downgrade,
    Exec(Vec<Command>),
    /// Whether a command that failed is a reply, and not the error of all.
    Commit(Vec<Command>, bool),
    Release,
}

/// How long a write keeps the hold.
#[derive(Clone, Copy)]
struct Term {
    /// The ttl, if it is known; else the one that the script finds.
    told: Option<Duration>,
    is_for_once: bool,
    is_downgrade: bool,
    renewal: Renewal,
}

impl Write {
    pub(crate) const fn renew(hold: Arc<Hold>) -> Self {
        Self::new(hold, Aimed::Renew(None))
    }

    pub(crate) const fn renew_for(hold: Arc<Hold>, ttl: Duration) -> Self {
        Self::new(hold, Aimed::Renew(Some(ttl)))
    }

    /// Goes on as a reader.
    pub(crate) const fn downgrade(hold: Arc<Hold>) -> Self {
        Self::new(hold, Aimed::Downgrade)
    }

    /// Runs commands, and renews the lease.
    pub(crate) const fn exec(hold: Arc<Hold>, commands: Vec<Command>) -> Self {
        Self::new(hold, Aimed::Exec(commands))
    }

    /// Runs commands, and gives the lock back.
    pub(crate) const fn commit(hold: Arc<Hold>, commands: Vec<Command>) -> Self {
        Self::new(hold, Aimed::Commit(commands, false))
    }

    /// As [`Write::commit`]. A command that failed does not fail the others: its reply is the
    /// error.
    pub(crate) const fn commit_each(hold: Arc<Hold>, commands: Vec<Command>) -> Self {
        Self::new(hold, Aimed::Commit(commands, true))
    }

    pub(crate) const fn release(hold: Arc<Hold>) -> Self {
        Self::new(hold, Aimed::Release)
    }

    const fn new(hold: Arc<Hold>, aimed: Aimed) -> Self {
        Self {
            hold,
            phase: Phase::New(aimed),
            writing: None,
        }
    }

    /// What it waits for.
    pub(super) fn waits_for(&self) -> Vec<Id> {
        match &self.phase {
            Phase::Renewing(ask, _) => ask.waits_for(),
            Phase::Ending(ask) => ask.waits_for(),
            Phase::New(_) | Phase::Done => Vec::new(),
        }
    }

    /// # Errors
    /// Why it may not be sent.
    fn begin(&self, cx: &Cx<'_>, aimed: &Aimed) -> Result<(Phase, Option<Writing>), Fault> {
        let (hold, claim) = (&self.hold, &self.hold.claim);
        match aimed {
            Aimed::Renew(ttl) => {
                if let Some(ttl) = *ttl {
                    ttl::check(ttl)?;
                    claim.check_renewal(ttl)?;
                }
                if !claim.is_own() {
                    return Err(hold.pass_on(cx.host(), cx.now));
                }
                let limit = hold.check_held(cx)?;
                Ok((self.renewing(*ttl, limit, &[], 0), None))
            }
            Aimed::Downgrade => {
                let limit = hold.check_writer(cx)?;
                let term = self.term(None, true);
                let (ttl, write) = (self.ttl(term), self.number(&[], 0));
                let (subject, is_told) = (claim.subject(), term.told.is_some());
                let call = Call::downgrade(subject, ttl, is_told, &write);
                let call = call.ok_or_else(|| hold.no_writer())?;
                Ok((self.going_on(call, limit, term), None))
            }
            Aimed::Exec(commands) => {
                claim.check_writes(commands)?;
                let limit = hold.check_held(cx)?;
                let aim = Aim {
                    has_commands: !commands.is_empty(),
                    is_last: false,
                };
                let writing = hold.begin(cx, aim)?;
                let phase = self.renewing(None, limit, commands, writing.number);
                Ok((phase, Some(writing)))
            }
            Aimed::Commit(commands, tells_each) => {
                claim.check_writes(commands)?;
                let limit = hold.check_last_write(cx)?;
                let aim = Aim {
                    has_commands: !commands.is_empty(),
                    is_last: true,
                };
                let writing = hold.begin(cx, aim)?;
                let call = hold.release(writing.number, commands);
                let call = call.replicated(claim.replicas.as_ref());
                let call = call.telling_each(*tells_each);
                Ok((Phase::Ending(claim.ask(call.into(), limit)), Some(writing)))
            }
            Aimed::Release => {
                hold.check_last(cx.now)?;
                let aim = Aim {
                    has_commands: false,
                    is_last: true,
                };
                let writing = hold.begin(cx, aim)?;
                let ask = claim.ask(hold.release(LAST, &[]).into(), TimeLimit::TIMEOUT);
                Ok((Phase::Ending(ask), Some(writing)))
            }
        }
    }

    fn renewing(
        &self,
        ttl: Option<Duration>,
        limit: TimeLimit,
        commands: &[Command],
        number: u64,
    ) -> Phase {
        let term = self.term(ttl, false);
        let (ttl, write) = (self.ttl(term), self.number(commands, number));
        let subject = self.hold.claim.subject();
        let call = Call::renew(subject, ttl, term.told.is_some(), &write, term.renewal);
        self.going_on(call, limit, term)
    }

    fn term(&self, ttl: Option<Duration>, is_downgrade: bool) -> Term {
        Term {
            told: ttl.or_else(|| self.hold.known_ttl()),
            is_for_once: ttl.is_some(),
            is_downgrade,
            renewal: self.hold.number_renewal(),
        }
    }

    fn ttl(&self, term: Term) -> Duration {
        term.told.unwrap_or(self.hold.claim.ttl)
    }

    fn number<'a>(&'a self, commands: &'a [Command], number: u64) -> script::Write<'a> {
        script::Write {
            session: &self.hold.claim.session,
            number,
            fence: self.hold.fence(),
            commands,
        }
    }

    fn going_on(&self, call: Call, limit: TimeLimit, term: Term) -> Phase {
        let claim = &self.hold.claim;
        let call = call.replicated(claim.replicas.as_ref());
        Phase::Renewing(claim.ask(call.into(), limit), term)
    }

    fn renewed(
        &mut self,
        cx: &mut Cx<'_>,
        term: Term,
        settled: Completed,
    ) -> Result<Vec<Reply>, Fault> {
        // A repeat gets the answer to the first request that arrived, which was the one that gave
        // the full ttl.
        let renewed_at = match self.writing {
            Some(_) => settled.begun_at,
            None => settled.asked_at,
        };
        let took = cx.now.since(settled.asked_at);
        let hold = &self.hold;
        let told = match settled.outcome {
            Ok(Answer::NotDone) => Err(hold.miss(cx)),
            Ok(Answer::Renewed(_)) if hold.answers_too_late(cx.now) => Err(hold.expire(cx)),
            Ok(Answer::Renewed(renewed)) => {
                hold.renew(Some(&renewed), term.told, term.is_for_once, renewed_at);
                hold.grant(term.renewal);
                if term.is_downgrade {
                    hold.become_reader();
                }
                hold.observe_renewal(cx, took);
                Ok(renewed.replies)
            }
            Ok(_) => Err(shape()),
            Err(error) => {
                if let Error::CommandFailed { .. } = *error {
                    hold.renew(None, term.told, term.is_for_once, renewed_at);
                    hold.observe_renewal(cx, took);
                }
                Err(error)
            }
        };
        match self.writing.take() {
            Some(writing) => self.hold.settle(cx, writing, told.map(Some)),
            None => told,
        }
    }

    fn go_on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Result<Vec<Reply>, Fault>> {
        match &mut self.phase {
            Phase::Renewing(ask, term) => {
                let (settled, term) = (ask.on(cx, input)?, *term);
                Some(self.renewed(cx, term, settled))
            }
            Phase::Ending(ask) => {
                let settled = ask.on(cx, input)?;
                let writing = self.writing.take()?;
                let told = settled.outcome.and_then(Answer::replies);
                let told = self.hold.settle(cx, writing, told);
                self.hold.observe_end(cx, &told, settled.asked_at);
                Some(told.map(|replies| self.hold.claim.quoted(replies)))
            }
            Phase::New(_) | Phase::Done => None,
        }
    }
}

impl Operation for Write {
    type Outcome = Result<Vec<Reply>, Error>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        if let Phase::New(aimed) = &self.phase {
            match self.begin(cx, aimed) {
                Ok((phase, writing)) => (self.phase, self.writing) = (phase, writing),
                Err(error) => {
                    self.phase = Phase::Done;
                    let lock = self.hold.claim.name.shown();
                    return Some(Err(error.of_lock(Some(lock)).into()));
                }
            }
        }
        Some(self.go_on(cx, input)?.map_err(Error::from))
    }

    /// Nobody learns the outcome of what was sent.
    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.phase = Phase::Done;
        if let Some(writing) = self.writing.take() {
            self.hold.forsake(cx.now, writing);
        }
    }
}
