//! Callers of one process that share turns of a lock.

mod decide;
mod driver;
mod gather;
mod guess;
mod known;
mod lines;
mod look;
mod reads;
mod seen;
mod turn;
mod work;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::drive::unless_gone;
use crate::error::{Error, Fault};
use crate::lock::Lock;
use crate::runtime::{Runtime, Task};
use crate::tasks::{Either, select};
use crate::transport::Transport;

pub use decide::{Decision, Section};

use decide::Peek;
use gather::Bound;
use known::{Known, may_guess};
use lines::Lines;
use look::Looks;
use reads::Pending;

/// Shares turns of a lock between callers of one process, or isolate: group commit.
///
/// If each caller takes the lock for itself, two round trips serve one caller. Here callers bring
/// items. While a turn is under way, the items that arrive gather for the next one. One caller then
/// acquires the lock for all of them, and reads what all need in that same request. It decides the
/// items one after the other, under one fence, and writes for all in a second request. Where nobody
/// competes, [one request](Section::USES_FENCE) does all of that. An item is in the turn if it
/// arrives before the request that takes the lock is sent. Items are decided in order of arrival,
/// or of the answers to their looks, unless one is too large for its turn. Each caller gets its own
/// answer.
///
/// Make one for each kind of section, and have all callers use it: as a `static`, or as a
/// `thread_local!` in a Worker. There each request brings a lock of its own, since a request may
/// only use what it made itself. Locks of the same name must live behind the same bridge, and
/// should have the same options and credential: the options of a turn's driver count for all its
/// items. Only callers with another [`Lock::wait_for_replicas`] have turns of their own.
///
/// ```
/// use edgelock::{Command, Decision, GroupCommit, Reply, Section};
///
/// struct Sale;
///
/// impl Section for Sale {
///     type Item = u32; // Whose order.
///     type Answer = bool; // Whether it was sold.
///     type State = Option<i64>; // What is left.
///
///     const USES_FENCE: bool = false;
///
///     fn reads(&self, _: &u32) -> Vec<Command> {
///         vec![Command::new("GET").key("{sku:42}:stock")]
///     }
///
///     fn decide(
///         &self,
///         _: &u32,
///         replies: &[Reply],
///         left: &mut Option<i64>,
///         _: u64,
///     ) -> Decision<bool> {
///         let left = left.get_or_insert(replies[0].as_i64().unwrap_or(0));
///         if *left == 0 {
///             return Decision::Leave(false);
///         }
///         *left -= 1;
///         Decision::Write(vec![Command::new("DECR").key("{sku:42}:stock")], true)
///     }
/// }
///
/// use std::sync::LazyLock;
///
/// static SALE: LazyLock<GroupCommit<Sale>> = LazyLock::new(|| GroupCommit::new(Sale));
///
/// // One is left. The second buyer of the turn gets none.
/// let (stock, mut left) = ([Reply::Int(1)], None);
/// assert!(matches!(Sale.decide(&7, &stock, &mut left, 1), Decision::Write(_, true)));
/// assert_eq!(Sale.decide(&8, &stock, &mut left, 1), Decision::Leave(false));
/// ```
pub struct GroupCommit<S: Section> {
    shared: Arc<Shared<S>>,
    bound: Bound,
    peek: Option<Peek<S>>,
}

struct Shared<S: Section> {
    section: S,
    turns: Arc<Lines<Pending<S::Item>, S::Answer>>,
    looks: Arc<Looks<S::Item, S::Answer>>,
    known: Known,
}

impl<S: Section> Shared<S> {
    /// Completes once no turn has ended for a while, and the present one waits for another holder.
    /// Otherwise a crowd would only have more to do if all of it were looked at.
    async fn waits_for_holder<T: Transport, R: Runtime>(&self, lock: &Lock<T, R>) {
        let (name, mut pause) = (lock.line(), Duration::from_millis(500));
        loop {
            let ended = self.turns.ended(&name);
            lock.runtime().sleep(pause).await;
            if ended == self.turns.ended(&name) && self.turns.waits_for_lock(&name) {
                return;
            }
            // A timer for each caller is dear, too.
            pause = pause.saturating_mul(2);
        }
    }
}

