//! What the items of a turn read, in one request.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::command::{Command, Reply};
use crate::error::{Error, Fault};
use crate::resp;
use crate::tasks::locked;

/// An item, with what decides who answers it.
pub(super) struct Pending<I> {
    pub(super) item: I,
    pub(super) reads: Vec<Command>,
    /// What a look found, or a guess that was wrong.
    looked: Mutex<Vec<Reply>>,
    fate: AtomicU8,
}

/// Who answers an item.
const OPEN: u8 = 0;
const DECIDED: u8 = 1;
const SETTLED: u8 = 2;

impl<I> Pending<I> {
    pub(super) const fn new(item: I, reads: Vec<Command>) -> Self {
        Self { item, reads, looked: Mutex::new(Vec::new()), fate: AtomicU8::new(OPEN) }
    }

    /// A look found this, and did not answer it; or a guess found it, and was wrong.
    pub(super) fn look(&self, found: Vec<Reply>) {
        *locked(&self.looked) = found;
    }

    /// Its turn has the lock, and is to decide it. Returns whether it may: not once a look has
    /// settled it.
    pub(super) fn begin(&self) -> bool {
        self.become_of(DECIDED)
    }

    /// A look is to answer it. Returns whether it may: not once a turn has begun to decide it.
    pub(super) fn settle(&self) -> bool {
        self.become_of(SETTLED)
    }

    /// Its turn wrote nothing, and waits for the lock.
    pub(super) fn reopen(&self) {
        let (from, to) = (DECIDED, OPEN);
        let _ = (self.fate).compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The first of the two counts.
    fn become_of(&self, fate: u8) -> bool {
        let first = (self.fate).compare_exchange(OPEN, fate, Ordering::Relaxed, Ordering::Relaxed);
        first.is_ok() || first == Err(fate)
    }
}

/// The reads of several items. A read that all of them have at the same place is sent once.
#[derive(Default)]
pub(super) struct Reads {
    pub(super) commands: Vec<Command>,
    /// For each of them, what a look found.
    looked: Vec<Option<Reply>>,
    /// Whether several items have it.
    shared: Vec<bool>,
    /// For each item, where its reads are.
    places: Vec<Vec<usize>>,
}

impl Reads {
    pub(super) fn of<'a, I: 'a>(items: impl Iterator<Item = &'a Pending<I>>) -> Self {
        let mut all = Self::default();
        for item in items {
            let looked = locked(&item.looked);
            let looked = |at: usize| looked.get(at).cloned();
            let places = item.reads.iter().enumerate();
            let places = places.map(|(at, read)| all.place(at, read, || looked(at)));
            let places = places.collect();
            all.places.push(places);
        }
        all
    }

    /// The place of `read`, which is an item's read number `at`.
    fn place(&mut self, at: usize, read: &Command, looked: impl Fn() -> Option<Reply>) -> usize {
        let first = self.places.first().and_then(|first| first.get(at));
        match first {
            Some(&place) if self.commands.get(place) == Some(read) => {
                self.shared[place] = true;
                place
            }
            _ => {
                self.commands.push(read.clone());
                self.looked.push(looked());
                self.shared.push(false);
                self.commands.len() - 1
            }
        }
    }

    /// Whether several items have the read at this place.
    pub(super) fn is_shared(&self, place: usize) -> bool {
        self.shared.get(place) == Some(&true)
    }

    /// The reads, each with what a look found.
    pub(super) fn looked(&self) -> impl Iterator<Item = (&Command, Option<&Reply>)> {
        let looked = self.looked.iter().map(Option::as_ref);
        self.commands.iter().zip(looked)
    }

    /// The reads that no other item has at the same place, of the items at `places`.
    pub(super) fn alone(&self, places: impl Iterator<Item = usize>) -> Vec<usize> {
        let places = places.filter_map(|item| self.places.get(item)).flatten();
        places.copied().filter(|place| !self.is_shared(*place)).collect()
    }

    /// What `some` of them found.
    pub(super) fn found(
        &self,
        some: &[Command],
        replies: &[Reply],
    ) -> impl Iterator<Item = (Command, Reply)> {
        let all = self.commands.iter().zip(replies);
        let found = all.filter(|(read, _)| some.contains(read));
        found.map(|(read, reply)| (read.clone(), reply.clone()))
    }

