//! Which scripts are quick.
//!
//! Redis does nothing else while a script runs. Those that are known to be quick travel with all other commands; any other runs
//! apart from them, one at a time, so that whoever waits is served between two of them.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use redis::{Arg, Cmd, Pipeline, Value};
use sha1::{Digest as _, Sha1};

use crate::refuse;

/// By the clock of Redis. The scripts of a lock take less than a hundredth of it.
const QUICK: Duration = Duration::from_millis(10);

/// Far more scripts than an application has. Beyond it all are forgotten, and prove themselves anew.
const REMEMBERED: usize = 4096;

/// A script by what runs it: its SHA-1, or the name of a function.
type Script = Vec<u8>;

#[derive(Default)]
pub(crate) struct Pace {
    quick: RwLock<HashSet<Script>>,
}

/// What the commands of one request have to do with others'.
pub(crate) struct Load {
    pub(crate) scripts: Vec<Script>,
    /// Whether all scripts are known to be quick.
    pub(crate) is_quick: bool,
    /// Where the first command is that waits for replicas.
    pub(crate) waits_from: Option<usize>,
}

impl Pace {
    pub(crate) fn load(&self, commands: &Pipeline) -> Load {
        let mut load = Load {
            scripts: Vec::new(),
            is_quick: true,
            waits_from: None,
        };
        for (index, command) in commands.cmd_iter().enumerate() {
            // Most commands are neither, and this is asked of each.
            let initial = word(command, 0).and_then(|name| name.first());
            match initial.map(u8::to_ascii_uppercase) {
                Some(b'E' | b'F') => load.scripts.extend(script(command)),
                Some(b'W') if refuse::waits_for_replicas(&name(command)) => {
                    load.waits_from.get_or_insert(index);
                }
                _ => {}
            }
        }
        if !load.scripts.is_empty() {
            let quick = self.quick.read().unwrap_or_else(PoisonError::into_inner);
            load.is_quick = load.scripts.iter().all(|script| quick.contains(script));
        }
        load
    }

    /// They ran, for `lasted` in all.
    pub(crate) fn ran(&self, scripts: Vec<Script>, lasted: Duration) {
        let mut quick = self.quick.write().unwrap_or_else(PoisonError::into_inner);
        if quick.len() >= REMEMBERED {
            quick.clear();
        }
        match lasted <= QUICK {
            true => quick.extend(scripts),
            false => scripts.iter().for_each(|script| {
                quick.remove(script);
            }),
        }
    }

    /// They did not end in time: they prove themselves anew.
    pub(crate) fn doubt(&self, scripts: &[Script]) {
        let mut quick = self.quick.write().unwrap_or_else(PoisonError::into_inner);
        scripts.iter().for_each(|script| {
            quick.remove(script);
        });
    }
}

/// The commands, with the time before and after them.
pub(crate) fn timed<'a>(commands: impl Iterator<Item = &'a Cmd>) -> Pipeline {
    let mut timed = Pipeline::new();
    timed.cmd("TIME");
    for command in commands {
        timed.add_command(command.clone());
    }
    timed.cmd("TIME");
    timed
}

/// Takes the times off the replies. `None` if something was refused: what did not run was not quick.
pub(crate) fn taken(replies: &mut Vec<Value>) -> Option<Duration> {
    let after = replies.pop().as_ref().and_then(time);
    let before = match replies.is_empty() {
        true => None,
        false => time(&replies.remove(0)),
    };
    let refused = replies
        .iter()
        .any(|reply| matches!(reply, Value::ServerError(_)));
    match refused {
        true => None,
        false => after?.checked_sub(before?),
    }
}

/// `TIME` answers with seconds and microseconds.
fn time(reply: &Value) -> Option<Duration> {
    let Value::Array(parts) = reply else {
        return None;
    };
    let [Value::BulkString(seconds), Value::BulkString(micros)] = &parts[..] else {
        return None;
    };
    let number = |text: &[u8]| str::from_utf8(text).ok()?.parse().ok();
    Some(Duration::from_secs(number(seconds)?) + Duration::from_micros(number(micros)?))
}

fn script(command: &Cmd) -> Option<Script> {
    let name = name(command);
    if !refuse::runs_script(&name) {
        return None;
    }
    let which = word(command, 1).unwrap_or_default();
    Some(match name.as_slice() {
        b"EVAL" | b"EVAL_RO" => {
            let digest = Sha1::digest(which);
            digest
                .iter()
                .flat_map(|byte| format!("{byte:02x}").into_bytes())
                .collect()
        }
        b"EVALSHA" | b"EVALSHA_RO" => which.to_ascii_lowercase(),
        _ => [b"function ", which].concat(),
    })
}

/// In capitals.
pub(crate) fn name(command: &Cmd) -> Vec<u8> {
    word(command, 0).unwrap_or_default().to_ascii_uppercase()
}

pub(crate) fn word(command: &Cmd, index: usize) -> Option<&[u8]> {
    command.args_iter().nth(index).and_then(|word| match word {
        Arg::Simple(word) => Some(word),
        _ => None,
    })
}
