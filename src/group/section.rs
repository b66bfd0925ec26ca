//! What happens to items under the lock, as a user writes it.

use crate::command::{Command, Reply};
use crate::threads::{SendOutsideWasm, SyncOutsideWasm};

/// What is read for an item, and how the items of a turn are decided. Nothing of it may wait.
///
/// All that the items of one turn read is read before the first of them is decided. So whatever a
/// decision changes that a later item looks at must be carried along in [`Section::Turn`]: how much
/// is left, who has had how many.
pub trait Section: SendOutsideWasm + SyncOutsideWasm + 'static {
    /// What a caller brings.
    type Item: SendOutsideWasm + SyncOutsideWasm;

    /// What it gets, a refusal included.
    type Answer: SendOutsideWasm;

    /// What the items of one turn share. Each turn begins with an empty one.
    type Turn: Default;

    /// What must be known to decide `item`. What all items read should come first, in the same
    /// order: then it is read once for all.
    fn reads(&self, item: &Self::Item) -> Vec<Command>;

    /// Decides `item`, given what its reads found before the turn, and what the items before it
    /// made of `turn`. The fence is that of the turn's lease.
    ///
    /// One whose commands cannot be sent is refused with
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument), and nothing is written for it.
    ///
    /// It must depend on nothing else: an item whose turn is not heard of any more before it wrote
    /// anything is decided anew.
    fn decide(
        &self,
        item: &Self::Item,
        replies: &[Reply],
        turn: &mut Self::Turn,
        fence: u64,
    ) -> Decision<Self::Answer>;

    /// What is written once for all items of a turn, behind what was written for each: a sum, an
    /// expiry. Nothing unless it is implemented.
    fn end(&self, turn: Self::Turn) -> Vec<Command> {
        let _ = turn;
        Vec::new()
    }
}

/// What an item comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<A> {
    /// All of these commands are run, if there are any, and then this is the answer.
    Write(Vec<Command>, A),
    /// Nothing is written.
    Leave(A),
}
