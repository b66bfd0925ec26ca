//! Writing under a hold: renewing it, running commands under it, and giving it back.
//!
//! ```text
//! New ── may it? ──▶ Asking ── answered ──▶ done: the hold goes on, or is over
//! ```
//!
//! Of the writes that count, which run commands or give it back, one at a time is under way.

use std::sync::Arc;
use std::time::Duration;

use super::hold::{Hold, LAST, Why, Writing};
use super::{Ask, Completed, Cx, Id, Input, Operation, TimeLimit};
use crate::command::{Command, Reply};
use crate::error::{Error, Fault};
use crate::script::{self, Answer, Call, Renewal, shape};
use crate::ttl;

pub(crate) struct Write {
    hold: Arc<Hold>,
    writes: Writes,
    /// The ttl that it asks for, if that is known; else the script knows it.
    told: Option<Duration>,
    renewal: Renewal,
    /// Set for a write with a number, from when it is sent until it is settled.
    writing: Option<Writing>,
    ask: Option<Ask>,
}

/// What is written under a lease, as its methods say it.
#[allow(unreachable_pub)]
pub enum Writes {
    /// [`Lease::renew`](crate::Lease::renew), or [`Lease::renew_for`](crate::Lease::renew_for).
    Renew(Option<Duration>),
    /// [`Lease::downgrade`](crate::Lease::downgrade).
    Downgrade,
    /// [`Lease::exec`](crate::Lease::exec).
    Exec(Vec<Command>),
    /// [`Lease::commit`](crate::Lease::commit).
    Commit(Vec<Command>),
    /// The same, where a command that failed is a reply, and not the error of all.
    /// The next holder is told what the last ones, so many, find: these only read.
    CommitEach(Vec<Command>, usize),
    /// [`Lease::release`](crate::Lease::release).
    Release,
}

impl Write {
    pub(crate) const fn new(hold: Arc<Hold>, writes: Writes) -> Self {
        Self { hold, writes, told: None, renewal: Renewal::NONE, writing: None, ask: None }
    }

    const fn commands(&self) -> &[Command] {
        match &self.writes {
            Writes::Exec(commands) | Writes::Commit(commands) | Writes::CommitEach(commands, _) => {
                commands.as_slice()
            }
            Writes::Renew(_) | Writes::Downgrade | Writes::Release => &[],
        }
    }

    /// For how long this renewal keeps the hold, if not for the lease's own ttl.
    const fn once(&self) -> Option<Duration> {
        match self.writes {
            Writes::Renew(once) => once,
            _ => None,
        }
    }

    /// What it waits for.
    pub(super) fn waits_for(&self) -> Vec<Id> {
        self.ask.as_ref().map_or_else(Vec::new, Ask::waits_for)
    }

    /// It gives the lock back.
    const fn is_last(&self) -> bool {
        matches!(self.writes, Writes::Commit(_) | Writes::CommitEach(..) | Writes::Release)
    }

    /// # Errors
    /// Why it may not be sent.
    fn begin(&mut self, cx: &Cx<'_>) -> Result<Ask, Fault> {
        let limit = self.check(cx)?;
        if !matches!(self.writes, Writes::Renew(_) | Writes::Downgrade) {
            let has_commands = !self.commands().is_empty();
            let begun = self.hold.begin(cx, has_commands, self.is_last())?;
            self.writing = Some(begun);
        }
        let number = self.writing.as_ref().map_or(0, |writing| writing.number);
        let call = match &self.writes {
            Writes::Release => self.hold.release(LAST, &[], 0),
            Writes::Commit(commands) => self.hold.release(number, commands, 0),
            Writes::CommitEach(commands, told) => {
                let call = self.hold.release(number, commands, *told);
                call.telling_each(true)
            }
            Writes::Renew(_) | Writes::Downgrade | Writes::Exec(_) => self.renewing(number)?,
        };
        let claim = &self.hold.claim;
        let replicas = claim.lock.replicas.as_ref();
        let call = call.replicated(replicas.filter(|_| !matches!(self.writes, Writes::Release)));
        Ok(claim.ask(call.into(), limit))
    }

    /// For how long it makes sense.
    fn check(&self, cx: &Cx<'_>) -> Result<TimeLimit, Fault> {
        let (hold, claim) = (&self.hold, &self.hold.claim);
        if !matches!(self.writes, Writes::Release) {
            claim.check_replicas()?;
        }
        claim.lock.check_writes(self.commands())?;
        match self.writes {
            Writes::Renew(once) => {
                if let Some(ttl) = once {
                    ttl::check(ttl)?;
                    claim.check_renewal(ttl)?;
                }
                if !claim.is_own() {
                    return Err(hold.pass_on(cx.host(), cx.now));
                }
                hold.check_held(cx)
            }
            Writes::Downgrade => hold.check_writer(cx),
            Writes::Exec(_) => hold.check_held(cx),
            Writes::Commit(_) | Writes::CommitEach(..) => hold.check_last_write(cx),
            Writes::Release => {
                hold.check_last(cx.now)?;
                Ok(TimeLimit::TIMEOUT)
            }
        }
    }

    /// The call of a write behind which the hold goes on.
    fn renewing(&mut self, number: u64) -> Result<Call, Fault> {
        let hold = &self.hold;
        self.told = self.once().or_else(|| hold.known_ttl());
        self.renewal = hold.number_renewal();
        let (subject, is_told) = (hold.claim.subject(), self.told.is_some());
        let ttl = self.told.unwrap_or_else(|| hold.claim.ttl());
        let write = script::Write {
            session: &hold.claim.session,
            number,
            fence: hold.fence(),
            commands: self.commands(),
        };
        if !matches!(self.writes, Writes::Downgrade) {
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
        let (hold, is_for_once) = (&self.hold, self.once().is_some());
        match completed.outcome {
            Ok(Answer::NotDone) => Err(hold.miss(cx)),
            Ok(Answer::Renewed(_)) if hold.answers_too_late(cx.now) => Err(hold.expire(cx)),
            Ok(Answer::Renewed(renewed)) => {
                hold.renew(Some(&renewed), self.told, is_for_once, renewed_at);
                hold.grant(self.renewal);
                if matches!(self.writes, Writes::Downgrade) {
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
        if !self.commands().is_empty() {
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
