//! The kinds of locks, as data: how each is stored, what it can be asked for, and how who waits for it is woken.
//!
//! A kind is a folder: its row, and the Lua that knows how it is stored. What kinds have in common is in `shared`. Where a lock lives,
//! and what else a lock may be told to do, are not kinds, but a kind says which of it it can.

mod lua;
mod mutex;
mod once;
mod quorum;
mod read_write;
mod reentrant;
mod semaphore;
mod shared;

use crate::error::Error;
use crate::name::Name;
use crate::token::{Session, Token};

pub(crate) use lua::{Script, Scripts};

/// What reads without a lock.
pub(crate) static READ: Script = Script::of(&[shared::RESP, shared::READ]);

/// All that tells one kind from another.
pub(crate) struct Row {
    scripts: Scripts,
    /// Those of a lock that also feeds a list when it is free.
    signalling: Option<Scripts>,
    /// Its keys besides those that all locks have; of the token, or the session, with this text.
    keys: fn(&Name, &str) -> Vec<String>,
    waking: Waking,
    /// What it is where a majority of several servers decides.
    of_majority: Option<&'static Self>,
    /// Makes a fence the lowest that each server knows, where a majority decides.
    raise: Option<Script>,
    /// Makes less of a hold than it is, for others to have it too.
    downgrade: Option<Script>,
    refusals: Refusals,
}

/// How who waits is woken.
enum Waking {
    /// Waiters queue, and a release gives the lock to one of them, and tells it.
    HandOver,
    /// All who listen to this channel are told that it may be free.
    Broadcast(fn(&Name) -> String),
    /// Nobody is told.
    Poll,
}

/// Why a kind cannot be asked for something, where it cannot.
#[derive(Clone, Copy)]
struct Refusals {
    fair: Option<&'static str>,
    label: Option<&'static str>,
    commands: Option<&'static str>,
    replicas: Option<&'static str>,
    signal_list: Option<&'static str>,
    turns: Option<&'static str>,
    majority: Option<&'static str>,
}

impl Refusals {
    const NONE: Self = Self {
        fair: None,
        label: None,
        commands: None,
        replicas: None,
        signal_list: None,
        turns: None,
        majority: None,
    };
}

/// The kind of one lock, and who asks for it, where the kind tells by more than a token.
#[derive(Clone)]
pub(crate) struct Kind {
    row: &'static Row,
    owner: Option<String>,
    signal_list: Option<String>,
    /// What is wanted of it, as its scripts and the queue have it; one word, and empty where there is but one thing.
    wants: String,
}

impl Kind {
    /// The token of one holder.
    pub(crate) const fn mutex() -> Self {
        Self::of(&mutex::ROW)
    }

    /// An owner, who may enter again, and how often it entered.
    pub(crate) fn reentrant(owner: &str) -> Self {
        Self {
            owner: Some(owner.to_owned()),
            ..Self::of(&reentrant::ROW)
        }
    }

    /// One of so many permits.
    pub(crate) fn semaphore(permits: u32) -> Self {
        Self {
            wants: permits.to_string(),
            ..Self::of(&semaphore::ROW)
        }
    }

    /// One that writes alone; as a mutex has it, it wants nothing in particular.
    pub(crate) const fn writer() -> Self {
        Self::of(&read_write::WRITER)
    }

    /// One that reads beside others.
    pub(crate) fn reader() -> Self {
        Self {
            wants: "r".into(),
            ..Self::of(&read_write::READER)
        }
    }

    /// A lock that nobody gets any more once the result of its work is kept.
    pub(crate) const fn once() -> Self {
        Self::of(&once::ROW)
    }

    const fn of(row: &'static Row) -> Self {
        Self {
            row,
            owner: None,
            signal_list: None,
            wants: String::new(),
        }
    }

    /// The same where a majority of several servers decides.
    pub(crate) fn of_majority(self) -> (Self, Result<(), Error>) {
        let checked = refuse(self.row.refusals.majority);
        let row = self.row.of_majority.unwrap_or(self.row);
        (Self { row, ..self }, checked)
    }

