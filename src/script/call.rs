//! One run of a script, as a Redis command.

use std::time::Duration;

use crate::command::{Command, Word, Words};
use crate::error::Error;
use crate::kind::{ARRIVE, GIVE_BACK, LEAVE, PASS, READ, SETTLE, Script};
use crate::name::Name;
use crate::outside::number;
use crate::redact;
use crate::replicas::Replicas;
use crate::token::Token;

/// What a script is for: how its reply is read, and how several of them count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Asks for a lock.
    Acquire,
    /// Runs commands that were decided by a guess, or asks for the lock.
    Turn,
    /// Renews a lease, perhaps with commands.
    Renew,
    /// Does something under a lock or about it, or only reads.
    Act,
    Inspect,
    /// Is of a throttle or a debounce.
    Pace,
}

/// One run of a script, without the nonce: each request draws its own.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) script: &'static Script,
    pub(crate) verb: Verb,
    pub(super) words: Words,
    /// Where in the arguments the commands begin.
    commands_at: usize,
    /// Behind its commands it needs what they may have broken. Any other script looks at what is
    /// stored before it writes.
    pub(super) ends_behind_commands: bool,
    /// What must not be quoted, should a bridge say it back.
    pub(super) secret: Option<Token>,
    /// Who must have what it writes.
    replicas: Option<Replicas>,
    /// What errors call the lock that it is about.
    pub(super) lock: Option<Name>,
    /// A repeat is answered by a receipt, and runs nothing.
    pub(crate) leaves_receipt: bool,
    /// A command that failed is a reply, and not the error of all.
    pub(super) tells_each: bool,
    /// Its caller waits for the lock.
    pub(crate) waits: bool,
    /// Another such call would do once more what this one may have done.
    pub(super) adds_up: bool,
}

impl Call {
    pub(crate) fn read(reads: &[Command]) -> Self {
        Self::new(&READ, Verb::Act).commands(reads)
    }

    /// About one call that holds nothing: with where what is of its `name` is stored, its receipt,
    /// and its token.
    fn of_call(script: &'static Script, name: &Name, stored: &str, token: &Token) -> Self {
        let (stem, token_only) = (name.stem(), token.expose());
        let mut call = Self::new(script, Verb::Pace);
        call.words.key(&[stem, ":", stored]);
        call.words.key(&[stem, ":receipt:", token_only]);
        call.lock = Some(name.clone());
        call.secret = Some(token.clone());
        call.leaves_receipt = true;
        call.arg(token_only);
        call
    }

    pub(super) fn new(script: &'static Script, verb: Verb) -> Self {
        Self {
            script,
            verb,
            words: Words::new(),
            commands_at: 0,
            ends_behind_commands: false,
            secret: None,
            replicas: None,
            lock: None,
            leaves_receipt: false,
            tells_each: false,
            waits: false,
            adds_up: false,
        }
    }

    pub(super) fn arg(&mut self, word: &str) -> &mut Self {
        self.words.add(Word::Argument, &[word]);
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.words.add_number(Word::Argument, number);
        self
    }

    pub(super) fn millis(&mut self, time: Duration) -> &mut Self {
        self.number(time.as_millis() as u64)
    }

    /// The last step: each command as the number of its words, then the words.
    pub(super) fn commands(mut self, commands: &[Command]) -> Self {
        self.commands_at = self.words.count(Word::Argument);
        for command in commands {
            command.keys().for_each(|key| self.words.key(&[key]));
            self.number(command.args().len() as u64);
            for word in command.args() {
                self.arg(word);
            }
        }
        let keys = self.words.count(Word::Key);
        self.words.add_number(Word::KeyCount, keys as u64);
        self
    }

    /// It counts only once these have what it wrote.
    pub(crate) fn replicated(mut self, replicas: Option<&Replicas>) -> Self {
        self.replicas = replicas.cloned();
        self
    }

