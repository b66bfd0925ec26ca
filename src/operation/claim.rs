//! One token's claim to one lock: what an acquisition asks with, and its lease then holds.

use std::sync::Arc;
use std::time::Duration;

use super::ask::HearOut;
use super::{Ask, Completed, Cx, Input, Operation, TimeLimit};
use crate::acquisition::Caller;
use crate::command::Reply;
use crate::error::Fault;
use crate::event::{Event, EventKind};
use crate::redact;
use crate::runtime::{Instant, Runtime};
use crate::script::{Answer, Call, Subject, Waiter};
use crate::settings::Settings;
use crate::token::{Session, Token};
use crate::topology::Endpoint;

#[derive(Clone)]
pub(crate) struct Claim {
    pub(crate) lock: Arc<Settings>,
    pub(crate) token: Token,
    /// Tells its requests from those of another that resumed the same token.
    pub(crate) session: Session,
    /// Who claims it, if others may go on with it.
    pub(crate) caller: Option<Caller>,
    /// When it was made; of a lease, when it was granted or resumed.
    pub(crate) since: Instant,
}

impl Claim {
    pub(crate) fn subject(&self) -> Subject<'_> {
        let Settings { name, kind, .. } = &*self.lock;
        let fence_life = kind.fence_life();
        Subject {
            name,
            kind,
            token: &self.token,
            label: &self.lock.label,
            uptime: self.lock.uptime(),
            fence_life: fence_life.unwrap_or(self.lock.topology.fence_life),
        }
    }

    /// Whether its bridge can wait for replicas, if it is to.
    pub(crate) fn check_replicas(&self) -> Result<(), Fault> {
        let can_wait = |endpoint: &Arc<Endpoint>| endpoint.bridge.pairs();
        match self.lock.replicas.is_none() || self.lock.topology.asked().iter().all(can_wait) {
            true => Ok(()),
            false => Err(Fault::invalid(
                "webdis cannot wait for replicas: it has no requests of two commands",
            )),
        }
    }

    /// Whether it may be renewed for `ttl`. A server that came back empty has no say for as long as
    /// the longest hold that it may have forgotten.
    pub(crate) fn check_renewal(&self, ttl: Duration) -> Result<(), Fault> {
        match self.lock.uptime() {
            Some(longest) if ttl > longest => Err(Fault::invalid(
                "a lock over several bridges is renewed for no longer than its ttl, or the quarantine",
            )),
            _ => Ok(()),
        }
    }

    /// What has `call` executed where the lock lives.
    pub(crate) fn ask(&self, call: Arc<Call>, limit: TimeLimit) -> Ask {
        Ask::new(&self.lock.topology, call, &self.session, limit)
    }

    /// `replies` in which errors have neither the token nor a credential.
    pub(crate) fn quoted(&self, mut replies: Vec<Reply>) -> Vec<Reply> {
        for reply in &mut replies {
            if let Reply::Error(text) = reply {
                let text_only = redact::without(self.token.expose(), text);
                *text = self.lock.topology.quote(&text_only);
            }
        }
        replies
    }

    /// Gives up in the background all that was asked for with its token, whatever became of it.
    pub(crate) fn abandon(&self, cx: &mut Cx<'_>, waiter: Option<&Waiter>, limit: TimeLimit) {
        let ask = self.ask(Call::abandon(self.subject(), waiter).into(), limit);
        cx.begin_in_background(GiveBack { claim: self.clone(), ask, lease: None });
    }

    /// Has `call` give up what may have been executed, or may be yet, and was not told to its
    /// caller. Nobody is left to be told what came of it.
    pub(super) fn give_up(&self, cx: &mut Cx<'_>, call: Call) {
        cx.begin_in_background(HearOut(self.ask(call.into(), TimeLimit::TIMEOUT)));
    }

    /// Whether nobody else goes on with it.
    pub(crate) fn is_own(&self) -> bool {
        self.caller.as_ref().is_none_or(Caller::is_last)
    }

    /// It is about to be used up, so that nobody else may go on with it. Whether nobody does.
    pub(crate) fn use_up(&self) -> bool {
        self.caller.as_ref().is_none_or(Caller::end)
    }

    /// The session under which it stands in the queue: that of the first caller that waited.
    pub(crate) fn waits_as(&self) -> &Session {
        (self.caller.as_ref()).map_or(&self.session, Caller::waits_as)
    }

    /// What errors and events call the lock.
    pub(crate) fn shown(&self) -> &str {
        self.lock.name.shown()
    }

    pub(crate) fn ttl(&self) -> Duration {
        self.lock.lasts()
    }

    /// It is stored with these, whatever its own lock says.
    pub(crate) fn adopt(&mut self, ttl: Duration, label: String) {
        if self.ttl() != ttl || self.lock.label != label {
            let lock = Arc::make_mut(&mut self.lock);
            (lock.ttl, lock.label) = (Some(ttl), label);
        }
    }

    pub(crate) fn observe(&self, host: &dyn Runtime, kind: EventKind<'_>) {
        let name = self.shown();
        host.observe(&Event { lock: name, kind });
    }

    /// It was given back by a request that was sent at `asked_at`.
    pub(crate) fn observe_release(&self, host: &dyn Runtime, now: Instant, asked_at: Instant) {
        let kind = EventKind::Released { held: now.since(self.since), took: now.since(asked_at) };
        self.observe(host, kind);
    }
}

/// Gives back what nobody uses any more, unless somebody else goes on with it. Best effort: the
/// result goes to observers only; on failure the ttl frees the lock.
pub(crate) struct GiveBack {
    claim: Claim,
    ask: Ask,
    /// Of a lease: whether it is news that it is lost.
    lease: Option<bool>,
}

impl GiveBack {
    /// A lease that nobody has any more.
    pub(crate) fn lease(claim: Claim, call: Call, tells_loss: bool) -> Self {
        let ask = claim.ask(call.into(), TimeLimit::TIMEOUT);
        Self { claim, ask, lease: Some(tells_loss) }
    }

    fn tell(&self, cx: &Cx<'_>, settled: &Completed) {
        let Some(tells_loss) = self.lease else {
            return;
        };
        match settled.outcome {
            Ok(Answer::Done(_)) => {
                let asked_at = settled.asked_at;
                self.claim.observe_release(cx.host(), cx.now, asked_at);
            }
            Ok(Answer::NotDone) if tells_loss => {
                let held = cx.now.since(self.claim.since);
                self.claim.observe(cx.host(), EventKind::Lost { held });
            }
            _ => {}
        }
    }
}

impl Operation for GiveBack {
    type Outcome = ();

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<()> {
        // Only now: where the host runs nothing more, somebody else can go on with it.
        if matches!(input, Input::Started) && !self.claim.use_up() {
            return Some(());
        }
        let settled = self.ask.on(cx, input)?;
        self.tell(cx, &settled);
        Some(())
    }
}
