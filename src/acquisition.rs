//! An acquisition that other callers of the process can take over.

use std::fmt;
use std::sync::{Arc, Mutex};

use crate::error::Fault;
use crate::runtime::Runtime;
use crate::script::Waiter;
use crate::tasks::locked;
use crate::token::{Session, Token};

/// One acquisition that several callers make, one after the other, by
/// [`Lock::acquire_as`](crate::Lock::acquire_as). Use it if a handler that works for many may
/// vanish, and another must take over.
///
/// A caller takes over what the callers before it had: the lock, or the place in the queue. The
/// earlier callers lose it: their leases are lost, and their calls that are under way give nothing
/// up. The acquisition ends once one of its leases writes or is released, or a call gives up. The
/// next caller then starts a new one.
///
/// All callers must be in one process. They must ask for the same name behind the same bridge, and
/// for the same kind of access: to read, or to write. The queue stores a waiter's ttl and label, so
/// later callers have those of the first one, whatever their own locks say.
///
/// Clones are the same acquisition. It holds the lock's token, which `Debug` does not show.
#[derive(Clone, Default)]
pub struct Acquisition(Arc<Mutex<Option<Arc<Shared>>>>);

const OTHERWISE: &str = "an acquisition goes on as it began: a reader does not become the writer by it, nor the writer a reader, and a number of permits stays what it was";

/// One token, with which the callers ask one after the other.
struct Shared {
    token: Token,
    /// What the callers want of the lock, as its kind stores it.
    wants: String,
    /// All callers wait under it, since it is part of the place in the queue.
    session: Session,
    standing: Mutex<Standing>,
}

struct Standing {
    /// How many callers have asked with it.
    callers: u64,
    /// Whether no further caller may ask with the token.
    is_over: bool,
    /// How the first caller stands in the queue that waited.
    waiter: Option<Waiter>,
}

/// A caller that asks with a token, or has a lease of it.
#[derive(Clone)]
pub(crate) struct Caller {
    shared: Arc<Shared>,
    number: u64,
}

impl Acquisition {
    /// A new acquisition, for which nobody has asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The caller that takes it over, or begins it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it asks for something else than before: it would stand in the
    /// queue for that.
    pub(crate) fn ask<R: Runtime>(&self, runtime: &R, wants: &str) -> Result<Caller, Fault> {
        let mut current = locked(&self.0);
        let followed = |shared| Shared::follow(shared, wants);
        if let Some(caller) = current.as_ref().and_then(followed) {
            return caller;
        }
        let (session, token) = Session::with_token(runtime)?;
        let shared = Arc::new(Shared {
            token,
            wants: wants.to_owned(),
            session,
            standing: Mutex::new(Standing { callers: 1, is_over: false, waiter: None }),
        });
        *current = Some(shared.clone());
        Ok(Caller { shared, number: 1 })
    }
}

impl Shared {
    /// The next caller, if one is allowed.
    fn follow(shared: &Arc<Self>, wants: &str) -> Option<Result<Caller, Fault>> {
        let mut standing = locked(&shared.standing);
        if standing.is_over {
            return None;
        }
        if shared.wants != wants {
            return Some(Err(Fault::invalid(OTHERWISE)));
        }
        standing.callers += 1;
        Some(Ok(Caller { shared: shared.clone(), number: standing.callers }))
    }
}

impl Caller {
    pub(crate) fn token(&self) -> Token {
        self.shared.token.clone()
    }

    pub(crate) fn waits_as(&self) -> &Session {
        &self.shared.session
    }

    /// How it stands in the queue: as an earlier caller if there is one, else as its `own`. The
    /// first grant would leave a second place behind.
    pub(crate) fn stand(&self, own: Waiter) -> Waiter {
        let mut standing = locked(&self.shared.standing);
        if let Some(waiter) = &standing.waiter {
            return waiter.clone();
        }
        if own.queues {
            standing.waiter = Some(own.clone());
        }
        own
    }

    /// How it stands in the queue, if it does.
    pub(crate) fn waiter(&self) -> Option<Waiter> {
        locked(&self.shared.standing).waiter.clone()
    }

    /// What marks its requests as its own. Each caller has its own session: nonces and the numbers
    /// of writes start anew with it.
    pub(crate) fn session<R: Runtime>(&self, runtime: &R) -> Result<Session, Fault> {
        match self.number {
            1 => Ok(self.shared.session),
            _ => Session::random(runtime),
        }
    }

    /// Whether no later caller has asked.
    pub(crate) fn is_last(&self) -> bool {
        locked(&self.shared.standing).callers == self.number
    }

    /// Lets no later caller ask, since this one is about to write, to release or to give up.
    /// `false` if a later caller has already asked: then this one must not do so.
    pub(crate) fn end(&self) -> bool {
        let mut standing = locked(&self.shared.standing);
        let is_last = standing.callers == self.number;
        standing.is_over |= is_last;
        is_last
    }
}

/// Without the token.
impl fmt::Debug for Acquisition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquisition").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
    use std::time::Duration;

    use super::*;
    use crate::runtime::{EntropyUnavailable, Instant, Task};

    #[derive(Default)]
    struct Counts(AtomicU8);

    impl Runtime for Counts {
        fn now(&self) -> Instant {
            Instant::from_origin(Duration::ZERO)
        }

        async fn sleep(&self, _: Duration) {}

        fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
            bytes.fill(self.0.fetch_add(1, Relaxed) + 1);
            Ok(())
        }

        fn spawn(&self, _: Task) {}
    }

    #[test]
    fn the_next_caller_has_the_token_and_the_place_and_a_session_of_its_own() {
        let (acquisition, host) = (Acquisition::new(), Counts::default());
        let first = acquisition.ask(&host, "").unwrap();
        let second = acquisition.clone().ask(&host, "").unwrap();
        assert_eq!(first.token(), second.token());
        assert_eq!(first.waits_as().as_str(), second.waits_as().as_str());
        let sessions = [&first, &second].map(|caller| caller.session(&host).unwrap());
        assert_eq!(sessions[0].as_str(), first.waits_as().as_str());
        assert_ne!(sessions[0].as_str(), sessions[1].as_str());
    }
}
