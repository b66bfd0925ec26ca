//! Many callers, one turn of the lock.

mod gather;
mod habits;
mod lines;
mod look;
mod reads;
mod section;
mod slot;
mod turn;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use crate::error::Error;
use crate::lock::Lock;
use crate::runtime::{Runtime, Task};
use crate::select::{Either, select};
use crate::transport::Transport;

pub use section::{Decision, Section};

use gather::Bound;
use habits::Habits;
use lines::Lines;
use look::{Looks, Peek};
use reads::Asked;

/// Shares turns of a lock between callers of one process, or isolate: group commit.
///
/// A lock that each caller takes for itself serves one of them in two round trips. Here callers
/// bring items, and while a turn is under way, others gather for the next. One of them acquires the
/// lock for all, reads what all need in that same request, decides them one after the other under
/// one fence, and writes for all in a second request. Whoever comes before the request that takes
/// the lock has left is in that turn. First in, first decided; each caller gets its own answer.
///
/// Make one for each kind of section, and have all callers use it: a `static`, or a `thread_local!`
/// in a Worker, where each request brings a lock of its own, since it may only send what is its
/// own. Locks of the same name must live behind the same bridge, and should have the same ttl and label.
///
/// ```
/// use edgelock::{Command, Decision, GroupCommit, Reply, Section};
///
/// struct Sale;
///
/// impl Section for Sale {
///     type Item = u32; // Whose order.
///     type Answer = bool; // Whether it was sold.
///     type Turn = Option<i64>; // What is left.
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
/// ```
pub struct GroupCommit<S: Section> {
    shared: Arc<Shared<S>>,
    bound: Bound,
    peek: Option<Peek<S>>,
}

struct Shared<S: Section> {
    section: S,
    turns: Arc<Lines<Asked<S::Item>, S::Answer>>,
    looks: Arc<Looks<S::Item, S::Answer>>,
    habits: Habits,
}

impl<S: Section> GroupCommit<S> {
    /// Turns of up to 256 items, requests of up to 256 KiB, and up to 10,000 that wait for a name.
    pub fn new(section: S) -> Self {
        Self {
            shared: Arc::new(Shared {
                section,
                turns: Arc::new(Lines::new()),
                looks: Arc::new(Looks::new()),
                habits: Habits::new(),
            }),
            bound: Bound {
                items: 256,
                bytes: 256 * 1024,
                waiting: 10_000,
            },
            peek: None,
        }
    }

    /// Has all items looked at without the lock, in a request that those of one moment share: what
    /// `peek` answers needs no turn, and does not wait for one. That is for refusals which stay
    /// true, as of a sale that is over, and for what was decided before.
    ///
    /// Where most items lately took a turn, they wait for it while they are looked at; else the look
    /// comes first, and an item that it does not answer has a round trip more. Looks do not wait for
    /// each other, but for a quarter of a round trip at most. Where a look fails, the turn decides. By
    /// default no item is looked at.
    #[must_use]
    pub fn peek(mut self, peek: Peek<S>) -> Self {
        self.peek = Some(peek);
        self
    }

    /// How many items a turn has at most; 0 counts as 1.
    #[must_use]
    pub const fn max_items(mut self, items: usize) -> Self {
        self.bound.items = items;
        self
    }