impl<S: Section> GroupCommit<S> {
    /// Turns of up to 256 items, requests of up to 256 KiB, and up to 10,000 waiting items for each
    /// name.
    pub fn new(section: S) -> Self {
        Self {
            shared: Arc::new(Shared {
                section,
                turns: Arc::new(Lines::new()),
                looks: Arc::new(Looks::new()),
                known: Known::default(),
            }),
            bound: Bound { items: 256, bytes: 256 * 1024, waiting: 10_000 },
            peek: None,
        }
    }

    /// Looks at items without the lock. Items that arrive at about the same time share the request.
    /// An item that `peek` answers needs no turn, and does not wait for one. Use it for refusals
    /// that stay true, as of a sale that is over, and for items that were decided before. By
    /// default no item is looked at.
    ///
    /// If few items of a name recently needed a turn, the look comes first, and an item that it
    /// does not answer costs one more round trip. Otherwise an item is looked at while it waits for
    /// its turn. If [turns do not use their fences](Section::USES_FENCE), two things differ then.
    /// The look comes first if what the item alone reads was there when last read: its turn would
    /// guess wrong. Any other item is looked at only once the name's turns wait for another holder,
    /// and none has ended for 500 ms (longer the longer the item waits). A look waits for at most a
    /// quarter of a round trip behind another one. If a look fails, the turn decides.
    ///
    /// No item is looked at with [`wait_for_replicas`](crate::Lock::wait_for_replicas), since a
    /// look sees what no replica has yet, or if its reads alone are over
    /// [`GroupCommit::max_bytes`].
    #[must_use]
    pub fn peek(mut self, peek: Peek<S>) -> Self {
        self.peek = Some(peek);
        self
    }

    /// How many items a turn has at most: 1 or more; with 0 all items are refused. Default 256.
    #[must_use]
    pub const fn max_items(mut self, items: usize) -> Self {
        self.bound.items = items;
        self
    }

