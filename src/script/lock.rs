//! The calls of a lock: each operation as the script that does it. The commands that store the
//! result of work that is executed once, and read it.

use std::time::Duration;

use super::call::{Call, Verb};
use super::commands::Reads;
use super::waiter::{Waiter, fairness};
use crate::command::{Command, Word};
use crate::error::Fault;
use crate::kind::{FORGET, Kind, Script};
use crate::name::{Name, stored_label};
use crate::token::{Session, Token};

/// How long a receipt lives at least, as `operations.lua` has it. Redis knows no later repeat as
/// one.
pub(crate) const RECEIPT_LIFE: Duration = Duration::from_secs(30);

/// What an operation is about: a lock, and the token that asks for it or has it.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a Name,
    pub(crate) kind: &'a Kind,
    pub(crate) token: &'a Token,
    /// The label that others will see, as it is stored.
    pub(crate) label: &'a str,
    /// For how long a server must have been up to have a say, where several have one.
    pub(crate) uptime: Option<Duration>,
    /// For how long what is known of the lock outlasts its holds.
    pub(crate) fence_life: Duration,
}

/// Which write of a lease this is, so that a repeat runs nothing twice.
pub(crate) struct Write<'a> {
    pub(crate) session: &'a Session,
    pub(crate) number: u64,
    /// Of the hold in which alone it may run; 0 for any.
    pub(crate) fence: u64,
    pub(crate) commands: &'a [Command],
}

/// Which renewal of a lease this is in a quorum, so that a vote that a server gives for it counts
/// from the next renewal on.
#[derive(Clone, Copy)]
pub(crate) struct Renewal {
    pub(crate) number: u64,
    /// The last one that a majority granted; 0 if none was.
    pub(crate) granted: u64,
}

impl Renewal {
    /// Of what renews nothing.
    pub(crate) const NONE: Self = Self { number: 0, granted: 0 };
}

impl Call {
    /// Asks for the lock; with a `waiter`, or with `fair`, as the queue has it.
    pub(crate) fn acquire(
        subject: Subject<'_>,
        ttl: Duration,
        waiter: Option<&Waiter>,
        fair: bool,
        reads: Reads<'_>,
    ) -> Self {
        let mut call = Self::about(&subject.kind.scripts().acquire, Verb::Acquire, subject);
        // Its mark is one: a repeat that comes later could take the lock from a newer holder.
        call.leaves_receipt = subject.kind.takes_over();
        call.millis(ttl);
        match waiter {
            Some(waiter) => waiter.add_to(&mut call.millis(waiter.liveness).words),
            None => drop(call.arg("").arg("")),
        }
        let anyway = if reads.in_any_case { "r" } else { "" };
        call.words.add(Word::Argument, &[fairness(fair), anyway]);
        call.arg(subject.label).measure(subject.kind, subject.uptime).millis(subject.fence_life);
        call.commands(reads.commands)
    }

    /// Renews for `ttl` if that `is_told`. Else for the ttl with which the lock was acquired, or
    /// for `ttl` if that is not known.
    pub(crate) fn renew(
        subject: Subject<'_>,
        ttl: Duration,
        is_told: bool,
        write: &Write<'_>,
        renewal: Renewal,
    ) -> Self {
        let script = &subject.kind.scripts().renew;
        let mut call = Self::renewal(script, subject, ttl, is_told, write);
        if let Some(uptime) = subject.uptime {
            let granted = match renewal.granted {
                0 => String::new(),
                granted => write.session.nonce(granted),
            };
            call.arg(subject.label)
                .millis(uptime)
                .arg(&write.session.nonce(renewal.number))
                .arg(&granted)
                .millis(subject.fence_life);
        }
        call.commands(write.commands)
    }

    /// As [`Call::renew`], and makes a reader of the writer. `None` for kinds without readers.
    pub(crate) fn downgrade(
        subject: Subject<'_>,
        ttl: Duration,
        is_told: bool,
        write: &Write<'_>,
    ) -> Option<Self> {
        let script = subject.kind.downgrade()?;
        Some(Self::renewal(script, subject, ttl, is_told, write).commands(&[]))
    }