    /// Has a list fed when it becomes free.
    pub(crate) fn set_signal_list(&mut self, list: String) -> Result<(), Error> {
        refuse(self.row.refusals.signal_list)?;
        self.signal_list = Some(list);
        Ok(())
    }

    pub(crate) fn check_fair(&self) -> Result<(), Error> {
        refuse(self.row.refusals.fair)
    }

    pub(crate) fn check_label(&self) -> Result<(), Error> {
        refuse(self.row.refusals.label)
    }

    pub(crate) fn check_replicas(&self) -> Result<(), Error> {
        refuse(self.row.refusals.replicas)
    }

    /// Whether one turn of it is over before the next begins.
    pub(crate) fn check_turns(&self) -> Result<(), Error> {
        refuse(self.row.refusals.turns)
    }

    /// Whether commands may run where the lock is.
    pub(crate) fn check_commands(&self) -> Result<(), Error> {
        refuse(self.row.refusals.commands)
    }

    pub(crate) fn scripts(&self) -> &'static Scripts {
        let signalling = self.row.signalling.as_ref();
        signalling
            .filter(|_| self.signal_list.is_some())
            .unwrap_or(&self.row.scripts)
    }

    /// Makes the fence of a hold that a majority granted the lowest; `None` where nobody votes.
    pub(crate) const fn raise(&self) -> Option<&'static Script> {
        self.row.raise.as_ref()
    }

    /// Makes a reader of a writer; `None` of what is no writer beside whom there are readers.
    pub(crate) const fn downgrade(&self) -> Option<&'static Script> {
        self.row.downgrade.as_ref()
    }

    /// Whether a majority of several servers decides.
    pub(crate) const fn is_voted(&self) -> bool {
        self.row.raise.is_some()
    }

    /// What asking in vain costs: asking, and giving back what was had.
    pub(crate) const fn requests_of_a_try(&self) -> u32 {
        if self.is_voted() { 2 } else { 1 }
    }

    /// What is stored of who has the lock with `token`.
    pub(crate) fn holder<'a>(&'a self, token: &'a Token) -> &'a str {
        self.owner.as_deref().unwrap_or_else(|| token.expose())
    }

    /// What is wanted of it; one word, or empty.
    pub(crate) fn wants(&self) -> &str {
        &self.wants
    }

    /// Its keys besides those that all locks have; `id` is whose they are.
    pub(crate) fn keys(&self, name: &Name, id: &str) -> Vec<String> {
        let mut keys = (self.row.keys)(name, id);
        // In each script, so that a cluster on which they do not share a slot refuses the first.
        keys.extend(self.signal_list.clone());
        keys
    }

    /// Where the result of work that is executed once is kept.
    pub(crate) fn kept(name: &Name) -> String {
        once::kept(name)
    }

    /// Whether waiters stand in a queue, and are told that the lock is theirs; else that it may be free.
    pub(crate) const fn queues(&self) -> bool {
        matches!(self.row.waking, Waking::HandOver)
    }

    /// Where who waits with `session` hears that the lock is its, or free; `None` if no bridge could say so.
    pub(crate) fn channel(&self, name: &Name, session: &Session) -> Option<String> {
        match self.row.waking {
            Waking::HandOver => Some(escaped(&name.companion_of("wake", session.as_str()))),
            Waking::Broadcast(channel) => {
                Some(channel(name)).filter(|channel| escaped(channel) == *channel)
            }
            Waking::Poll => None,
        }
    }
}

fn refuse(why: Option<&'static str>) -> Result<(), Error> {
    why.map_or(Ok(()), |why| Err(Error::InvalidArgument(why.into())))
}

/// Bridges tell the parts of an event apart by commas and line ends, so a channel must have none.
fn escaped(channel: &str) -> String {
    let mut out = String::with_capacity(channel.len());
    for char in channel.chars() {
        if char == ',' || char == '%' || char.is_control() {
            out.push_str(&format!("%{:02X}", u32::from(char)));
        } else {
            out.push(char);
        }
    }
    out
}

#[cfg(test)]
mod tests;