    /// A command that failed is a reply, and not the error of all.
    pub(crate) const fn telling_each(mut self, tells_each: bool) -> Self {
        self.tells_each = tells_each;
        self
    }

    /// Its caller waits for the lock.
    pub(crate) const fn waiting(mut self, waits: bool) -> Self {
        self.waits = waits;
        self
    }

    pub(crate) const fn replicas(&self) -> Option<&Replicas> {
        self.replicas.as_ref()
    }

    /// What errors call the lock that it is about.
    pub(crate) fn lock(&self) -> Option<&str> {
        self.lock.as_ref().map(Name::shown)
    }

    /// `EVAL` or `EVALSHA` with everything that belongs to it.
    pub(crate) fn command<'a>(
        &'a self,
        eval: &'a str,
        script: &'a str,
        nonce: &'a str,
    ) -> Vec<&'a str> {
        let mut command = Vec::with_capacity(3 + self.words.len());
        command.extend([eval, script]);
        for word in [Word::KeyCount, Word::Key, Word::Argument] {
            if word == Word::Argument {
                command.push(nonce);
            }
            command.extend(self.words.of(word));
        }
        command
    }

    /// Adds to `error` what only the call knows: its lock, the name of the command that failed,
    /// whether a key of another type may be what its own commands stored, and whether the call may
    /// be made again.
    pub(crate) fn name_in(&self, error: &mut Error) {
        if let Error::WrongType { may_have_run, .. } = error {
            *may_have_run &= self.ends_behind_commands;
        }
        if let Error::CommandFailed { index, command, .. } = error {
            *command = self.command_name(*index).unwrap_or_default().to_owned();
        }
        error.of_call_that(!self.adds_up);
        error.set_lock(self.lock());
    }

    fn command_name(&self, index: usize) -> Option<&str> {
        let mut words = self.words.of(Word::Argument).skip(self.commands_at);
        for _ in 0..index {
            let count = number(words.next()?)?;
            words.nth((count as usize).checked_sub(1)?)?;
        }
        words.nth(1)
    }

    /// `text` from outside without this call's token.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.secret
            .as_ref()
            .map_or_else(|| text.to_owned(), |token| redact::without(token.expose(), text))
    }
}

const THROTTLE: &str = "throttle";
const DEBOUNCE: &str = "debounce";

/// A call waits no longer than that.
pub(crate) const LONGEST_DEBOUNCE: Duration = Duration::from_secs(24 * 60 * 60);

/// The calls of a throttle and of a debounce.
impl Call {
    pub(crate) fn pass(name: &Name, token: &Token, window: Duration) -> Self {
        let mut call = Self::of_call(&PASS, name, THROTTLE, token);
        call.millis(window);
        call.commands(&[])
    }

    /// Gives up what [`Call::pass`] asked for.
    pub(crate) fn give_back(name: &Name, token: &Token) -> Self {
        Self::of_call(&GIVE_BACK, name, THROTTLE, token).commands(&[])
    }

    /// `wait` is how long it is to be quiet; `max_wait` how long the first call of a burst waits at
    /// most.
    pub(crate) fn arrive(name: &Name, token: &Token, wait: Duration, max_wait: Duration) -> Self {
        let mut call = Self::of_call(&ARRIVE, name, DEBOUNCE, token);
        call.millis(wait).millis(max_wait);
        call.commands(&[])
    }

    /// Redis's clock does not count if the call's time `is_over` by its own.
    pub(crate) fn settle(name: &Name, token: &Token, is_over: bool) -> Self {
        let mut call = Self::of_call(&SETTLE, name, DEBOUNCE, token);
        call.number(is_over.into());
        call.commands(&[])
    }

    /// Gives up what [`Call::arrive`] asked for.
    pub(crate) fn leave(name: &Name, token: &Token) -> Self {
        Self::of_call(&LEAVE, name, DEBOUNCE, token).commands(&[])
    }
}
