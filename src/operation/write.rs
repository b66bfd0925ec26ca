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

use super::hold::{Aim, Hold, Writing};
use super::{Ask, Cx, Id, Input, Operation, Settled, Until};
use crate::command::{Command, Reply};
use crate::error::Error;
use crate::event::EventKind;
use crate::runtime::Instant;
use crate::script::{self, Call, Renewed};
use crate::ttl;

/// Nothing is written behind the release of a hold.
pub(super) const LAST: u64 = (1 << 53) - 1;

pub(crate) struct Write {
    hold: Arc<Hold>,
    phase: Phase,
}

enum Phase {
    New(Aimed),
    Renewing(Renewing),
    Ending(Ask<Option<Vec<Reply>>>, Writing),
    Done,
}

/// What it is to do.
enum Aimed {
    /// For this long once, or as always.
    Renew(Option<Duration>),
    Exec(Vec<Command>),
    Commit(Vec<Command>),
    Release,
}

/// A write after which the hold goes on.
struct Renewing {
    ask: Ask<Option<Renewed>>,
    /// For how long, if that is known; else as the script finds it.
    told: Option<Duration>,
    is_for_once: bool,
    /// Only if it has commands.
    writing: Option<Writing>,
}

impl Write {
    pub(crate) const fn renew(hold: Arc<Hold>) -> Self {
        Self::new(hold, Aimed::Renew(None))
    }

    pub(crate) const fn renew_for(hold: Arc<Hold>, ttl: Duration) -> Self {
        Self::new(hold, Aimed::Renew(Some(ttl)))
    }

    /// Runs commands, and renews.
    pub(crate) const fn exec(hold: Arc<Hold>, commands: Vec<Command>) -> Self {
        Self::new(hold, Aimed::Exec(commands))
    }

    /// Runs commands, and gives the lock back.
    pub(crate) const fn commit(hold: Arc<Hold>, commands: Vec<Command>) -> Self {
        Self::new(hold, Aimed::Commit(commands))
    }

    pub(crate) const fn release(hold: Arc<Hold>) -> Self {
        Self::new(hold, Aimed::Release)
    }

    const fn new(hold: Arc<Hold>, aimed: Aimed) -> Self {
        Self {
            hold,
            phase: Phase::New(aimed),
        }
    }

    /// What it waits for.
    pub(super) fn waits_for(&self) -> Vec<Id> {
        match &self.phase {
            Phase::Renewing(renewing) => renewing.ask.waits_for(),
            Phase::Ending(ask, _) => ask.waits_for(),
            Phase::New(_) | Phase::Done => Vec::new(),
        }
    }

