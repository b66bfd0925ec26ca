//! The kinds of locks, as data: how each is stored, what it can be asked for, and how its waiters
//! are woken.
//!
//! A kind is a row, and a file of Lua that knows how it is stored. What kinds have in common is in
//! `record.lua`, `operations.lua`, `queue.lua`, `commands.lua` and, for several holders at once,
//! `holders.lua`. The topology of a lock and its options are not kinds, but a kind's row says which
//! of them it supports.

mod lua;
#[cfg(test)]
mod parts;
mod rows;

use std::time::Duration;

use crate::command::Words;
use crate::error::Fault;
use crate::name::Name;
use crate::outside;
use crate::token::{Session, Token};
use crate::ttl;
use rows::{Refusals, Row, Waking, Which};

use lua::script;

pub(crate) use lua::{Script, Scripts};

/// What reads without a lock.
pub(crate) static READ: Script = script!(commands::READ);

/// The kind of one lock, with its parameters: the owner, or what is wanted of it.
#[derive(Clone)]
pub(crate) struct Kind {
    row: &'static Row,
    owner: Option<String>,
    signal_list: Option<String>,
    /// What is wanted of it, in the form that its scripts and the queue use: one word, empty if
    /// there is only one thing to want.
    wants: String,
}

impl Kind {
    /// Held by one token.
    pub(crate) const fn mutex() -> Self {
        Self::of(&rows::MUTEX)
    }

    /// Held by an owner, who may enter again.
    pub(crate) fn reentrant(owner: &str) -> Self {
        Self { owner: Some(owner.to_owned()), ..Self::of(&rows::REENTRANT) }
    }

    /// Held by up to so many tokens.
    pub(crate) fn semaphore(permits: u32) -> Self {
        Self { wants: permits.to_string(), ..Self::of(&rows::SEMAPHORE) }
    }

    /// So many units, which are reserved and then confirmed.
    pub(crate) fn reservations(units: u32) -> Self {
        Self { wants: units.to_string(), ..Self::of(&rows::RESERVATIONS) }
    }

    /// A writer, which is alone. It wants nothing in particular, as a mutex.
    pub(crate) const fn writer() -> Self {
        Self::of(&rows::WRITER)
    }

    /// A reader, beside other readers.
    pub(crate) fn reader() -> Self {
        Self { wants: "r".into(), ..Self::of(&rows::READER) }
    }

    /// Several names, of which all are had or none.
    pub(crate) fn multi() -> Self {
        Self { wants: "a".into(), ..Self::of(&rows::MULTI) }
    }

    /// Permits of several semaphores at once. `wants` is how many there are of each and are wanted,
    /// in the order of the names.
    pub(crate) fn limits(wants: &str) -> Self {
        Self { wants: ["a", wants].concat(), ..Self::of(&rows::LIMITS) }
    }

    /// A lock that nobody gets any more once the result of its work is kept.
    pub(crate) const fn once() -> Self {
        Self::of(&rows::ONCE)
    }

    /// Lets one caller have the lock, though a result is kept, if that lasts no longer.
    pub(crate) fn set_stale(&mut self, stale: Duration) {
        self.wants = (stale.as_millis() as u64).to_string();
    }

    pub(crate) const fn can_be_stale(&self) -> bool {
        !self.wants.is_empty()
    }

    const fn of(row: &'static Row) -> Self {
        Self { row, owner: None, signal_list: None, wants: String::new() }
    }

    fn is(&self, which: Which) -> bool {
        self.row.which == which
    }

    /// What it is at each server of a quorum: the quorum's mutex, or refused.
    pub(crate) fn of_majority(self) -> (Self, Result<(), Fault>) {
        let checked = self.may(|refusals| refusals.majority);
        let row = if checked.is_ok() { &rows::QUORUM } else { self.row };
        (Self { row, ..self }, checked)
    }

    /// Lets the lock feed a list when it becomes free.
    pub(crate) fn set_signal_list(&mut self, list: String) -> Result<(), Fault> {
        self.may(|refusals| refusals.signal_list)?;
        self.signal_list = Some(list);
        Ok(())
    }

