//! Clients of several bridges, where a majority decides or the name chooses one, and the options
//! that every client has.

use std::sync::Arc;
use std::time::Duration;

use super::Client;
use crate::bridge::Bridge;
use crate::error::{Error, Fault};
use crate::redact::Named;
use crate::runtime::Runtime;
use crate::topology::{Layout, Topology};
use crate::transport::Transport;
use crate::ttl;

impl<T: Transport, R: Runtime> Client<T, R> {
    /// A client of several bridges, each with a Redis of its own; the servers know nothing of each
    /// other. A lock is held once a majority granted it, and stays held while a minority fails. A
    /// renewal also asks the servers that did not grant it. So a lease that began without all votes
    /// survives the loss of any minority once it was renewed twice. This is Redlock
    /// (<https://redis.io/docs/latest/develop/use/patterns/distributed-locks/>).
    ///
    /// Use an odd number: four bridges tolerate no more failures than three. Each operation costs
    /// one request to each bridge, an acquisition two. Waiters poll, each time with a new token.
    /// [`crate::Lock::max_requests`] counts the requests to one bridge.
    ///
    /// A quorum refuses what needs one Redis, as [`Error::InvalidArgument`]:
    ///
    /// - the kinds [`reentrant`](Client::reentrant), [`semaphore`](Client::semaphore),
    ///   [`limits`](Client::limits), [`reservations`](Client::reservations),
    ///   [`read_write`](Client::read_write), [`lock_all`](Client::lock_all),
    ///   [`once`](Client::once), [`throttle`](Client::throttle) and [`debounce`](Client::debounce);
    /// - the options [`fair`](crate::Lock::fair), [`take_over`](crate::Lock::take_over),
    ///   [`wait_for_replicas`](crate::Lock::wait_for_replicas) and
    ///   [`signal_list`](crate::Lock::signal_list);
    /// - all reads and writes: [`Client::read`], those of an acquisition, and `exec`, `commit` and
    ///   [shared turns](crate::GroupCommit) with commands. The data is elsewhere, and the lease's
    ///   fence protects it there.
    ///
    /// Each call returns once a majority has decided, and the other servers follow some
    /// milliseconds later. Until then they do not know an acquired lease, or know the old deadline
    /// of a renewed one. They still hold the lock after a release, a forced release, or an
    /// acquisition that failed, was dropped, or saw another holder. So a lease that is acquired
    /// right after such a call may begin without all votes. A process that ends at once should let
    /// those requests end first.
    ///
    /// ```
    /// use edgelock::Bridge;
    /// use edgelock::native::{Client, Http, Tokio};
    ///
    /// let bridges = ["https://a.example", "https://b.example", "https://c.example"]
    ///     .map(|url| Bridge::upstash(url, "credential"))
    ///     .into_iter()
    ///     .collect::<Result<Vec<_>, _>>()?;
    /// let client = Client::quorum(bridges, Http::default(), Tokio::default())?;
    /// client.lock("sku:42").check()?;
    /// // They have no queue in common.
    /// assert!(client.lock("sku:42").fair(true).check().is_err());
    /// # Ok::<_, edgelock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no bridge, or the same one twice, since it would have
    /// two votes.
    pub fn quorum(
        bridges: impl IntoIterator<Item = Bridge>,
        transport: T,
        runtime: R,
    ) -> Result<Self, Error> {
        let bridges = bridges.into_iter().collect();
        Ok(Self::several(bridges, None, transport, runtime)?)
    }

    /// A client that spreads its locks over several bridges by their names, for loads that outgrow
    /// one Redis. Each bridge has an id. The ids decide behind which bridge a name lives, so a
    /// bridge may change its address. Names with the same hash tag, such as `{cart:7}:a` and
    /// `{cart:7}:b`, live behind the same bridge.
    ///
    /// All clients must have the same ids. A new bridge gets its share of all names, and no other
    /// name moves (rendezvous hashing). A lock that is held while its name moves is not seen at its
    /// new place. So before you change the ids, let leases run out, or hold new clients back for
    /// the longest ttl (docs/protocol.md).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no bridge, or two have the same id.
    pub fn sharded(
        bridges: impl IntoIterator<Item = (impl Into<String>, Bridge)>,
        transport: T,
        runtime: R,
    ) -> Result<Self, Error> {
        let (ids, bridges) = bridges.into_iter().map(|(id, bridge)| (id.into(), bridge)).unzip();
        Ok(Self::several(bridges, Some(ids), transport, runtime)?)
    }

    /// With an id for each bridge a sharded client, and a quorum without.
    pub(crate) fn several(
        bridges: Vec<Bridge>,
        ids: Option<Vec<String>>,
        transport: T,
        runtime: R,
    ) -> Result<Self, Fault> {
        let layout = check_distinct(&bridges, ids)?;
        Ok(Self::over(bridges, layout, transport, runtime))
    }

