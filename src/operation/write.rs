//! Writing under a hold: renewing it, running commands under it, and giving it back.
//!
//! ```text
//! New ── may it? ──▶ Asking ── answered ──▶ done: the hold goes on, or is over
//! ```
//!
//! Of the writes that count, which run commands or give it back, one at a time is under way.

use std::sync::Arc;
use std::time::Duration;

use super::hold::{Aim, Hold, LAST, Why, Writing};
use super::{Ask, Completed, Cx, Id, Input, Operation, TimeLimit};
use crate::command::{Command, Reply};
use crate::error::{Error, Fault};
use crate::script::{self, Answer, Call, Renewal, shape};
use crate::ttl;

pub(crate) struct Write {
    hold: Arc<Hold>,
    aimed: Aimed,
    commands: Vec<Command>,
    /// Whether a command that failed is a reply, and not the error of all.
    tells_each: bool,
    /// Of so many of the commands, which come last and only read, the next holder is told.
    told_next: usize,
    /// For how long this renewal keeps the hold, if not for the lease's own ttl.
    once: Option<Duration>,
    /// The ttl that it asks for, if that is known; else the script knows it.
    told: Option<Duration>,
    renewal: Renewal,
    /// Set for a write with a number, from when it is sent until it is settled.
    writing: Option<Writing>,
    ask: Option<Ask>,
}

/// What it is to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aimed {
    Renew,
    /// As a renewal; from then on the lease is a reader's.
    Downgrade,
    /// Runs commands, and renews.
    Exec,
    /// Runs commands, and releases.
    Commit,
    Release,
}

impl Write {
    pub(crate) const fn renew(hold: Arc<Hold>) -> Self {
        Self::new(hold, Aimed::Renew, Vec::new())
    }

    pub(crate) fn renew_for(hold: Arc<Hold>, ttl: Duration) -> Self {
        Self {
            once: Some(ttl),
            ..Self::renew(hold)
        }
    }

    /// Goes on as a reader.
    pub(crate) const fn downgrade(hold: Arc<Hold>) -> Self {
        Self::new(hold, Aimed::Downgrade, Vec::new())
    }

    /// Runs commands, and renews the lease.
    pub(crate) const fn exec(hold: Arc<Hold>, commands: Vec<Command>) -> Self {
        Self::new(hold, Aimed::Exec, commands)
    }

    /// Runs commands, and gives the lock back.
    pub(crate) const fn commit(hold: Arc<Hold>, commands: Vec<Command>) -> Self {
        Self::new(hold, Aimed::Commit, commands)
    }

    /// As [`Write::commit`]. A command that failed does not fail the others: its reply is the
    /// error. The next holder is told what the last `told` commands find, which only read.
    pub(crate) fn commit_each(hold: Arc<Hold>, commands: Vec<Command>, told: usize) -> Self {
        Self {
            tells_each: true,
            told_next: told,
            ..Self::commit(hold, commands)
        }
    }

    pub(crate) const fn release(hold: Arc<Hold>) -> Self {
        Self::new(hold, Aimed::Release, Vec::new())
    }

    const fn new(hold: Arc<Hold>, aimed: Aimed, commands: Vec<Command>) -> Self {
        Self {
            hold,
            aimed,
            commands,
            tells_each: false,
            told_next: 0,
            once: None,
            told: None,
            renewal: Renewal::NONE,
            writing: None,
            ask: None,
        }
    }

    /// What it waits for.
    pub(super) fn waits_for(&self) -> Vec<Id> {
        self.ask.as_ref().map_or_else(Vec::new, Ask::waits_for)
    }

    /// It gives the lock back.
    const fn is_last(&self) -> bool {
        matches!(self.aimed, Aimed::Commit | Aimed::Release)
    }

    /// # Errors
    /// Why it may not be sent.
    fn begin(&mut self, cx: &Cx<'_>) -> Result<Ask, Fault> {
        let limit = self.check(cx)?;
        if !matches!(self.aimed, Aimed::Renew | Aimed::Downgrade) {
            let aim = Aim {
                has_commands: !self.commands.is_empty(),
                is_last: self.is_last(),
            };
            self.writing = Some(self.hold.begin(cx, aim)?);
        }
        let number = self.writing.as_ref().map_or(0, |writing| writing.number);
        let call = match self.aimed {
            Aimed::Release => self.hold.release(LAST, &[], 0),
            Aimed::Commit => {
                let call = self.hold.release(number, &self.commands, self.told_next);
                call.telling_each(self.tells_each)
            }
            Aimed::Renew | Aimed::Downgrade | Aimed::Exec => self.renewing(number)?,
        };
        let claim = &self.hold.claim;
        let replicas = claim.lock.replicas.as_ref();
        let call = call.replicated(replicas.filter(|_| self.aimed != Aimed::Release));
        Ok(claim.ask(call.into(), limit))
    }