    /// # Errors
    /// Why it may not be sent.
    fn begin(&self, cx: &Cx<'_>, aimed: &Aimed) -> Result<Phase, Error> {
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
                let until = hold.check_held(cx)?;
                Ok(self.renewing(*ttl, until, &[], None))
            }
            Aimed::Exec(commands) => {
                claim.check_commands(commands)?;
                let until = hold.check_held(cx)?;
                let aim = Aim {
                    has_commands: !commands.is_empty(),
                    is_last: false,
                };
                let writing = hold.begin(cx, aim)?;
                Ok(self.renewing(None, until, commands, Some(writing)))
            }
            Aimed::Commit(commands) => {
                claim.check_commands(commands)?;
                let until = hold.check_last_write(cx)?;
                let aim = Aim {
                    has_commands: !commands.is_empty(),
                    is_last: true,
                };
                let writing = hold.begin(cx, aim)?;
                let call = release(hold, writing.number, commands);
                Ok(Phase::Ending(claim.ask(call.into(), until), writing))
            }
            Aimed::Release => {
                hold.check_last()?;
                let aim = Aim {
                    has_commands: false,
                    is_last: true,
                };
                let writing = hold.begin(cx, aim)?;
                let call = release(hold, LAST, &[]);
                Ok(Phase::Ending(
                    claim.ask(call.into(), Until::Timeout),
                    writing,
                ))
            }
        }
    }

    fn renewing(
        &self,
        ttl: Option<Duration>,
        until: Until,
        commands: &[Command],
        writing: Option<Writing>,
    ) -> Phase {
        let (hold, claim) = (&self.hold, &self.hold.claim);
        let told = ttl.or_else(|| hold.known_ttl());
        let write = script::Write {
            session: &claim.session,
            number: writing.as_ref().map_or(0, |writing| writing.number),
            fence: hold.known_fence(),
            commands,
        };
        let ttl_or_usual = told.unwrap_or(claim.ttl);
        let call = Call::renew(claim.subject(), ttl_or_usual, told.is_some(), &write)
            .replicated(claim.replicas.as_ref());
        Phase::Renewing(Renewing {
            ask: claim.ask(call.into(), until),
            told,
            is_for_once: ttl.is_some(),
            writing,
        })
    }

    fn renewed(
        &self,
        cx: &mut Cx<'_>,
        renewing: Renewing,
        settled: Settled<Option<Renewed>>,
    ) -> Result<Vec<Reply>, Error> {
        let hold = &self.hold;
        // The answer to a repeat is that of the first to arrive, which was what gave the full ttl.
        let renewed_at = match renewing.writing {
            Some(_) => settled.begun_at,
            None => settled.asked_at,
        };
        let told = match settled.outcome {
            Ok(None) => Err(hold.miss(cx)),
            Ok(Some(renewed)) => {
                self.goes_on(cx, &renewing, Some(&renewed), renewed_at, settled.asked_at);
                Ok(renewed.replies)
            }
            Err(error) => {
                if let Error::CommandFailed { .. } = error {
                    self.goes_on(cx, &renewing, None, renewed_at, settled.asked_at);
                }
                Err(error)
            }
        };
        match renewing.writing {
            Some(writing) => hold.settle(cx, writing, told.map(Some)),
            None => told,
        }
    }

    fn goes_on(
        &self,
        cx: &Cx<'_>,
        renewing: &Renewing,
        renewed: Option<&Renewed>,
        renewed_at: Instant,
        asked_at: Instant,
    ) {
        let hold = &self.hold;
        hold.renew(renewed, renewing.told, renewing.is_for_once, renewed_at);
        if hold.is_held() {
            let took = cx.now.since(asked_at);
            hold.claim.observe(cx.host(), EventKind::Renewed { took });
        }
    }

    fn go_on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Result<Vec<Reply>, Error>> {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Renewing(mut renewing) => match renewing.ask.on(cx, input) {
                Some(settled) => Some(self.renewed(cx, renewing, settled)),
                None => {
                    self.phase = Phase::Renewing(renewing);
                    None
                }
            },
            Phase::Ending(mut ask, writing) => match ask.on(cx, input) {
                Some(settled) => {
                    let asked_at = settled.asked_at;
                    let told = self.hold.settle(cx, writing, settled.outcome);
                    self.hold.observe_end(cx, &told, asked_at);
                    Some(told)
                }
                None => {
                    self.phase = Phase::Ending(ask, writing);
                    None
                }
            },
            Phase::New(_) | Phase::Done => None,
        }
    }
}

impl Operation for Write {
    type Outcome = Result<Vec<Reply>, Error>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        if let Phase::New(aimed) = &self.phase {
            match self.begin(cx, aimed) {
                Ok(phase) => self.phase = phase,
                Err(error) => {
                    self.phase = Phase::Done;
                    return Some(Err(error));
                }
            }
        }
        self.go_on(cx, input)
    }

    /// Nobody knows what becomes of what was sent.
    fn cancel(&mut self, cx: &mut Cx<'_>) {
        let writing = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Renewing(renewing) => renewing.writing,
            Phase::Ending(_, writing) => Some(writing),
            Phase::New(_) | Phase::Done => None,
        };
        if let Some(writing) = writing {
            self.hold.forsake(cx.now, writing);
        }
    }
}

/// What gives `hold` back, as its write of this number.
pub(super) fn release(hold: &Hold, number: u64, commands: &[Command]) -> Call {
    let write = script::Write {
        session: &hold.claim.session,
        number,
        // What gives back, and does nothing else, ends whatever hold the token has.
        fence: match commands {
            [] => 0,
            _ => hold.known_fence(),
        },
        commands,
    };
    Call::release(hold.claim.subject(), &write)
}
