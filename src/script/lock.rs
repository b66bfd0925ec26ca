//! The calls of a lock: each operation as the script that does it.

use std::time::Duration;

use super::call::{Call, Verb, millis};
use super::reads::Reads;
use super::waiter::{Waiter, fairness};
use crate::command::Command;
use crate::kind::{FORGET, Kind, Script};
use crate::name::Name;
use crate::token::{Session, Token};

/// How long a receipt lives at least, as `receipt.lua` has it. Redis knows no later repeat as one.
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
    pub(crate) const NONE: Self = Self {
        number: 0,
        granted: 0,
    };
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
        let anyway = if reads.in_any_case { "r" } else { "" };
        Self::about(&subject.kind.scripts().acquire, Verb::Acquire, subject)
            .args([
                millis(ttl),
                waiter.map_or_else(String::new, |waiter| millis(waiter.liveness)),
                waiter.map_or_else(String::new, |waiter| waiter.text.clone()),
                [fairness(fair), anyway].concat(),
                subject.label.to_owned(),
                measure(subject.kind, subject.uptime),
                millis(subject.fence_life),
            ])
            .commands(reads.commands)
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
        let call = Self::renewal(script, subject, ttl, is_told, write);
        let call = match subject.uptime {
            Some(uptime) => call.args([
                subject.label.to_owned(),
                millis(uptime),
                write.session.nonce(renewal.number),
                match renewal.granted {
                    0 => String::new(),
                    granted => write.session.nonce(granted),
                },
                millis(subject.fence_life),
            ]),
            None => call,
        };
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
        Self::about(script, Verb::Renew, subject)
            .write(write)
            .args([millis(ttl), told.to_owned()])
    }

    pub(crate) fn release(subject: Subject<'_>, write: &Write<'_>) -> Self {
        let call = Self::about(&subject.kind.scripts().release, Verb::Act, subject);
        let mut call = call.write(write).commands(write.commands);
        call.ends_behind_commands = !write.commands.is_empty();
        call
    }

    pub(crate) fn abandon(subject: Subject<'_>, waiter: Option<&Waiter>) -> Self {
        let waiter = waiter.map_or_else(String::new, |waiter| waiter.text.clone());
        Self::about(&subject.kind.scripts().abandon, Verb::Act, subject)
            .args([waiter])
            .commands(&[])
    }

    /// Makes the next fence at each server higher than `fence`, that of this hold. `None` without a
    /// quorum.
    pub(crate) fn raise(subject: Subject<'_>, fence: u64, ttl: Duration) -> Option<Self> {
        let call = Self::about(subject.kind.raise()?, Verb::Act, subject);
        let args = [fence.to_string(), millis(ttl), subject.label.to_owned()];
        Some(call.args(args).commands(&[]))
    }

    /// `uptime` is as a [`Subject`] has it.
    pub(crate) fn inspect(
        name: &Name,
        kind: &Kind,
        session: &Session,
        uptime: Option<Duration>,
    ) -> Self {
        Self::of(
            &kind.scripts().inspect,
            Verb::Inspect,
            name,
            kind,
            session.as_str(),
        )
        .args([measure(kind, uptime)])
        .commands(&[])
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

    /// With the keys of a lock in the order of `keys.lua`, and those of its kind. `id` says whose
    /// receipt and whose entry it is.
    fn of(script: &'static Script, verb: Verb, name: &Name, kind: &Kind, id: &str) -> Self {
        let mut call = Self::new(script, verb).keys([
            name.key().to_owned(),
            name.companion_of("receipt", id),
            name.companion_of("gone", id),
            name.companion("fence"),
            name.companion("queue"),
        ]);
        call.lock = Some(name.clone());
        call.keys.extend(kind.keys(name, id));
        call
    }

    /// With what proves that the lock is the subject's.
    pub(super) fn about(script: &'static Script, verb: Verb, subject: Subject<'_>) -> Self {
        let token = subject.token.expose();
        let mut call = Self::of(script, verb, subject.name, subject.kind, token);
        call.secret = Some(subject.token.clone());
        call.args([subject.kind.holder(subject.token).to_owned()])
    }

    fn write(mut self, write: &Write<'_>) -> Self {
        self.leaves_receipt = write.number > 0;
        self.adds_up = !write.commands.is_empty();
        self.args([
            write.session.as_str().to_owned(),
            write.number.to_string(),
            write.fence.to_string(),
        ])
    }
}

/// What a kind is asked by besides: for how long each server must have been up, or what is wanted.
fn measure(kind: &Kind, uptime: Option<Duration>) -> String {
    uptime.map_or_else(|| kind.wants().to_owned(), millis)
}