    /// For how long it makes sense.
    fn check(&self, cx: &Cx<'_>) -> Result<TimeLimit, Fault> {
        let (hold, claim) = (&self.hold, &self.hold.claim);
        if self.aimed != Aimed::Release {
            claim.check_replicas()?;
        }
        match self.aimed {
            Aimed::Renew => {
                if let Some(ttl) = self.once {
                    ttl::check(ttl)?;
                    claim.check_renewal(ttl)?;
                }
                if !claim.is_own() {
                    return Err(hold.pass_on(cx.host(), cx.now));
                }
                hold.check_held(cx)
            }
            Aimed::Downgrade => hold.check_writer(cx),
            Aimed::Exec => {
                claim.check_writes(&self.commands)?;
                hold.check_held(cx)
            }
            Aimed::Commit => {
                claim.check_writes(&self.commands)?;
                hold.check_last_write(cx)
            }
            Aimed::Release => {
                hold.check_last(cx.now)?;
                Ok(TimeLimit::TIMEOUT)
            }
        }
    }

    /// The call of a write behind which the hold goes on.
    fn renewing(&mut self, number: u64) -> Result<Call, Fault> {
        let hold = &self.hold;
        self.told = self.once.or_else(|| hold.known_ttl());
        self.renewal = hold.number_renewal();
        let (subject, is_told) = (hold.claim.subject(), self.told.is_some());
        let ttl = self.told.unwrap_or_else(|| hold.claim.ttl());
        let write = script::Write {
            session: &hold.claim.session,
            number,
            fence: hold.fence(),
            commands: &self.commands,
        };
        if self.aimed != Aimed::Downgrade {
            return Ok(Call::renew(subject, ttl, is_told, &write, self.renewal));
        }
        let call = Call::downgrade(subject, ttl, is_told, &write);
        call.ok_or_else(|| hold.no_writer())
    }

    /// The hold goes on.
    fn renewed(&self, cx: &mut Cx<'_>, completed: Completed) -> Result<Vec<Reply>, Fault> {
        // A repeat gets the answer to the first request that arrived, which was the one that gave
        // the full ttl.
        let renewed_at = match self.writing {
            Some(_) => completed.begun_at,
            None => completed.asked_at,
        };
        let took = cx.now.since(completed.asked_at);
        let (hold, is_for_once) = (&self.hold, self.once.is_some());
        match completed.outcome {
            Ok(Answer::NotDone) => Err(hold.miss(cx)),
            Ok(Answer::Renewed(_)) if hold.answers_too_late(cx.now) => Err(hold.expire(cx)),
            Ok(Answer::Renewed(renewed)) => {
                hold.renew(Some(&renewed), self.told, is_for_once, renewed_at);
                hold.grant(self.renewal);
                if self.aimed == Aimed::Downgrade {
                    hold.become_reader();
                }
                hold.observe_renewal(cx, took);
                Ok(renewed.replies)
            }
            Ok(_) => Err(shape()),
            Err(fault) => {
                if let Error::CommandFailed { .. } = *fault {
                    hold.renew(None, self.told, is_for_once, renewed_at);
                    hold.observe_renewal(cx, took);
                }
                Err(fault)
            }
        }
    }

    /// The error may be that of an earlier release, which may be made again. What runs commands may
    /// not.
    fn failed(&self, mut fault: Fault) -> Fault {
        if !self.commands.is_empty() {
            fault.of_call_that(false);
        }
        fault
    }

    fn answered(&mut self, cx: &mut Cx<'_>, completed: Completed) -> Result<Vec<Reply>, Fault> {
        let asked_at = completed.asked_at;
        let told = match self.is_last() {
            false => self.renewed(cx, completed),
            true => completed.outcome.and_then(|answer| {
                let lost = || self.hold.error(Why::Lost);
                answer.replies()?.ok_or_else(lost)
            }),
        };
        let told = match self.writing.take() {
            Some(writing) => self.hold.settle(cx, writing, told),
            None => told,
        };
        if !self.is_last() {
            return told;
        }
        self.hold.observe_end(cx, &told, asked_at);
        told.map(|replies| self.hold.claim.quoted(replies))
    }
}

impl Operation for Write {
    type Outcome = Result<Vec<Reply>, Fault>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        if let Input::Started = input {
            match self.begin(cx) {
                Ok(ask) => self.ask = Some(ask),
                Err(fault) => {
                    let lock = self.hold.claim.shown();
                    return Some(Err(self.failed(fault).of_lock(Some(lock))));
                }
            }
        }
        let completed = self.ask.as_mut()?.on(cx, input)?;
        self.ask = None;
        let told = self.answered(cx, completed);
        Some(told.map_err(|fault| self.failed(fault)))
    }

    /// Nobody learns the outcome of what was sent.
    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.ask = None;
        if let Some(writing) = self.writing.take() {
            self.hold.forsake(cx.now, writing);
        }
    }
}