    /// # Errors
    /// Why it refuses `what`, if it does.
    pub(crate) fn may(&self, what: fn(&Refusals) -> Option<&'static str>) -> Result<(), Fault> {
        refuse(what(&self.row.refusals))
    }

    pub(crate) fn scripts(&self) -> &'static Scripts {
        let signalling = self.row.signalling.as_ref();
        signalling.filter(|_| self.signal_list.is_some()).unwrap_or(&self.row.scripts)
    }

    /// The script that makes the fence of a hold the lowest, after a majority granted it; `None`
    /// without a quorum.
    pub(crate) const fn raise(&self) -> Option<&'static Script> {
        self.row.raise.as_ref()
    }

    /// The script that makes a reader of a writer; `None` for other kinds.
    pub(crate) const fn downgrade(&self) -> Option<&'static Script> {
        self.row.downgrade.as_ref()
    }

    /// The scripts that run commands as if under the lock, and under a lock that they give on;
    /// `None` for other kinds than the mutex.
    pub(crate) const fn turns(&self) -> Option<&'static [Script; 2]> {
        self.row.turns.as_ref()
    }

    /// Whether a majority of several servers decides.
    pub(crate) const fn is_voted(&self) -> bool {
        self.row.raise.is_some()
    }

    /// How many requests a try costs that failed: asking, and giving back.
    pub(crate) const fn requests_of_a_try(&self) -> u32 {
        if self.is_voted() { 2 } else { 1 }
    }

    /// The stored form of a holder with `token`.
    pub(crate) fn holder<'a>(&'a self, token: &'a Token) -> &'a str {
        self.owner.as_deref().unwrap_or_else(|| token.expose())
    }

    /// What is wanted of it; one word, or empty.
    pub(crate) fn wants(&self) -> &str {
        &self.wants
    }

    /// Adds its keys besides those that all locks have. `id` says whose they are.
    pub(crate) fn keys(&self, name: &Name, id: &str, words: &mut Words) {
        (self.row.keys)(name, id, words);
        // Every script has it. So if it is in another slot of a cluster, the first script is
        // refused.
        if let Some(list) = &self.signal_list {
            words.key(&[list]);
        }
    }

    /// Whether the result of its work can be had in place of the lock.
    pub(crate) fn keeps_result(&self) -> bool {
        self.is(Which::Once)
    }

    /// How long it is held if nobody says so.
    pub(crate) fn lasts(&self) -> Duration {
        match self.is(Which::Reservations) {
            true => Duration::from_secs(10 * 60),
            false => ttl::DEFAULT,
        }
    }

    /// How long a fence is remembered, if the kind says so: most keys of work that is executed once
    /// are used once. The record lasts for an eighth longer, which makes it a minute.
    pub(crate) fn fence_life(&self) -> Option<Duration> {
        self.keeps_result().then_some(Duration::from_secs(53))
    }

    /// Where the result of work that is executed once is kept.
    pub(crate) fn kept(name: &Name) -> String {
        rows::kept(name)
    }

    /// Whether waiters queue.
    pub(crate) const fn queues(&self) -> bool {
        matches!(self.row.waking, Waking::HandOver | Waking::Tell)
    }

    /// Whether waiters are told that the lock is theirs. Otherwise they are told that it may be
    /// free.
    pub(crate) const fn is_handed_over(&self) -> bool {
        matches!(self.row.waking, Waking::HandOver)
    }

    /// How many may have it at once.
    pub(crate) fn at_once(&self) -> u64 {
        if self.is(Which::Reader) {
            return u64::MAX;
        }
        let permits = self.permits().filter(|_| self.is(Which::Semaphore));
        permits.map_or(1, |(permits, ..)| permits.into())
    }

    /// The channel on which holders of `name` are told to look whether they still have it; `None`
    /// for several names, or if no bridge could transport this one.
    pub(crate) fn loss(name: &Name) -> Option<String> {
        let channel = Some(name.companion("lost")).filter(|_| name.others().is_empty());
        channel.filter(|channel| escaped(channel) == *channel)
    }

    /// The channel on which a waiter with `session` is told; `None` if no bridge could transport
    /// its name.
    pub(crate) fn channel(&self, name: &Name, session: &Session) -> Option<String> {
        match self.row.waking {
            Waking::HandOver | Waking::Tell => {
                Some(escaped(&name.companion_of("wake", session.as_str())))
            }
            Waking::Broadcast(channel) => {
                Some(channel(name)).filter(|channel| escaped(channel) == *channel)
            }
            Waking::Poll => None,
        }
    }
}

