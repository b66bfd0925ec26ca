//! How large a turn may be, and what needs none.

use super::GroupCommit;
use super::section::{Peek, Section};

impl<S: Section> GroupCommit<S> {
    /// Looks at all items without the lock. Items that arrive at about the same time share the
    /// request. An item that `peek` answers needs no turn, and does not wait for one. Use it
    /// for refusals that stay true, as of a sale that is over, and for items that were decided
    /// before. By default no item is looked at.
    ///
    /// If most items of a name recently needed a turn, an item waits for its turn while it is
    /// looked at. If [turns do not use their fences](Section::USES_FENCE), it is looked at only if
    /// the turns of its name wait for another holder for 500 ms, or longer, the longer it waits; or
    /// first, if what it alone reads was there when it was last read, so that its turn would guess
    /// wrong. Otherwise the look comes first, and an item that it does not answer costs one more
    /// round trip. A look waits for a quarter of a round trip at most behind another one. If a look
    /// fails, the turn decides.
    ///
    /// No item is looked at with [`wait_for_replicas`](crate::Lock::wait_for_replicas), since a
    /// look sees what no replica has yet, nor if its reads alone are over
    /// [`GroupCommit::max_bytes`].
    #[must_use]
    pub fn peek(mut self, peek: Peek<S>) -> Self {
        self.peek = Some(peek);
        self
    }

    /// How many items a turn has at most: 1 or more, or all items are refused. Default 256.
    #[must_use]
    pub const fn max_items(mut self, items: usize) -> Self {
        self.bound.items = items;
        self
    }

    /// How many bytes of commands a request has at most, approximately. Default 256 KiB. Bridges
    /// have a limit: Upstash's is 1 MB on its smallest plan. The writes of a turn's last item may
    /// exceed it. An item that alone does gets a turn of its own; before the next such item, others
    /// have as many turns as its bytes would fill.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.bound.bytes = bytes;
        self
    }

    /// How many items of a name may wait for a turn, or for a look: 10,000 by default. Once all
    /// names together have five times as many, each may have its share of as many again, or one.
    /// Beyond that an item gets [`Error::Held`](crate::Error::Held) at once. 0 means one at a time.
    #[must_use]
    pub const fn max_waiting(mut self, items: usize) -> Self {
        self.bound.waiting = items;
        self
    }
}
