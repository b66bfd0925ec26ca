//! Several names that are locked at once, and permits of several semaphores at once.

use super::Client;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Fault;
use crate::kind::Kind;
use crate::lock::Lock;
use crate::name::Name;
use crate::redact::Named;
use crate::runtime::Runtime;
use crate::transport::Transport;

const MAX_NAMES: usize = 32;

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
        Self { name: name.into(), limit, permits: 1 }
    }

    /// How many of its permits one lease takes: 1 to the limit.
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
    /// Several names at once: the lease has all of them, or there is none. Sends nothing.
    ///
    /// Use it where work needs several locks: a cart with several articles, a transfer between two
    /// accounts. All names are taken, renewed and released in one request each. Callers never
    /// deadlock, whatever the order of their names.
    ///
    /// ```no_run
    /// use edgelock::native::Client;
    /// use edgelock::{Command, Error};
    ///
    /// async fn transfer(client: &Client) -> Result<(), Error> {
    ///     let lease = client.lock_all(["{bank}:ann", "{bank}:bob"]).acquire().await?;
    ///     let take = Command::new("DECRBY").key("{bank}:ann:balance").arg(10);
    ///     let give = Command::new("INCRBY").key("{bank}:bob:balance").arg(10);
    ///     lease.commit(&[take, give]).await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// Each name is the [lock](Client::lock) of that name: the two exclude each other. The lease
    /// has one token, one ttl and one fence, which is higher than the last fence of each name. If
    /// one name is lost, the whole lease is: then `renew`, `exec`, `commit` and `release` fail with
    /// [`Error::Lost`], and the other names are given back.
    ///
    /// [`Error::Held`] says in `lock` which name is held. If several are, it is the first in
    /// alphabetical order. Other errors, and events, show all names, separated by commas.
    ///
    /// A waiter holds none of the names. When one of them is released, the waiter is told, and asks
    /// for all again. By default the lock is [fair](Lock::fair): a waiter queues for all its names,
    /// and fair callers get their turns in order of arrival. So a name stays free while the first
    /// in its queue waits for another name. With `fair(false)` a waiter queues only for the name
    /// that refused it, and other callers may take the rest. That raises throughput, but under a
    /// steady load the waiter's names may never be free at the same time.
    ///
    /// [`Lock::inspect`] lists those who hold any of the names. [`Lock::force_release`] frees all
    /// names, even if different callers hold them. A [`GroupCommit`](crate::GroupCommit) refuses
    /// this lock.
    ///
    /// On a Redis Cluster all names need one hash tag, as in the example; otherwise Redis refuses
    /// the first request, and nothing is taken ([`Error::Refused`]).
    ///
    /// The first call fails with [`Error::InvalidArgument`], and sends nothing,
    ///
    /// - if there are no names, over 32, or one twice;
    /// - if one is invalid, as with [`Client::lock`];
    /// - if a [sharded](Client::sharded) client has them behind different bridges;
    /// - if this is a [quorum](Client::quorum).
    pub fn lock_all(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Lock<T, R> {
        let names: Vec<_> = names.into_iter().collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let (name, made) = self.all_named(&names);
        self.lock_named(name, Kind::multi(), made).fair(true)
    }

    /// A name for all of them, and what is wrong with them.
    fn all_named(&self, names: &[&str]) -> (Name, Result<(), Fault>) {
        match self.sorted(names) {
            Ok(name) => (name, Ok(())),
            Err(error) => (Name::refused("", &names.join(", ")), Err(error)),
        }
    }

    /// In an order that does not depend on the caller's, so that whoever resumes a lease finds what
    /// belongs to its token.
    #[inline(never)]
    fn sorted(&self, names: &[&str]) -> Result<Name, Fault> {
        let count = names.len();
        Fault::unless(
            (1..=MAX_NAMES).contains(&count),
            format_args!("names that are locked at once are 1 to {MAX_NAMES}, not {count}"),
        )?;
        // They are few, and a sort would be a fiftieth of the client's wasm.
        let mut all: Vec<Name> = Vec::new();
        for name in names {
            let name = Name::new(&self.prefix, name)?;
            let at = all.partition_point(|other| other.key() < name.key());
            Fault::unless(
                all.get(at) != Some(&name),
                format_args!("{} is among the names twice", Named(name.key())),
            )?;
            all.insert(at, name);
        }
        let first = all.remove(0);
        let apart = |other: &&Name| !self.topology.is_together(&first, other);
        if let Some(other) = all.iter().find(apart) {
            return Err(Fault::invalid(format!(
                "{} and {} live behind different bridges of this client; give all names one hash tag, as in {{cart:7}}:a",
                Named(first.key()),
                Named(other.key())
            )));
        }
        Ok(first.with(all))
    }

    /// Several limits in one lease: permits of 1 to 32 [semaphores](Client::semaphore), all or
    /// none. An example is one for each tenant and twenty in all. Sends nothing.
    ///
    /// ```no_run
    /// use edgelock::native::Client;
    /// use edgelock::{Error, Limit};
    ///
    /// async fn convert(client: &Client, tenant: &str) -> Result<(), Error> {
    ///     let own = Limit::new(format!("{{jobs}}:{tenant}"), 1);
    ///     // A large job counts as two of the twenty.
    ///     let all = Limit::new("{jobs}:all", 20).permits(2);
    ///     client.limits([own, all]).run(async |_lease| Ok(())).await
    /// }
    /// ```
    ///
    /// Each name is the semaphore of that name: its holders and these leases count together. The
    /// lease has one token, one ttl and one fence. If one permit is lost, the whole lease is, and
    /// the other permits are given back. [`Error::Held`] says in `lock` which name has too few
    /// permits: of several, the first in alphabetical order.
    ///
    /// A waiter holds no permits, so callers never deadlock. It queues for the name that refused
    /// it. When that name has room, a release tells the oldest such waiter to ask for all names
    /// again. Newcomers, and callers of one limit, may take the room meanwhile, unless the waiter
    /// came over 2 s ago: then the room is kept for a second. So this lock cannot be
    /// [fair](Lock::fair).
    ///
    /// [`Lock::resume`] needs the same names. If the other handler names more, the lease is lost.
    /// If it names fewer, the lease has only those.
    ///
    /// [`Lock::inspect`] says for how many more of these leases there is room.
    /// [`Lock::force_release`] frees all permits of all names. The first call fails as with
    /// [`Client::lock_all`]. It also fails with [`Error::InvalidArgument`] for a limit of 0, and
    /// for permits that are not 1 to the limit.
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
        let checked = all.iter().find(is_wrong).map_or(Ok(()), |one| Err(what(one)));
        let (name, named) = self.all_named(&names);
        let wants = all.iter().map(|one| format!("{}/{}", one.limit, one.permits));
        let wants: Vec<_> = wants.collect();
        let kind = Kind::limits(&wants.join(";"));
        self.lock_named(name, kind, named.and(checked))
    }
}
