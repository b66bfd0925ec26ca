//! Each operation as a Redis command.

use std::time::Duration;

use super::reads::Reads;
use super::waiter::{Waiter, manner};
use crate::command::Command;
use crate::error::Error;
use crate::kind::{Kind, READ, Script};
use crate::name::Name;
use crate::redact;
use crate::replicas::Replicas;
use crate::token::{Session, Token};

/// How long a receipt lives at least, as `receipt.lua` has it. Redis knows no later repeat as one.
pub(crate) const RECEIPT_LIFE: Duration = Duration::from_secs(30);

/// What an operation is about: a lock, and the token that asks for it or has it.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a Name,
    pub(crate) kind: &'a Kind,
    pub(crate) token: &'a Token,
    /// What others are told of who asks, as it is stored.
    pub(crate) label: &'a str,
    /// For how long a server must have been up to have a say, where several have one.
    pub(crate) uptime: Option<Duration>,
}

/// One run of a script, without the nonce: each request draws its own.
#[derive(Clone)]
pub(crate) struct Call {
    script: &'static Script,
    key_count: String,
    keys: Vec<String>,
    args: Vec<String>,
    /// Where in the arguments the commands begin.
    commands_at: usize,
    /// What must not be quoted, should a bridge say it back.
    secret: Option<Token>,
    /// Who must have what it writes.
    replicas: Option<Replicas>,
    /// What errors call the lock that it is about.
    lock: Option<Name>,
    /// A repeat is answered by a receipt, and runs nothing.
    leaves_receipt: bool,
}