    /// About how large a request may become by what it carries. Bridges have a limit: Upstash's is
    /// 1 MB on its smallest plan. The last item of a turn may exceed it with its writes, and one that
    /// is too large for any turn has one to itself.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.bound.bytes = bytes;
        self
    }

    /// How many items of a name may wait for a turn, or for a look. Who comes when there are so many
    /// gets [`Error::Held`] at once. Who finds nobody does not wait, so 0 is one at a time.
    #[must_use]
    pub const fn max_waiting(mut self, items: usize) -> Self {
        self.bound.waiting = items;
        self
    }

    /// What comes of `item` in the next turn of `lock` that has room for it.
    ///
    /// It waits for [`Lock::wait`] at most until its turn has the lock. Whichever caller drives a
    /// turn does so with its own lock, in the background of its [`Runtime`], so that it goes on
    /// when that caller is gone. A driver that is gone with all its host is passed over once it has
    /// shown nothing for up to the time-out of a request; whoever drives next goes on with what it
    /// had, the lock or its place in the queue. Where nobody is left in a process, the lock is free at
    /// the latest after its ttl, so that should be short.
    ///
    /// # Errors
    /// Those of [`Lock::acquire_and_read`] and of [`Lease::commit`](crate::Lease::commit), told to
    /// each item of the turn that they concern, with nothing written unless [`Error::is_outcome_unknown`].
    /// If it is, it is so for exactly the items whose answers rest on the commit; they are not
    /// decided again. [`Error::CommandFailed`] for an item whose own command failed, and
    /// [`Error::InvalidArgument`] for one whose own commands cannot be sent, and with a semaphore.
    ///
    /// # Cancel safety
    /// Dropping the future takes the item out, unless its turn has begun: then it is decided, and
    /// the answer dropped.
    pub async fn submit<T: Transport, R: Runtime>(
        &self,
        lock: &Lock<T, R>,
        item: S::Item,
    ) -> Result<S::Answer, Error> {
        lock.check_turns()?;
        let reads = self.shared.section.reads(&item);
        // One's bad reads must not fail the others.
        lock.check_reads(&reads)?;
        let bytes = reads::bytes(&reads);
        let item = Arc::new(Asked::new(item, reads));
        let Some(peek) = self.peek else {
            return self.take_turn(lock, item, bytes).await;
        };
        if self.shared.habits.takes_turns(lock.key()) {
            let mut turn = pin!(self.take_turn(lock, item.clone(), bytes));
            let look = self.look(peek, lock, item.clone(), bytes);
            return match select(turn.as_mut(), look).await {
                Either::Left(outcome) => outcome,
                // What its own turn writes, it could take for what was there before.
                Either::Right(Ok(Some(answer))) if item.settle() => Ok(answer),
                Either::Right(_) => turn.await,
            };
        }
        let begun_at = lock.runtime().now();
        if let Some(answer) = self.look(peek, lock, item.clone(), bytes).await? {
            return Ok(answer);
        }
        let waited = lock.runtime().now().since(begun_at);
        let left = lock.patience().saturating_sub(waited);
        self.take_turn(&lock.clone().wait(left), item, bytes).await
    }

    async fn take_turn<T: Transport, R: Runtime>(
        &self,
        lock: &Lock<T, R>,
        item: Arc<Asked<S::Item>>,
        bytes: usize,
    ) -> Result<S::Answer, Error> {
        let (shared, bound) = (&self.shared, self.bound);
        let begin = |turn, lock: Lock<T, R>| -> Task {
            let shared = shared.clone();
            Box::pin(async move {
                turn::drive(&shared.section, turn, &lock, bound, &shared.habits).await;
            })
        };
        let turns = &shared.turns;
        let outcome = turns.submit(lock, item, bytes, bound, begin).await;
        outcome.map_err(|error| error.of_lock(Some(lock.key())))
    }

    async fn look<T: Transport, R: Runtime>(
        &self,
        peek: Peek<S>,
        lock: &Lock<T, R>,
        item: Arc<Asked<S::Item>>,
        bytes: usize,
    ) -> Result<Option<S::Answer>, Error> {
        let (shared, bound) = (&self.shared, self.bound);
        let begin = |look, lock: Lock<T, R>| -> Task {
            let shared = shared.clone();
            Box::pin(async move {
                look::drive(&shared.section, peek, look, &lock, &shared.habits).await;
            })
        };
        let looks = &shared.looks;
        looks.submit(lock, item, bytes, bound, begin).await
    }
}

impl<S: Section> Clone for GroupCommit<S> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            bound: self.bound,
            peek: self.peek,
        }
    }
}

/// With how many names are asked for.
impl<S: Section> fmt::Debug for GroupCommit<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.shared.turns.names() + self.shared.looks.names();
        f.debug_struct("GroupCommit")
            .field("names", &names)
            .finish_non_exhaustive()
    }
}