    /// How many bytes of commands a request has at most, approximately. Default 256 KiB. Bridges
    /// have a limit: Upstash's is 1 MB on its smallest plan. The writes of a turn's last item may
    /// exceed it. An item that alone exceeds it gets a turn of its own. Then other items get as
    /// many turns as its bytes would fill, before the next such item.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.bound.bytes = bytes;
        self
    }

    /// How many items of a name may wait for a turn or a look. Default 10,000; 0 means one at a
    /// time. Once five times as many callers of all names wait, each name may have an equal share
    /// of that number, or one. Beyond that an item gets [`Error::Held`](crate::Error::Held) at
    /// once.
    #[must_use]
    pub const fn max_waiting(mut self, items: usize) -> Self {
        self.bound.waiting = items;
        self
    }

    /// Has `item` decided in the next turn of `lock` that has room for it, and returns its answer.
    ///
    /// The item waits up to [`Lock::wait_timeout`] until its turn has the lock. With no wait, the
    /// item of one caller at a time is decided, and the others get [`Error::Held`]. One of the
    /// callers drives the turn, with its own lock, in the background of its [`Runtime`]. So the
    /// turn goes on if that caller is gone.
    ///
    /// If a driver's whole host is gone, the others pass the driver over, once it has shown no sign
    /// of life for up to a request's time-out. The next driver takes over what that one had: the
    /// lock, or its place in the queue. If nobody is left in a process, the ttl frees the lock, so
    /// the ttl should be short.
    ///
    /// # Errors
    /// Those of [`Lock::acquire_and_read`] and of [`Lease::commit`](crate::Lease::commit), for each
    /// item that they concern. Nothing was written for the item unless
    /// [`Error::is_outcome_unknown`], or after [`Error::NotReplicated`]. The outcome is unknown for
    /// exactly the items whose answers depend on a commit of unknown outcome, or on one of which a
    /// command of [`Section::end`] failed. They are not decided again.
    ///
    /// [`Error::CommandFailed`] for an item if one of its reads or writes failed, or the replies to
    /// its reads are over 1 MiB; its other writes were executed, and all other items get their own
    /// answers. [`Error::Unavailable`] for an item whose decision panicked.
    /// [`Error::InvalidArgument`] for an item whose own commands cannot be sent, for a lock whose
    /// holders decide at the same time, as of a semaphore or reservations, and if a turn may have
    /// no items. If the replies for a turn's items are too large for one answer, the items without
    /// room are in the next turn.
    ///
    /// # Cancel safety
    /// Dropping the future removes the item, unless its turn has the lock by then, or was sent
    /// without the lock. Then the item is decided, and its answer is dropped.
    pub async fn submit<T: Transport, R: Runtime>(
        &self,
        lock: &Lock<T, R>,
        item: S::Item,
    ) -> Result<S::Answer, Error> {
        lock.check_turns()?;
        // If it is next to drive, those behind it need it.
        let _stay = lock.runtime().stay();
        let submitted = unless_gone(lock.gone(), pin!(self.submit_here(lock, item))).await;
        submitted.unwrap_or_else(|| Err(Fault::gone(true).of_lock(Some(lock.key())).into()))
    }

    async fn submit_here<T: Transport, R: Runtime>(
        &self,
        lock: &Lock<T, R>,
        item: S::Item,
    ) -> Result<S::Answer, Error> {
        if self.bound.items == 0 {
            let error = Fault::invalid("a turn has 1 item or more, not 0");
            return Err(error.of_lock(Some(lock.key())).into());
        }
        let reads = self.shared.section.reads(&item);
        // Invalid reads of one item must not fail the others.
        lock.check_reads(&reads)?;
        let bytes = reads::bytes(&reads);
        let item = Arc::new(Pending::new(item, reads));
        let looks = !lock.waits_for_replicas() && bytes <= self.bound.bytes;
        let Some(peek) = self.peek.filter(|_| looks) else {
            return self.take_turn(lock, item, bytes).await;
        };
        let is_met =
            may_guess::<S, _, _>(lock) && self.shared.known.has_met(lock.key(), &item.reads);
        if self.shared.known.habits.takes_turns(lock.key()) && !is_met {
            let mut turn = pin!(self.take_turn(lock, item.clone(), bytes));
            let look = async {
                // Otherwise such a turn is as soon as a look.
                if !S::USES_FENCE {
                    self.shared.waits_for_holder(lock).await;
                }
                self.look(peek, lock, item.clone(), bytes).await
            };
            return match select(turn.as_mut(), pin!(look)).await {
                Either::Left(outcome) => outcome,
                // The look could take the writes of the item's own turn for what was there
                // before.
                Either::Right(Ok(Some(answer))) if item.settle() => Ok(answer),
                Either::Right(_) => turn.await,
            };
        }
        let begun_at = lock.runtime().now();
        let looked = self.look(peek, lock, item.clone(), bytes).await;
        if let Some(answer) = looked.map_err(|error| error.of_lock(Some(lock.key())))? {
            return Ok(answer);
        }
        let waited = lock.runtime().now().since(begun_at);
        let left = lock.wait.saturating_sub(waited);
        self.take_turn(&lock.clone().wait_timeout(left), item, bytes).await
    }

    async fn take_turn<T: Transport, R: Runtime>(
        &self,
        lock: &Lock<T, R>,
        item: Arc<Pending<S::Item>>,
        bytes: usize,
    ) -> Result<S::Answer, Error> {
        let (shared, bound) = (&self.shared, self.bound);
        let begin = |turn, lock: Lock<T, R>| -> Task {
            let shared = shared.clone();
            Box::pin(async move {
                turn::drive(&shared.section, turn, &lock, bound, &shared.known).await;
            })
        };
        let outcome = (shared.turns.submit(lock, item, bytes, bound, begin)).await;
        outcome.map_err(|error| error.of_lock(Some(lock.key())))
    }

    async fn look<T: Transport, R: Runtime>(
        &self,
        peek: Peek<S>,
        lock: &Lock<T, R>,
        item: Arc<Pending<S::Item>>,
        bytes: usize,
    ) -> Result<Option<S::Answer>, Error> {
        let (shared, bound) = (&self.shared, self.bound);
        let begin = |look, lock: Lock<T, R>| -> Task {
            let shared = shared.clone();
            Box::pin(async move {
                look::drive(&shared.section, peek, look, &lock, &shared.known).await;
            })
        };
        (shared.looks.submit(lock, item, bytes, bound, begin)).await
    }
}

impl<S: Section> Clone for GroupCommit<S> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), bound: self.bound, peek: self.peek }
    }
}

/// Shows how many names have items.
impl<S: Section> fmt::Debug for GroupCommit<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.shared.turns.names() + self.shared.looks.names();
        f.debug_struct("GroupCommit").field("names", &names).finish_non_exhaustive()
    }
}