/// Which write of a lease this is, so that a repeat runs nothing twice.
pub(crate) struct Write<'a> {
    pub(crate) session: &'a Session,
    pub(crate) number: u64,
    /// Of the hold in which alone it may run; 0 for any.
    pub(crate) fence: u64,
    pub(crate) commands: &'a [Command],
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
        Self::about(&subject.kind.scripts().acquire, subject)
            .args([
                millis(ttl),
                waiter.map_or_else(String::new, |waiter| millis(waiter.liveness)),
                waiter.map_or_else(String::new, |waiter| waiter.text.clone()),
                [manner(fair), anyway].concat(),
                subject.label.to_owned(),
                measure(subject.kind, subject.uptime),
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
    ) -> Self {
        Self::renewal(&subject.kind.scripts().renew, subject, ttl, is_told, write)
    }

    /// As [`Call::renew`], and makes a reader of the writer. `None` for kinds without readers.
    pub(crate) fn downgrade(
        subject: Subject<'_>,
        ttl: Duration,
        is_told: bool,
        write: &Write<'_>,
    ) -> Option<Self> {
        let script = subject.kind.downgrade()?;
        Some(Self::renewal(script, subject, ttl, is_told, write))
    }

    fn renewal(
        script: &'static Script,
        subject: Subject<'_>,
        ttl: Duration,
        is_told: bool,
        write: &Write<'_>,
    ) -> Self {
        let told = if is_told { "told" } else { "" };
        Self::about(script, subject)
            .write(write)
            .args([millis(ttl), told.to_owned()])
            .commands(write.commands)
    }

    pub(crate) fn release(subject: Subject<'_>, write: &Write<'_>) -> Self {
        Self::about(&subject.kind.scripts().release, subject)
            .write(write)
            .commands(write.commands)
    }

    pub(crate) fn abandon(subject: Subject<'_>, waiter: Option<&Waiter>) -> Self {
        let waiter = waiter.map_or_else(String::new, |waiter| waiter.text.clone());
        Self::about(&subject.kind.scripts().abandon, subject)
            .args([waiter])
            .commands(&[])
    }

    /// Makes the next fence at each server higher than `fence`, that of this hold. `None` without a
    /// quorum.
    pub(crate) fn raise(subject: Subject<'_>, fence: u64, ttl: Duration) -> Option<Self> {
        let call = Self::about(subject.kind.raise()?, subject);
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
        Self::of(&kind.scripts().inspect, name, kind, session.as_str())
            .args([measure(kind, uptime)])
            .commands(&[])
    }

    pub(crate) fn force_release(name: &Name, kind: &Kind, session: &Session) -> Self {
        let script = &kind.scripts().force_release;
        let mut call = Self::of(script, name, kind, session.as_str()).commands(&[]);
        call.leaves_receipt = true;
        call
    }

    pub(crate) fn read(reads: &[Command]) -> Self {
        Self::new(&READ).commands(reads)
    }

    /// About one call that holds nothing: with where what is of its `name` is stored, its receipt, and its token.
    pub(super) fn of_call(
        script: &'static Script,
        name: &Name,
        stored: &str,
        token: &Token,
    ) -> Self {
        let mut call = Self::new(script).keys([
            name.companion(stored),
            name.companion_of("receipt", token.expose()),
        ]);
        call.lock = Some(name.clone());
        call.secret = Some(token.clone());
        call.leaves_receipt = true;
        call.args([token.expose().to_owned()])
    }

    const fn new(script: &'static Script) -> Self {
        Self {
            script,
            key_count: String::new(),
            keys: Vec::new(),
            args: Vec::new(),
            commands_at: 0,
            secret: None,
            replicas: None,
            lock: None,
            leaves_receipt: false,
        }
    }

    /// With the keys of a lock in the order of `keys.lua`, and those of its kind. `id` says whose
    /// receipt and whose entry it is.
    fn of(script: &'static Script, name: &Name, kind: &Kind, id: &str) -> Self {
        let mut call = Self::new(script).keys([
            name.key().to_owned(),
            name.companion_of("receipt", id),
            name.companion("fence"),
            name.companion("queue"),
            name.companion("alive"),
            name.companion_of("gone", id),
        ]);
        call.lock = Some(name.clone());
        call.keys.extend(kind.keys(name, id));
        call
    }

    /// With what proves that the lock is the subject's.
    fn about(script: &'static Script, subject: Subject<'_>) -> Self {
        let token = subject.token.expose();
        let mut call = Self::of(script, subject.name, subject.kind, token);
        call.secret = Some(subject.token.clone());
        call.args([subject.kind.holder(subject.token).to_owned()])
    }

    fn write(mut self, write: &Write<'_>) -> Self {
        self.leaves_receipt = write.number > 0;
        self.args([
            write.session.as_str().to_owned(),
            write.number.to_string(),
            write.fence.to_string(),
        ])
    }

    fn keys<const N: usize>(mut self, keys: [String; N]) -> Self {
        self.keys.extend(keys);
        self
    }

    pub(super) fn args<const N: usize>(mut self, args: [String; N]) -> Self {
        self.args.extend(args);
        self
    }

    /// The last step: each command as the number of its words, then the words.
    pub(super) fn commands(mut self, commands: &[Command]) -> Self {
        self.commands_at = self.args.len();
        for command in commands {
            self.keys.extend(command.keys().map(str::to_owned));
            self.args.push(command.words().len().to_string());
            self.args.extend(command.words().iter().cloned());
        }
        self.key_count = self.keys.len().to_string();
        self
    }

    /// It counts only once these have what it wrote.
    pub(crate) fn replicated(mut self, replicas: Option<&Replicas>) -> Self {
        self.replicas = replicas.cloned();
        self
    }

    pub(crate) const fn replicas(&self) -> Option<&Replicas> {
        self.replicas.as_ref()
    }

    pub(crate) const fn leaves_receipt(&self) -> bool {
        self.leaves_receipt
    }

    pub(crate) const fn script(&self) -> &'static Script {
        self.script
    }

    /// What errors call the lock that it is about.
    pub(crate) fn lock(&self) -> Option<&str> {
        self.lock.as_ref().map(Name::shown)
    }

    /// `EVAL` or `EVALSHA` with everything that belongs to it.
    pub(crate) fn words<'a>(
        &'a self,
        verb: &'a str,
        script: &'a str,
        nonce: &'a str,
    ) -> Vec<&'a str> {
        let mut words = vec![verb, script, self.key_count.as_str()];
        words.extend(self.keys.iter().map(String::as_str));
        words.push(nonce);
        words.extend(self.args.iter().map(String::as_str));
        words
    }

    /// `error` with what only the call knows: its lock, and the name of the command that failed.
    pub(crate) fn name_in(&self, mut error: Error) -> Error {
        if let Error::CommandFailed { index, command, .. } = &mut error {
            *command = self.command_name(*index).unwrap_or_default().to_owned();
        }
        error.of_lock(self.lock())
    }

    fn command_name(&self, index: usize) -> Option<&str> {
        let mut rest = self.args.get(self.commands_at..)?;
        for _ in 0..index {
            let (words, behind) = rest.split_first()?;
            rest = behind.get(words.parse().ok()?..)?;
        }
        rest.get(1).map(String::as_str)
    }

    /// `text` from outside without this call's token.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.secret.as_ref().map_or_else(
            || text.to_owned(),
            |token| redact::without(token.expose(), text),
        )
    }
}

/// What a kind is asked by besides: for how long each server must have been up, or what is wanted.
fn measure(kind: &Kind, uptime: Option<Duration>) -> String {
    uptime.map_or_else(|| kind.wants().to_owned(), millis)
}

pub(super) fn millis(ttl: Duration) -> String {
    (ttl.as_millis() as u64).to_string()
}
