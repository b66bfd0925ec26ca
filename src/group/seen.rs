//! What the last turn of a name left behind, by which the next one guesses what it will read.

use std::collections::HashMap;
use std::sync::Mutex;

use super::habits::Habits;
use super::reads::Reads;
use super::section::Section;
use crate::command::{Command, Reply};
use crate::lock::Lock;
use crate::locked::locked;
use crate::resp;
use crate::runtime::{Instant, Runtime};
use crate::script;
use crate::transport::Transport;

/// Of so many names it knows something. A name that is not known costs a turn a round trip.
const NAMES: usize = 64;

/// So many reads of a turn are made again behind its writes, at most.
const SHARED: usize = 8;

/// A turn that reads larger shared things takes the lock: they would go there and back.
const BYTES: usize = 4096;

/// Of each name; `None` for one that reads too much.
pub(super) struct Seen(Mutex<HashMap<String, Option<Last>>>);

/// The last turn of a name, as far as this process knows.
struct Last {
    /// Redis's clock, in microseconds, or a little earlier.
    redis_us: u64,
    at: Instant,
    found: HashMap<Command, Reply>,
    asked: Vec<Command>,
}

/// What a turn expects.
pub(super) struct Expected {
    /// Redis's clock, in microseconds, or a little earlier.
    pub(super) redis_us: u64,
    pub(super) found: Vec<Reply>,
}

impl Seen {
    pub(super) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// What `reads` will find, if that can be guessed.
    pub(super) fn guess(&self, name: &str, reads: &[Command], now: Instant) -> Option<Expected> {
        let names = locked(&self.0);
        let last = names.get(name)?.as_ref()?;
        let found = reads.iter().map(|read| {
            let known = last.found.get(read).cloned();
            known.or_else(|| script::of_nothing(read))
        });
        let since = u64::try_from(now.since(last.at).as_micros()).ok()?;
        Some(Expected {
            redis_us: last.redis_us.saturating_add(since),
            found: found.collect::<Option<_>>()?,
        })
    }

    /// Those of a turn's reads that the next turn will have, too: of several items, what they have
    /// in common; of one, what the turn before it read. They are read again behind the writes.
    pub(super) fn in_common(&self, name: &str, reads: &Reads) -> Vec<Command> {
        let names = locked(&self.0);
        let before = match names.get(name) {
            None => None,
            Some(Some(last)) => Some(&last.asked),
            Some(None) => return Vec::new(),
        };
        let is_common = |&(place, read): &(usize, &Command)| match before {
            _ if reads.is_shared(place) => true,
            Some(before) => before.contains(read),
            None => reads.items() == 1,
        };
        let common = reads.commands.iter().enumerate().filter(is_common);
        common.map(|(_, read)| read.clone()).take(SHARED).collect()
    }

    /// At this time these reads found that. `reads` are those of the whole turn.
    pub(super) fn note(
        &self,
        name: &str,
        redis_us: u64,
        at: Instant,
        found: impl Iterator<Item = (Command, Reply)>,
        reads: &Reads,
    ) {
        let mut names = locked(&self.0);
        if names.len() >= NAMES && !names.contains_key(name) {
            names.clear();
        }
        if let Some(None) = names.get(name) {
            return;
        }
        let found: HashMap<_, _> = found.collect();
        let replies: Vec<_> = found.values().cloned().collect();
        let is_small = resp::text(&replies).is_none_or(|text| text.len() <= BYTES);
        let last = is_small.then(|| Last {
            redis_us,
            at,
            found,
            asked: reads.commands.iter().take(SHARED).cloned().collect(),
        });
        names.insert(name.to_owned(), last);
    }

    /// Nothing is known of this name any more.
    pub(super) fn forget(&self, name: &str) {
        locked(&self.0).remove(name);
    }
}

/// What a process knows of the names.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) habits: &'a Habits,
    pub(super) seen: &'a Seen,
}

impl Known<'_> {
    /// As [`Seen::in_common`], if that is used.
    pub(super) fn in_common<S: Section>(self, name: &str, reads: &Reads) -> Vec<Command> {
        match S::USES_FENCE {
            true => Vec::new(),
            false => self.seen.in_common(name, reads),
        }
    }

    /// At this time of Redis's these reads found that, as the next turn will read them, too.
    pub(super) fn note<S: Section, T: Transport, R: Runtime>(
        self,
        lock: &Lock<T, R>,
        redis_us: u64,
        found: impl Iterator<Item = (Command, Reply)>,
        reads: &Reads,
    ) {
        if S::USES_FENCE {
            return;
        }
        let now = lock.runtime().now();
        (self.seen).note(lock.key(), redis_us, now, found, reads);
    }
}