    /// For a [quorum](Client::quorum): how long a Redis has no say after its start, since it may
    /// have lost its locks. Default, and minimum: the ttl of the lock. If names are locked for
    /// different ttls, set the longest.
    ///
    /// Fences still grow if servers came back empty, as long as the servers' clocks differ by less
    /// than this.
    ///
    /// All calls fail with [`Error::InvalidArgument`], and send nothing, if it is not 1 ms to 366
    /// days, in whole milliseconds.
    #[must_use]
    pub fn restart_quarantine(mut self, longest_ttl: Duration) -> Self {
        self.topology_mut().quarantine = longest_ttl;
        let what = "a quarantine is 1 ms to 366 days";
        self.with(ttl::check_range(what, ttl::SHORTEST..=ttl::MAX, longest_ttl))
    }

    /// For a [sharded](Client::sharded) client: a client of the bridge behind which the lock `name`
    /// lives, to read the data that is there. For any other client: itself. If the name is invalid,
    /// its calls fail with [`Error::InvalidArgument`], and send nothing.
    #[must_use]
    pub fn shard_of(&self, name: &str) -> Self {
        let (name, checked) = self.named(name);
        let mut shard = self.clone();
        shard.topology = self.topology.for_name(&name);
        shard.checked.note(checked);
        shard
    }
}

#[inline(never)]
fn check_distinct(bridges: &[Bridge], ids: Option<Vec<String>>) -> Result<Layout, Fault> {
    let (what, needs, names): (_, _, Vec<_>) = match &ids {
        None => ("a quorum", "address", bridges.iter().map(Bridge::url).collect()),
        Some(ids) => ("a sharded client", "id", ids.iter().map(String::as_str).collect()),
    };
    let mut repeats = names.iter().enumerate();
    let repeat = repeats.find(|(at, name)| names[..*at].contains(name));
    let given = match repeat {
        Some((_, name)) => format!("{} twice", Named(name)),
        None if names.is_empty() => "none".to_owned(),
        None => {
            return Ok(ids.map_or(Layout::Quorum, |ids| Layout::Sharded(ids.into())));
        }
    };
    Err(Fault::invalid(format!(
        "{what} needs bridges with an {needs} of its own each, and was given {given}"
    )))
}

const MINUTE: Duration = Duration::from_secs(60);

impl<T: Transport, R: Runtime> Client<T, R> {
    /// Puts `prefix` before every lock's name: `shop:` and `sku:42` make the key `shop:sku:42`.
    #[must_use]
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long a request may wait for its reply before it is aborted: 1 ms or more. Default 2 s.
    /// No reply is awaited past the lease's deadline, whatever is set here.
    ///
    /// It also bounds how long a call that does not wait for the lock obeys a bridge's
    /// `Retry-After`, all pauses together. If the bridge asks for longer, the call fails at once,
    /// and [`Error::retry_after`] says how long.
    ///
    /// All calls fail with [`Error::InvalidArgument`], and send nothing, if it is below 1 ms.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.topology_mut().request_timeout = timeout;
        let given = ttl::Shown(timeout);
        self.with(Fault::unless(
            timeout >= ttl::SHORTEST,
            format_args!("the time-out of a request is 1 ms or more, not {given}"),
        ))
    }

    /// How often an operation is sent if its requests get lost: once or more. Default 3.
    ///
    /// Sending again is safe: all attempts carry the same token, and a write carries its number. A
    /// write is not sent again more than half a minute after the first time: by then Redis could
    /// not tell that it is the same write.
    ///
    /// All calls fail with [`Error::InvalidArgument`], and send nothing, if it is 0.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.topology_mut().attempts = attempts;
        let what = format_args!("an operation is attempted once or more, not 0 times");
        self.with(Fault::unless(attempts > 0, what))
    }

    /// How long Redis remembers a name's last fence after its last hold: 1 minute to 366 days, in
    /// whole milliseconds. Default 7 days. Redis may keep it an eighth longer.
    ///
    /// Meanwhile each name that was locked takes some 150 bytes of Redis. Use a shorter time where
    /// names are locked once, as one for each order. Once Redis has forgotten the last fence, the
    /// next one is Redis's time in microseconds. It is higher than all earlier fences unless that
    /// clock was set back by more than this time, which a fail-over can do too.
    ///
    /// If clients differ, the longest time of those that lock a name counts. Whatever is set here,
    /// work that is executed [once](Client::once), throttles and debounces leave nothing for more
    /// than a minute after their own time.
    ///
    /// All calls fail with [`Error::InvalidArgument`], and send nothing, if it is out of range.
    #[must_use]
    pub fn fence_life(mut self, life: Duration) -> Self {
        self.topology_mut().fence_life = life;
        let what = "a fence is remembered for 1 minute to 366 days";
        self.with(ttl::check_range(what, MINUTE..=ttl::MAX, life))
    }

    /// Once, and not in each option.
    #[inline(never)]
    fn topology_mut(&mut self) -> &mut Topology {
        Arc::make_mut(&mut self.topology)
    }

    /// With an option that was checked.
    fn with(mut self, checked: Result<(), Fault>) -> Self {
        self.checked.note(checked);
        self
    }
}
