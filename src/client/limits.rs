//! Permits of several semaphores at once.

use super::Client;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Fault;
use crate::kind::Kind;
use crate::lock::Lock;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// One of several [limits](Client::limits): the name of a semaphore, how many permits it has, and
/// how many of them one lease takes. `("all", 20)` is the same as `Limit::new("all", 20)`.
#[derive(Clone, Debug)]
pub struct Limit {
    name: String,
    limit: u32,
    permits: u32,
}

impl Limit {
    /// One of `limit` permits of the semaphore called `name`.
    pub fn new(name: impl Into<String>, limit: u32) -> Self {
        Self {
            name: name.into(),
            limit,
            permits: 1,
        }
    }

    /// So many of its permits: 1 to the limit.
    #[must_use]
    pub fn permits(self, permits: u32) -> Self {
        Self { permits, ..self }
    }
}

impl<S: Into<String>> From<(S, u32)> for Limit {
    fn from((name, limit): (S, u32)) -> Self {
        Self::new(name, limit)
    }
}

impl<T: Transport, R: Runtime> Client<T, R> {
    /// Several limits in one lease: permits of 1 to 32 [semaphores](Client::semaphore), all or
    /// none, as one of each tenant and twenty in all. Sends nothing.
    ///
    /// ```no_run
    /// use edgelock::native::Client;
    /// use edgelock::{Error, Limit};
    ///
    /// async fn convert(client: &Client, tenant: &str) -> Result<(), Error> {
    ///     let own = Limit::new(format!("{{jobs}}:{tenant}"), 1);
    ///     // A large job counts as two of the twenty.
    ///     let all = Limit::new("{jobs}", 20).permits(2);
    ///     client.limits([own, all]).run(async |_lease| Ok(())).await
    /// }
    /// ```
    ///
    /// Each name is the semaphore of that name: its holders and these leases count together. The
    /// lease has one token, one ttl and one fence. If one permit is lost, the whole lease is, and
    /// the others are given back. [`Error::Held`] says in `lock` which name has too few permits: of
    /// several, the first in alphabetical order.
    ///
    /// A waiter holds nothing, and so none deadlocks. It queues for the name that it was refused
    /// for. When there is room for it, a release leaves that free, and tells it to ask for all
    /// again; of such waiters the oldest first. But newcomers, and callers of one limit, may take
    /// the room meanwhile, unless that waiter came 2 s ago: then it is kept for a second. So this
    /// lock cannot be [fair](Lock::fair).
    ///
    /// [`Lock::resume`] wants the same names. If the other handler names more, the lease is lost.
    /// If it names fewer, it has only those.
    ///
    /// [`Lock::inspect`] says for how many more of these leases there is room.
    /// [`Lock::force_release`] frees all permits of all names. What is refused is as with
    /// [`Client::lock_all`]; [`Error::InvalidArgument`] is also for a limit of 0, and for permits
    /// that are not 1 to the limit.
    pub fn limits(&self, limits: impl IntoIterator<Item = impl Into<Limit>>) -> Lock<T, R> {
        let mut all: Vec<Limit> = Vec::new();
        for limit in limits {
            let limit = limit.into();
            let at = all.partition_point(|other| other.name < limit.name);
            all.insert(at, limit);
        }
        self.limited(&all)
    }

    /// In the order of [`Client::all_named`].
    #[inline(never)]
    fn limited(&self, all: &[Limit]) -> Lock<T, R> {
        let names: Vec<&str> = all.iter().map(|limit| &*limit.name).collect();
        let what = |limit: &Limit| {
            Fault::invalid(match limit.limit {
                0 => "a limit is 1 or more, not 0".into(),
                most => format!("a lease takes 1 to {most} permits, not {}", limit.permits),
            })
        };
        let is_wrong = |limit: &&Limit| !(1..=limit.limit).contains(&limit.permits);
        let checked = all
            .iter()
            .find(is_wrong)
            .map_or(Ok(()), |one| Err(what(one)));
        let (name, named) = self.all_named(&names);
        let wants = all
            .iter()
            .map(|one| format!("{}/{}", one.limit, one.permits));
        let wants: Vec<_> = wants.collect();
        let kind = Kind::limits(&wants.join(";"));
        self.lock_named(name, kind, named.and(checked))
    }
}
