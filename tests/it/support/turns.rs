//! Shared turns of sections that a test says in two functions.

use edgelock::{Command, Decision, Error, GroupCommit, Lock, Reply, Runtime, Section, Transport};
use tokio::task::JoinHandle;

/// A section of two functions. `F` says whether its turns use their fences.
pub(crate) struct Own<I, S, A, const F: bool = true> {
    pub(crate) reads: fn(&I) -> Vec<Command>,
    pub(crate) decide: fn(&I, &[Reply], &mut S, u64) -> Decision<A>,
}

impl<I, S, A, const F: bool> Section for Own<I, S, A, F>
where
    I: Send + Sync + 'static,
    S: Default + 'static,
    A: Send + 'static,
{
    type Item = I;
    type Answer = A;
    type State = S;

    const USES_FENCE: bool = F;

    fn reads(&self, item: &I) -> Vec<Command> {
        (self.reads)(item)
    }

    fn decide(&self, item: &I, replies: &[Reply], state: &mut S, fence: u64) -> Decision<A> {
        (self.decide)(item, replies, state, fence)
    }
}

pub(crate) type Nothing = Own<(), (), ()>;

/// What has no turn.
pub(crate) fn no_turns() -> Nothing {
    Own { reads: |()| Vec::new(), decide: |(), _, (), _| panic!("there is no turn") }
}

/// An item that is submitted in a task of its own.
pub(crate) fn placed<S: Section, T: Transport + 'static, R: Runtime>(
    group: &GroupCommit<S>,
    lock: &Lock<T, R>,
    item: S::Item,
) -> JoinHandle<Result<S::Answer, Error>> {
    let (group, lock) = (group.clone(), lock.clone());
    tokio::task::spawn_local(async move { group.submit(&lock, item).await })
}

/// The outcomes of items that are submitted at once, in the same order.
pub(crate) async fn together<S: Section, T: Transport + 'static, R: Runtime>(
    group: &GroupCommit<S>,
    lock: &Lock<T, R>,
    items: impl IntoIterator<Item = S::Item>,
) -> Vec<Result<S::Answer, Error>> {
    let placed: Vec<_> = items.into_iter().map(|item| placed(group, lock, item)).collect();
    let mut outcomes = Vec::new();
    for item in placed {
        outcomes.push(item.await.expect("no panic"));
    }
    outcomes
}
