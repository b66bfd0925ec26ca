//! One token's claim to one lock: what an acquisition asks with, and what its lease then holds.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use crate::acquisition::Caller;
use crate::client::Client;
use crate::command::Reply;
use crate::event::EventKind;
use crate::name::Name;
use crate::operation::{Settled, Until};
use crate::replicas::Replicas;
use crate::runtime::{Moment, Runtime, Task};
use crate::script::{Call, Kind, Subject};
use crate::token::{Session, Token};
use crate::transport::Transport;

pub(crate) struct Claim<T, R> {
    pub(crate) client: Client<T, R>,
    pub(crate) name: Name,
    pub(crate) kind: Kind,
    pub(crate) ttl: Duration,
    pub(crate) replicas: Option<Replicas>,
    pub(crate) token: Token,
    /// Tells its requests from those of another that resumed the same token.
    pub(crate) session: Session,
    /// Who claims it, if others may go on with it.
    pub(crate) caller: Option<Caller>,
    /// What others are told of who has it, as it is stored.
    pub(crate) label: String,
    /// When it was made; of a lease, when it was granted or resumed.
    pub(crate) since: Moment,
}

impl<T: Transport, R: Runtime> Claim<T, R> {
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            name: &self.name,
            kind: &self.kind,
            token: &self.token,
            label: &self.label,
        }
    }

    /// Whether nobody else goes on with it.
    pub(crate) fn is_own(&self) -> bool {
        self.caller.as_ref().is_none_or(Caller::is_last)
    }

    /// It is about to be used up, so that nobody else may go on with it. Whether nobody does.
    pub(crate) fn use_up(&self) -> bool {
        self.caller.as_ref().is_none_or(Caller::end)
    }

    /// What who waits with it waits by.
    pub(crate) fn waits_as(&self) -> &Session {
        (self.caller.as_ref()).map_or(&self.session, Caller::waits_as)
    }

    /// What errors call the lock.
    pub(crate) fn lock(&self) -> String {
        self.name.key().to_owned()
    }

    pub(crate) fn age(&self) -> Duration {
        self.client.runtime().now().since(self.since)
    }

    pub(crate) fn observe(&self, kind: EventKind<'_>) {
        self.client.observe(&self.name, kind);
    }

    /// It was given back by a request that was sent at `asked_at`.
    pub(crate) fn observe_release(&self, asked_at: Moment) {
        let now = self.client.runtime().now();
        self.observe(EventKind::Released {
            held: now.since(self.since),
            took: now.since(asked_at),
        });
    }

    /// Has `call` executed for this claim after whoever made it has gone, unless somebody else goes on with it. Only observers are left to be told what came of it; what
    /// could not be given up ends with its ttl.
    pub(crate) fn call_in_background(
        &self,
        call: Call,
        tell: impl FnOnce(&Self, Settled<Option<Vec<Reply>>>) + 'static,
    ) {
        self.client.runtime().spawn(self.calling(call, tell));
    }

    /// As [`Claim::call_in_background`], and the request is with the transport when this comes back.
    pub(crate) async fn call_ahead(&self, call: Call) {
        let mut call = Some(call);
        poll_fn(|cx| {
            // Made and polled in one step: what waits in between could not go to another thread.
            if let Some(call) = call.take() {
                let mut calling = self.calling(call, |_, _| {});
                if calling.as_mut().poll(cx).is_pending() {
                    self.client.runtime().spawn(calling);
                }
            }
            Poll::Ready(())
        })
        .await;
    }

    fn calling(
        &self,
        call: Call,
        tell: impl FnOnce(&Self, Settled<Option<Vec<Reply>>>) + 'static,
    ) -> Task {
        let claim = self.clone();
        Box::pin(async move {
            // Only now: where the host runs nothing more, somebody else can go on with it.
            if !claim.use_up() {
                return;
            }
            let client = &claim.client;
            let settled = client.call(&call, &claim.session, Until::Timeout);
            tell(&claim, settled.await);
        })
    }
}

impl<T, R> Clone for Claim<T, R> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            name: self.name.clone(),
            kind: self.kind.clone(),
            ttl: self.ttl,
            replicas: self.replicas.clone(),
            token: self.token.clone(),
            session: self.session.clone(),
            caller: self.caller.clone(),
            label: self.label.clone(),
            since: self.since,
        }
    }
}
