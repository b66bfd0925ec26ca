//! What the last turn of a name left behind, by which the next one guesses what it will read.

use std::collections::HashMap;
use std::slice::from_ref;
use std::sync::Mutex;
use std::time::Duration;

use super::reads::{Reads, bytes};
use crate::command::{Command, Reply};
use crate::resp;
use crate::runtime::Instant;
use crate::script::{self, Left};
use crate::tasks::locked;

/// Of so many names it knows something. A name that is not known costs a turn a round trip.
const NAMES: usize = 64;

/// So many reads of a turn are made again behind its writes, at most.
const SHARED: usize = 8;

/// A turn whose shared reads find more takes the lock: that would go there and back.
const BYTES: usize = 4096;

/// What is known for so long is not expected any more. Clocks may have gone apart.
const OLD: Duration = Duration::from_secs(600);

/// Of those whom a turn answers, some come back at once. For so long the next turn waits for them.
/// Otherwise they would come just too late for it, each time.
const COME_BACK_WITHIN: Duration = Duration::from_millis(3);

/// While another process writes, too, the next turn lets it go first: for this part of the time
/// that the last one took, but so long at most. So the other's request, which knows what this
/// process wrote, is there a moment before this one's.
const FOR_RIVALS: (u32, Duration) = (3, Duration::from_millis(10));

/// Behind a guess that found what another process wrote, so many turns expect that to go on.
const RIVALS: u8 = 3;

/// After a turn that met several others, so many more turns expect them.
const CROWDED: u8 = 4;

/// Of each name; `None` for one that reads too much.
#[derive(Default)]
pub(super) struct Seen(Mutex<HashMap<String, Option<Last>>>);

/// The last turn of a name, as far as this process knows.
struct Last {
    /// Redis's clock, in microseconds, or a little earlier.
    redis_us: u64,
    at: Instant,
    found: HashMap<Command, Reply>,
    asked: Vec<Command>,
    ended_at: Instant,
    /// How long that turn took.
    took: Duration,
    /// So many turns let another process go first.
    rivals: u8,
    /// The last guesses were wrong, though what the reads found was known.
    is_in_vain: bool,
    /// Several others have turns of it, too: so many turns may meet fewer.
    crowded: u8,
    /// How many items were there when it ended: its own, and those that waited.
    were_there: usize,
}

/// What a turn expects.
pub(super) struct Expected {
    /// Redis's clock, in microseconds, or a little earlier.
    pub(super) redis_us: u64,
    pub(super) found: Vec<Reply>,
}

impl Seen {
    /// What `reads` will find, if that can be guessed.
    pub(super) fn guess(&self, name: &str, reads: &Reads, now: Instant) -> Option<Expected> {
        let names = locked(&self.0);
        let last = names.get(name)?.as_ref()?;
        let found = reads.looked().map(|(read, looked)| {
            let known = last.found.get(read).or(looked).cloned();
            known.or_else(|| script::of_nothing(read))
        });
        let since = now.since(last.at);
        if since > OLD {
            return None;
        }
        Some(Expected {
            redis_us: last.redis_us.saturating_add(since.as_micros() as u64),
            found: found.collect::<Option<_>>()?,
        })
    }

    /// What `tell` says of the last turn of a name, if it is known.
    fn last<O>(&self, name: &str, tell: impl FnOnce(&Last) -> O) -> Option<O> {
        locked(&self.0).get(name)?.as_ref().map(tell)
    }

    /// For how many items the next turn waits, just behind the end of one, and for how long. With
    /// another process, it waits even if all are there.
    pub(super) fn pause(&self, name: &str, now: Instant) -> Option<(usize, Duration)> {
        self.last(name, |last| {
            let (part, longest) = FOR_RIVALS;
            let (most, within) = match last.rivals {
                0 => (last.were_there, COME_BACK_WITHIN),
                _ => (usize::MAX, longest.min(last.took / part)),
            };
            (most, within.saturating_sub(now.since(last.ended_at)))
        })
    }

    /// Whether it is known what turns share. After a turn of something else it is not.
    pub(super) fn knows_shared(&self, name: &str) -> bool {
        self.last(name, |last| (1..SHARED).contains(&last.found.len())) == Some(true)
    }