    fn renewal(
        script: &'static Script,
        subject: Subject<'_>,
        ttl: Duration,
        is_told: bool,
        write: &Write<'_>,
    ) -> Self {
        let told = if is_told { "told" } else { "" };
        let mut call = Self::about(script, Verb::Renew, subject);
        call.write(write).millis(ttl).arg(told);
        call
    }

    /// The next holder is told what the last `told` of the commands find, which only read.
    pub(crate) fn release(subject: Subject<'_>, write: &Write<'_>, told: usize) -> Self {
        /// The place of the first command in the script's arguments.
        const FIRST: usize = 7;
        let mut call = Self::about(&subject.kind.scripts().release, Verb::Act, subject);
        call.write(write).told(FIRST, write.commands, told);
        call.ends_behind_commands = !write.commands.is_empty();
        call.commands(write.commands)
    }

    pub(crate) fn abandon(subject: Subject<'_>, waiter: Option<&Waiter>) -> Self {
        let mut call = Self::about(&subject.kind.scripts().abandon, Verb::Act, subject);
        match waiter {
            Some(waiter) => waiter.add_to(&mut call.words),
            None => drop(call.arg("")),
        }
        call.commands(&[])
    }

    /// Makes the next fence at each server higher than `fence`, that of this hold. `None` without a
    /// quorum.
    pub(crate) fn raise(subject: Subject<'_>, fence: u64, ttl: Duration) -> Option<Self> {
        let mut call = Self::about(subject.kind.raise()?, Verb::Act, subject);
        call.number(fence).millis(ttl).arg(subject.label);
        Some(call.commands(&[]))
    }

    /// `uptime` is as a [`Subject`] has it.
    pub(crate) fn inspect(
        name: &Name,
        kind: &Kind,
        session: &Session,
        uptime: Option<Duration>,
    ) -> Self {
        let (script, session) = (&kind.scripts().inspect, session.as_str());
        let mut call = Self::of(script, Verb::Inspect, name, kind, session);
        call.measure(kind, uptime);
        call.commands(&[])
    }

    pub(crate) fn force_release(name: &Name, kind: &Kind, session: &Session) -> Self {
        Self::of_an_operator(&kind.scripts().force_release, name, kind, session)
    }

    /// Of work that is executed once.
    pub(crate) fn forget(name: &Name, kind: &Kind, session: &Session) -> Self {
        Self::of_an_operator(&FORGET, name, kind, session)
    }

    fn of_an_operator(
        script: &'static Script,
        name: &Name,
        kind: &Kind,
        session: &Session,
    ) -> Self {
        let mut call = Self::of(script, Verb::Act, name, kind, session.as_str()).commands(&[]);
        call.leaves_receipt = true;
        // It would meet the next holder, or the next result.
        call.adds_up = true;
        call
    }

    /// With the keys of a lock in the order of `record.lua`, and those of its kind. `id` says whose
    /// receipt and whose entry it is.
    fn of(script: &'static Script, verb: Verb, name: &Name, kind: &Kind, id: &str) -> Self {
        let (mut call, stem) = (Self::new(script, verb), name.stem());
        call.words.key(&[name.key()]);
        call.words.key(&[stem, ":receipt:", id]);
        call.words.key(&[stem, ":gone:", id]);
        call.words.key(&[stem, ":fence"]);
        call.words.key(&[stem, ":queue"]);
        kind.keys(name, id, &mut call.words);
        call.lock = Some(name.clone());
        call
    }

    /// With what proves that the lock is the subject's.
    pub(super) fn about(script: &'static Script, verb: Verb, subject: Subject<'_>) -> Self {
        let token = subject.token.expose();
        let mut call = Self::of(script, verb, subject.name, subject.kind, token);
        call.secret = Some(subject.token.clone());
        call.arg(subject.kind.holder(subject.token));
        call
    }

    fn write(&mut self, write: &Write<'_>) -> &mut Self {
        self.leaves_receipt = write.number > 0;
        self.adds_up = !write.commands.is_empty();
        self.arg(write.session.as_str()).number(write.number).number(write.fence)
    }

