//! The part that a user writes: what becomes of items under the lock, or without it.

use crate::command::{Command, Reply};

/// What is read for an item, and how the items of a turn are decided. No method may wait.
///
/// All reads of a turn are made before its first item is decided. So if a decision changes what a
/// later item depends on, carry it along in [`Section::State`]: how much is left, who has had how
/// many.
pub trait Section: Send + Sync + 'static {
    /// What a caller brings.
    type Item: Send + Sync;

    /// What the caller gets. A refusal is an answer too.
    type Answer: Send;

    /// What the items of one turn share. Each turn starts with the default.
    type State: Default;

    /// Whether [`Section::decide`] uses the fence. By default it does: each turn takes the lock.
    ///
    /// If it does not, say `false`: then a turn that nobody competes with is one request, and one
    /// round trip. The items are decided by guesses of what their reads will find: what the last
    /// turn of this process left, what a look found, and nothing for other keys. The request writes
    /// only if the lock is free, nobody waits for it, and the reads find exactly that. Otherwise
    /// nothing is written, and the items are decided again by what was found. If the third guess is
    /// wrong too, the turn takes the lock. So `decide` must accept replies that were never true,
    /// such as nothing for a key that is always there.
    ///
    /// A turn takes the lock if its reads have what never repeats, such as `TIME` or `PTTL`. The
    /// same holds for reads that all items have, if they find more than 4 KiB or one of them has
    /// more than 512 bytes; and for a new command other than those that read strings, hashes,
    /// lists, sets and sorted sets. Locks that wait for replicas are always taken.
    const USES_FENCE: bool = true;

    /// The reads that decide `item`. Put reads that all items have first, in the same order: the
    /// turn then sends these once.
    fn reads(&self, item: &Self::Item) -> Vec<Command>;

    /// Decides `item` by the `replies` to its reads, and by what the items before it made of
    /// `state`. The fence is that of the turn's lease, or 0 if [`Section::USES_FENCE`] is `false`.
    ///
    /// An item whose commands cannot be sent is refused with
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument), and nothing is written for it.
    /// The others are decided again, since `decide` may have changed their state.
    ///
    /// The decision must depend only on these arguments: if a turn vanishes before it wrote
    /// anything, its items are decided again.
    fn decide(
        &self,
        item: &Self::Item,
        replies: &[Reply],
        state: &mut Self::State,
        fence: u64,
    ) -> Decision<Self::Answer>;

    /// The commands that run once for all items of a turn, after the writes of each: a sum, an
    /// expiry. Default none.
    fn end(&self, state: Self::State) -> Vec<Command> {
        let _ = state;
        Vec::new()
    }
}

/// What becomes of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<A> {
    /// These commands are run, if there are any. Then this is the answer.
    Write(Vec<Command>, A),
    /// Nothing is written.
    Leave(A),
}

/// The final answer of an item by what its reads found without the lock, if there is one.
pub(super) type Peek<S> = fn(&S, &<S as Section>::Item, &[Reply]) -> Option<<S as Section>::Answer>;
