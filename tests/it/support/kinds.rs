//! The kinds of locks. What every kind promises, tests ask of all of these.

use std::collections::BTreeSet;
use std::fs;

use edgelock::{Client, Lock, Runtime, Transport};
use testkit::paths;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Mutex,
    Reentrant,
    Semaphore,
    Writer,
    Reader,
    Multi,
    Limits,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Mutex,
        Self::Reentrant,
        Self::Semaphore,
        Self::Writer,
        Self::Reader,
        Self::Multi,
        Self::Limits,
    ];

    pub(crate) fn others(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |kind| *kind != self)
    }

    /// A lock of this kind with the first of `names`, or with all of them at once. `owner` has it
    /// if it is a kind that has owners. A semaphore has one permit, so that it is had as the others
    /// are.
    pub(crate) fn lock<T: Transport, R: Runtime>(
        self,
        client: &Client<T, R>,
        names: &[&str],
        owner: &str,
    ) -> Lock<T, R> {
        let name = names[0];
        match self {
            Self::Mutex => client.lock(name),
            Self::Reentrant => client.reentrant(name, owner),
            Self::Semaphore => client.semaphore(name, 1),
            Self::Writer => client.read_write(name).write(),
            Self::Reader => client.read_write(name).read(),
            Self::Multi => client.lock_all(names),
            Self::Limits => client.limits(names.iter().map(|name| (*name, 1))),
        }
    }

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

#[test]
fn every_kind_is_in_the_list() {
    let source = fs::read_to_string(paths::root().join("src/kind.rs")).expect("a file");
    let made = source.lines().filter(|line| line.ends_with("-> Self {"));
    let made: BTreeSet<String> = made
        .filter_map(|line| line.strip_prefix("    pub(crate) "))
        .map(|line| line.trim_start_matches("const "))
        .filter_map(|line| line.strip_prefix("fn ")?.split_once('('))
        .map(|(name, _)| name.to_owned())
        .collect();
    // What is executed once is no lock that users get. What is reserved is not free again behind a
    // commit.
    let listed = Kind::ALL.into_iter().map(Kind::name);
    assert_eq!(made, listed.chain(["once".into(), "reservations".into()]).collect());
}