    /// Where in the arguments, in which `commands` begin at `first`, the last `told` of them begin.
    fn told(&mut self, first: usize, commands: &[Command], told: usize) -> &mut Self {
        match commands.len().saturating_sub(told) {
            before if told > 0 => self.number((first + words(&commands[..before])) as u64),
            _ => self.arg(""),
        }
    }

    /// What a kind is asked by besides: for how long each server must have been up, or what is
    /// wanted.
    fn measure(&mut self, kind: &Kind, uptime: Option<Duration>) -> &mut Self {
        match uptime {
            Some(uptime) => self.millis(uptime),
            None => self.arg(kind.wants()),
        }
    }
}

/// Commands that were decided by what reads are expected to find.
pub(crate) struct Guess<'a> {
    pub(crate) reads: &'a [Command],
    /// What the reads are expected to find, as their replies travel.
    pub(crate) found: &'a str,
    pub(crate) writes: &'a [Command],
    /// Of so many of the writes, which come last and only read, the next holder is told.
    pub(crate) told: usize,
    /// Until when the writes may run, by Redis's clock.
    pub(crate) until_us: u64,
    pub(crate) if_wrong: IfWrong,
}

/// What becomes of the lock if the reads find something else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfWrong {
    /// It stays free.
    Leaves,
    Takes,
    /// The turn has the lock, and keeps it. If the reads find what is expected, it gives it on.
    Keeps,
}

/// How many words of a script's arguments these are.
fn words(commands: &[Command]) -> usize {
    commands.iter().map(|command| 1 + command.args().len()).sum()
}

impl Call {
    /// Runs commands as if under the lock, or tells what the reads found, and may take the lock for
    /// `ttl`. If it has the lock, it runs them and gives it on, or keeps it for `ttl`. `None` for
    /// other kinds than the mutex.
    #[inline(never)]
    pub(crate) fn turn(subject: Subject<'_>, ttl: Duration, guess: &Guess<'_>) -> Option<Self> {
        /// The place of the first read in the script's arguments.
        const FIRST: usize = 11;
        let behind = FIRST + words(guess.reads);
        let [turn, handed_turn] = subject.kind.turns()?;
        let script = match guess.if_wrong {
            IfWrong::Keeps => handed_turn,
            IfWrong::Leaves | IfWrong::Takes => turn,
        };
        let mut call = Self::about(script, Verb::Turn, subject);
        call.millis(ttl)
            .arg(guess.found)
            .number(behind as u64)
            .number(guess.until_us)
            .arg(subject.label)
            .arg(match guess.if_wrong {
                IfWrong::Takes => "takes",
                IfWrong::Leaves | IfWrong::Keeps => "",
            })
            .millis(subject.fence_life)
            .told(behind, guess.writes, guess.told);
        let mut call = call.commands(&[guess.reads, guess.writes].concat());
        call.leaves_receipt = true;
        call.adds_up = !guess.writes.is_empty();
        Some(call.telling_each(true))
    }
}

/// The stored form of a fingerprint, which is also the label of the holder that does the work: one
/// word. The stored form of any other label has no colon.
///
/// # Errors
/// [`Error::InvalidArgument`] if it is too long.
pub(crate) fn mark(fingerprint: &str) -> Result<String, Fault> {
    Ok(["once:", &stored_label(fingerprint)?].concat())
}

/// The command that stores `result` for `keep`, behind its mark.
pub(crate) fn keeping(name: &Name, mark: &str, result: &str, keep: Duration) -> Command {
    Command::new("SET")
        .key(Kind::kept(name))
        .arg([mark, " ", result].concat())
        .arg("PX")
        .arg(keep.as_millis() as u64)
}

/// The command that reads what is kept.
pub(crate) fn copy_of(name: &Name) -> Command {
    Command::new("GET").key(Kind::kept(name))
}

/// The result in what is stored behind its mark.
#[cfg(not(npm))]
pub(crate) fn without_mark(stored: &str) -> Option<&str> {
    Some(stored.split_once(' ')?.1)
}
