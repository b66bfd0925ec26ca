//! What a lease's owner is told of its end.

use super::{Check, Invariant};

impl Check {
    /// `call` was told that the lease of `token` is lost.
    pub(crate) fn told_lost(&self, lock: &str, token: &str, call: &str) {
        let locks = self.locks.borrow();
        let was_given_back =
            (locks.get(lock)).is_some_and(|record| record.released.contains(token));
        if was_given_back {
            let what =
                format!("{call} of {token} said that {lock} was lost, and it was given back");
            self.fail(Invariant::ToldRight, what);
        }
    }
}
