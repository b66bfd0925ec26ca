//! Locks a mutex, also after a panic elsewhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panic of another that had it locked does not matter: nobody leaves a change half done under a
/// mutex of this crate.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
