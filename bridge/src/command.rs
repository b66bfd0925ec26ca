//! A Redis command as plain values.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use redis::{Arg, Cmd, Pipeline};

/// What a word counts for, in bytes, besides its own bytes.
const WORD: usize = 16;

/// A name and its arguments; at least the name.
pub(crate) struct Command<'a> {
    name: Vec<u8>,
    parts: Vec<Cow<'a, [u8]>>,
}

impl<'a> Command<'a> {
    pub(crate) fn new(parts: Vec<Cow<'a, [u8]>>) -> Option<Self> {
        let name = parts.first()?.to_ascii_uppercase();
        Some(Self { name, parts })
    }

    /// In capitals, since Redis ignores the case.
    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Argument `index`, counted from 1 as Redis does: 0 is the name.
    pub(crate) fn arg(&self, index: usize) -> Option<&[u8]> {
        self.parts.get(index).map(|part| &**part)
    }

    /// Argument `index` as Redis compares it with the words that it knows; empty if there is none.
    pub(crate) fn word(&self, index: usize) -> Vec<u8> {
        as_compared(self.arg(index).unwrap_or_default())
    }

    pub(crate) fn args_from(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().skip(index).map(|part| &**part)
    }

    pub(crate) fn args_mut(
        &mut self,
        which: Range<usize>,
    ) -> impl Iterator<Item = &mut Cow<'a, [u8]>> {
        (self.parts.iter_mut().skip(which.start)).take(which.len())
    }

    pub(crate) fn append_to(&self, pipeline: &mut Pipeline) {
        let size = self.parts.iter().map(|part| part.len()).sum();
        let mut cmd = Cmd::with_capacity(self.parts.len(), size);
        for part in &self.parts {
            cmd.arg(&**part);
        }
        pipeline.add_command(cmd);
    }
}

/// A request of these commands.
pub(crate) fn of<'c>(commands: impl IntoIterator<Item = &'c Cmd>) -> Arc<Pipeline> {
    let mut request = Pipeline::new();
    for command in commands {
        request.add_command(command.clone());
    }
    Arc::new(request)
}

/// A request of one command of these words.
pub(crate) fn one<W: AsRef<[u8]>>(words: &[W]) -> Arc<Pipeline> {
    let mut command = Cmd::new();
    for word in words {
        command.arg(word.as_ref());
    }
    of([&command])
}

/// Redis compares words as C does: up to the first NUL, in any case. This is in capitals.
pub(crate) fn as_compared(word: &[u8]) -> Vec<u8> {
    let end = word.iter().position(|byte| *byte == 0);
    word[..end.unwrap_or(word.len())].to_ascii_uppercase()
}

/// The name of a command on its way to Redis, in capitals.
pub(crate) fn name(command: &Cmd) -> Vec<u8> {
    word(command, 0).unwrap_or_default().to_ascii_uppercase()
}

pub(crate) fn word(command: &Cmd, index: usize) -> Option<&[u8]> {
    words(command).nth(index)
}

/// The name and the arguments.
pub(crate) fn words(command: &Cmd) -> impl Iterator<Item = &[u8]> {
    command.args_iter().map(|word| match word {
        Arg::Simple(word) => word,
        // Only those arguments that the library itself continues with.
        _ => &[],
    })
}

/// The approximate size of a request, in bytes.
pub(crate) fn size(commands: &Pipeline) -> usize {
    commands.cmd_iter().map(size_of).sum()
}

pub(crate) fn size_of(command: &Cmd) -> usize {
    words(command).map(|word| word.len() + WORD).sum()
}