    /// Those of `reads` of which nothing is known from the last turn.
    pub(super) fn unknown<'a>(&self, name: &str, mut reads: Vec<&'a Command>) -> Vec<&'a Command> {
        self.last(name, |last| reads.retain(|read| !last.found.contains_key(*read)));
        reads
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
            _ if !is_small(read) => false,
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
        // Whoever asks for one name after another makes it forget those, and not a name in use.
        if names.len() >= NAMES && !names.contains_key(name) {
            let at = |last: &Option<Last>| last.as_ref().map(|last| last.at);
            let oldest = names.iter().min_by_key(|(_, last)| at(last));
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                names.remove(&oldest);
            }
        }
        let (rivals, is_in_vain, crowded) = match names.get(name) {
            Some(None) => return,
            Some(Some(last)) => (last.rivals, last.is_in_vain, last.crowded),
            None => (0, false, 0),
        };
        let did_fail = |reply: &Reply| matches!(reply, Reply::Error(_));
        let found: HashMap<_, _> = found.filter(|(_, reply)| !did_fail(reply)).collect();
        let texts = found.values().filter_map(|reply| resp::text(from_ref(reply)));
        let size: usize = texts.map(|text| text.len()).sum();
        let last = (size <= BYTES).then(|| Last {
            redis_us,
            at,
            found,
            asked: asked(reads),
            ended_at: at,
            took: Duration::ZERO,
            rivals,
            is_in_vain,
            crowded,
            were_there: 0,
        });
        names.insert(name.to_owned(), last);
    }

    /// A guess was wrong: at this time of Redis's its reads found that. What else is known stays,
    /// right or wrong.
    pub(super) fn learn(
        &self,
        name: &str,
        redis_us: u64,
        at: Instant,
        reads: &Reads,
        found: &[Reply],
    ) {
        self.change(name, |last| {
            (last.redis_us, last.at) = (redis_us, at);
            for (read, reply) in reads.commands.iter().zip(found) {
                match reply {
                    Reply::Error(_) => drop(last.found.remove(read)),
                    reply => {
                        let known = last.found.get_mut(read);
                        let changed = known.filter(|known| *known != reply);
                        if let Some(known) = changed {
                            known.clone_from(reply);
                            last.rivals = RIVALS;
                        }
                    }
                }
            }
        });
    }

    /// A guess was right. It ended at this time, `took` so long, and left so many items there.
    pub(super) fn ends(&self, name: &str, at: Instant, took: Duration, were_there: usize) {
        self.change(name, |last| {
            (last.ended_at, last.took, last.were_there) = (at, took, were_there);
            (last.rivals, last.is_in_vain) = (last.rivals.saturating_sub(1), false);
        });
    }

    /// At this time the last holder of the lock left that. What else is known stays.
    pub(super) fn left(&self, name: &str, at: Instant, reads: &Reads, left: &Left) {
        let found = reads.commands.iter().filter_map(|read| {
            let found = left.found.iter().find(|(words, _)| words == read.args());
            Some((read.clone(), found?.1.clone()))
        });
        if self.last(name, |_| ()).is_none() {
            return self.note(name, left.redis_us, at, found, reads);
        }
        self.change(name, |last| {
            (last.redis_us, last.at) = (left.redis_us, at);
            last.found.extend(found);
        });
    }

    /// Whether the last turn that guessed was always wrong.
    pub(super) fn is_in_vain(&self, name: &str) -> bool {
        self.last(name, |last| last.is_in_vain).unwrap_or_default()
    }

    pub(super) fn was_in_vain(&self, name: &str) {
        self.change(name, |last| last.is_in_vain = true);
    }

    /// Whether several others have turns of it, too.
    pub(super) fn is_crowded(&self, name: &str) -> bool {
        self.last(name, |last| last.crowded > 0).unwrap_or_default()
    }

    /// So many waited ahead of a turn that asked for the lock.
    pub(super) fn waited_behind(&self, name: &str, ahead: u64) {
        self.change(name, |last| {
            last.crowded = match ahead {
                0 => last.crowded.saturating_sub(1),
                _ => CROWDED,
            };
        });
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Last)) {
        if let Some(Some(last)) = locked(&self.0).get_mut(name) {
            change(last);
        }
    }

    /// Nothing is known of this name any more.
    pub(super) fn forget(&self, name: &str) {
        locked(&self.0).remove(name);
    }
}

fn asked(reads: &Reads) -> Vec<Command> {
    let asked = reads.commands.iter().filter(|read| is_small(read));
    asked.take(SHARED).cloned().collect()
}

/// Whether a read may be kept, and be made twice.
fn is_small(read: &Command) -> bool {
    bytes(from_ref(read)) <= BYTES / SHARED
}
