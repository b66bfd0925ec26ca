//! How large a turn may be, and what needs none.

use super::GroupCommit;
use super::section::{Peek, Section};

impl<S: Section> GroupCommit<S> {
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
}