fn refuse(why: Option<&'static str>) -> Result<(), Fault> {
    why.map_or(Ok(()), |why| Err(Fault::invalid(why)))
}

/// Bridges separate the parts of an event by commas and line ends, so a channel must have none.
fn escaped(channel: &str) -> String {
    let mut out = String::with_capacity(channel.len());
    for char in channel.chars() {
        if char == ',' || char == '%' || char.is_control() {
            // No control character is above 0x9f.
            outside::percent_byte(u32::from(char) as u8, &mut out);
        } else {
            out.push(char);
        }
    }
    out
}

impl Kind {
    /// Has it take so many of its permits at once.
    pub(crate) fn set_weight(&mut self, weight: u32) -> Result<(), Fault> {
        let Some((permits, _, most)) = self.permits() else {
            return Err(Fault::invalid("only semaphores and reservations have a weight"));
        };
        self.want(permits, weight, most);
        Fault::unless(
            (1..=permits).contains(&weight),
            format_args!(
                "a weight is 1 to the number of permits or units, {permits}, not {weight}"
            ),
        )
    }

    /// Has whoever has its label have so many of its units at most.
    pub(crate) fn set_most(&mut self, most: u32) -> Result<(), Fault> {
        match self.permits() {
            Some((units, weight, _)) if self.is(Which::Reservations) && most > 0 => {
                self.want(units, weight, Some(most));
                Ok(())
            }
            _ => {
                Err(Fault::invalid("only reservations have an owner, who may have 1 unit or more"))
            }
        }
    }

    /// Whether it has an owner, whose name is the label.
    pub(crate) fn has_owner(&self) -> bool {
        matches!(self.permits(), Some((_, _, Some(_))))
    }

    /// How many permits there are, how many of them are wanted, and how many one owner may have.
    fn permits(&self) -> Option<(u32, u32, Option<u32>)> {
        let mut words = self.wants.split('/').map(|word| word.parse().ok());
        let permits = words.next()??;
        Some((permits, words.next().flatten().unwrap_or(1), words.next().flatten()))
    }

    fn want(&mut self, permits: u32, weight: u32, most: Option<u32>) {
        self.wants = match (weight, most) {
            (1, None) => permits.to_string(),
            (_, None) => format!("{permits}/{weight}"),
            (_, Some(most)) => format!("{permits}/{weight}/{most}"),
        };
    }
}

impl Kind {
    /// Lets it take the lock from its holder.
    pub(crate) fn set_take_over(&mut self) -> Result<(), Fault> {
        let is_plain = self.is(Which::Mutex) && self.signal_list.is_none();
        refuse((!is_plain).then_some(
            "only a plain lock behind one bridge, without a signal list, is taken over",
        ))?;
        self.row = &rows::TAKING_OVER;
        Ok(())
    }

    pub(crate) fn takes_over(&self) -> bool {
        self.is(Which::TakingOver)
    }
}

/// Forgets the result of work that is executed once.
pub(crate) static FORGET: Script = script!(once::FORGET);

/// Passes, or says for how long nobody may.
pub(crate) static PASS: Script = script!(throttle::PASS);
/// Gives back a pass that its caller was not told of.
pub(crate) static GIVE_BACK: Script = script!(throttle::GIVE_BACK);

/// Overtakes the calls before it, and says how long to wait.
pub(crate) static ARRIVE: Script = script!(debounce::ARRIVE);
/// Goes through, or was overtaken.
pub(crate) static SETTLE: Script = script!(debounce::SETTLE);
/// Gives up a call that may arrive yet.
pub(crate) static LEAVE: Script = script!(debounce::LEAVE);

#[cfg(test)]
mod tests;