    /// How many items these are the reads of.
    pub(super) const fn items(&self) -> usize {
        self.places.len()
    }

    /// Removes the items for which `has` is false.
    pub(super) fn retain(&mut self, has: &[bool]) {
        retain(&mut self.places, has);
    }

    /// Whether the replies ahead of one item's own left no room for them in the answer.
    pub(super) fn lacks_room(&self, item: usize, replies: &[Reply]) -> bool {
        let mut own = self.places[item].iter().map(|place| replies.get(*place));
        own.any(|reply| reply.is_some_and(resp::lacks_room))
    }

    /// The replies to one item's reads.
    pub(super) fn replies(&self, item: usize, replies: &[Reply]) -> Result<Vec<Reply>, Error> {
        let found = self.places[item].iter().map(|place| replies.get(*place));
        let found: Option<Vec<Reply>> = found.map(|reply| reply.cloned()).collect();
        let found = found.ok_or_else(|| Fault::unexpected("a reply to each read is missing"))?;
        let commands = self.places[item].iter().map(|place| &self.commands[*place]);
        failed(commands, &found).map_or(Ok(found), Err)
    }
}

/// Removes those for which `has` is false.
pub(super) fn retain<O>(all: &mut Vec<O>, has: &[bool]) {
    let mut has = has.iter();
    all.retain(|_| has.next() == Some(&true));
}

/// The error of the first of one item's commands that failed, by the replies to all of them.
pub(super) fn failed<'a>(
    mut commands: impl Iterator<Item = &'a Command>,
    replies: &[Reply],
) -> Option<Error> {
    let (index, message) = replies.iter().enumerate().find_map(|(index, reply)| {
        let message = match reply {
            Reply::Error(message) => Some(message),
            _ => None,
        };
        message.map(|message| (index, message.clone()))
    })?;
    let name = commands.nth(index).and_then(|command| command.args().first());
    Some(Error::CommandFailed {
        lock: None,
        index,
        command: name.cloned().unwrap_or_default(),
        message,
    })
}

/// How many bytes `commands` add to a request, at most, unless JSON must escape many of their
/// bytes. Keys occur twice.
pub(super) fn bytes(commands: &[Command]) -> usize {
    /// Quotes and a comma; and the number of words of a command.
    const AROUND: usize = 3;
    let word = |word: &str| word.len() + AROUND;
    let command = |command: &Command| {
        let words: usize = command.args().iter().map(|text| word(text)).sum();
        words + command.keys().map(word).sum::<usize>() + 2 * AROUND
    };
    commands.iter().map(command).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(keys: &[&str]) -> Pending<()> {
        let reads = keys.iter().map(|key| Command::new("GET").key(key));
        Pending::new((), reads.collect())
    }

    #[test]
    fn what_all_read_is_read_once_and_each_gets_its_own_replies() {
        let items = [asked(&["stock", "a"]), asked(&["stock", "b"]), asked(&["b"])];
        let reads = Reads::of(items.iter());
        let keys: Vec<_> = reads.commands.iter().flat_map(Command::keys).collect();
        assert_eq!(keys, ["stock", "a", "b", "b"]);
        let replies: Vec<Reply> = (0..4).map(Reply::Int).collect();
        assert_eq!(reads.replies(1, &replies), Ok(vec![Reply::Int(0), Reply::Int(2)]));
        assert_eq!(reads.replies(2, &replies), Ok(vec![Reply::Int(3)]));
        assert!(reads.replies(2, &replies[..3]).is_err());
        let failing = [Reply::Int(0), Reply::Nil, Reply::Error("ERR no".into()), Reply::Nil];
        assert!(reads.replies(0, &failing).is_ok());
        let error = reads.replies(1, &failing).unwrap_err();
        assert!(matches!(error, Error::CommandFailed { index: 1, .. }), "{error}");
    }

    #[test]
    fn commands_are_counted_for_no_less_than_they_take() {
        let commands = [Command::new("HSET").key("sale").arg("remaining").arg(7)];
        assert!(bytes(&commands) >= r#""sale","4","HSET","sale","remaining","7","#.len());
    }
}
