//! Which scripts are quick.
//!
//! Redis does nothing else while a script runs. Those that are known to be quick travel with all other commands; any other runs
//! apart from them, one at a time, so that whoever waits is served between two of them.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::{Arg, Cmd, Pipeline, Value};
use sha1::{Digest as _, Sha1};
use tokio::time::Instant;

use crate::refuse;

/// By the clock of Redis. The scripts of a lock take less than a hundredth of it.
const QUICK: Duration = Duration::from_millis(10);

/// Far more scripts than an application has; twice as many are kept at most.
const REMEMBERED: usize = 4096;

/// A script that is used as often is not forgotten, however many others are tried.
const KEPT: Duration = Duration::from_secs(60);

/// A script by what runs it: its SHA-1, or the name of a function.
type Script = Vec<u8>;

#[derive(Default)]
pub(crate) struct Pace {
    quick: Mutex<Quick>,
}

/// The scripts that were quick, those of which forgotten that were not used for a while.
#[derive(Default)]
struct Quick {
    used: HashSet<Script>,
    /// Not used since `turned_at`, when `used` was full.
    before: HashSet<Script>,
    turned_at: Option<Instant>,
}

/// What the commands of one request have to do with others'.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) scripts: Vec<Script>,
    /// Whether all scripts are known to be quick.
    pub(crate) is_quick: bool,
    /// Whether one of them waits for replicas.
    pub(crate) waits: bool,
}

impl Pace {
    pub(crate) fn load(&self, commands: &Pipeline) -> Load {
        let mut load = Load {
            scripts: Vec::new(),
            is_quick: true,
            waits: false,
        };
        for command in commands.cmd_iter() {
            // Most commands are neither, and this is asked of each.
            let initial = word(command, 0).and_then(|name| name.first());
            match initial.map(u8::to_ascii_uppercase) {
                Some(b'E' | b'F') => load.scripts.extend(script(command)),
                Some(b'W') if refuse::waits_for_replicas(&name(command)) => {
                    load.waits = true;
                }
                _ => {}
            }
        }
        if !load.scripts.is_empty() {
            let mut quick = self.quick();
            load.is_quick = load.scripts.iter().all(|script| quick.knows(script));
        }
        load
    }

    /// Takes the times off the replies to the `timed` commands, and learns from them.
    pub(crate) fn judge(&self, commands: &Pipeline, replies: Vec<Value>) -> Vec<Value> {
        let (theirs, lasted) = taken(commands, replies);
        self.ran(&self.load(commands).scripts, &lasted);
        theirs
    }

    /// Each ran for as long as `lasted` says. What was refused did not run, and was not quick.
    fn ran(&self, scripts: &[Script], lasted: &[Option<Duration>]) {
        let mut quick = self.quick();
        let (fast, slow): (Vec<_>, Vec<_>) = scripts
            .iter()
            .zip(lasted)
            .filter_map(|(script, lasted)| Some((script, (*lasted)?)))
            .partition(|(_, lasted)| *lasted <= QUICK);
        fast.into_iter().for_each(|(script, _)| quick.learn(script));
        slow.into_iter()
            .for_each(|(script, _)| quick.forget(script));
    }

    /// They did not end in time: they prove themselves anew.
    pub(crate) fn doubt(&self, scripts: &[Script]) {
        let mut quick = self.quick();
        scripts.iter().for_each(|script| quick.forget(script));
    }

    fn quick(&self) -> MutexGuard<'_, Quick> {
        self.quick.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Quick {
    fn knows(&mut self, script: &Script) -> bool {
        if self.used.contains(script) {
            return true;
        }
        let is_known = self.before.take(script);
        is_known.is_some_and(|script| self.used.insert(script))
    }

    /// Unless there is no place before others have been unused for long enough.
    fn learn(&mut self, script: &Script) {
        if self.knows(script) {
            return;
        }
        let may_turn = self.turned_at.is_none_or(|at| at.elapsed() >= KEPT);
        if self.used.len() >= REMEMBERED && may_turn {
            self.turned_at = Some(Instant::now());
            self.before = std::mem::take(&mut self.used);
        }
        if self.used.len() < REMEMBERED && self.len() < 2 * REMEMBERED {
            self.used.insert(script.clone());
        }
    }

    fn forget(&mut self, script: &Script) {
        self.used.remove(script);
        self.before.remove(script);
    }

    fn len(&self) -> usize {
        self.used.len() + self.before.len()
    }
}

/// The commands, with the time before and after each script: what else a request takes says nothing of it.
pub(crate) fn timed(commands: &Pipeline) -> Pipeline {
    let mut timed = Pipeline::new();
    for (command, stands) in with_places(commands) {
        if stands.begins {
            timed.cmd("TIME");
        }
        timed.add_command(command.clone());
        if stands.ends {
            timed.cmd("TIME");
        }
    }
    timed
}

/// Takes the times off the replies to the `timed` commands: how long each script ran, if it was not refused.
fn taken(commands: &Pipeline, replies: Vec<Value>) -> (Vec<Value>, Vec<Option<Duration>>) {
    let mut replies = replies.into_iter();
    let (mut theirs, mut lasted) = (Vec::with_capacity(commands.len()), Vec::new());
    let mut before = None;
    for (_, stands) in with_places(commands) {
        if stands.begins {
            before = replies.next().as_ref().and_then(time);
        }
        let reply = replies.next();
        if stands.ends {
            let after = replies.next().as_ref().and_then(time);
            lasted.push(match reply {
                Some(Value::ServerError(_)) => None,
                _ => after.and_then(|after| after.checked_sub(before?)),
            });
        }
        theirs.extend(reply);
    }
    (theirs, lasted)
}

/// Where a command stands in what is timed.
struct Stands {
    begins: bool,
    ends: bool,
}

/// `ASKING` is about the very next command.
fn with_places(commands: &Pipeline) -> impl Iterator<Item = (&Cmd, Stands)> {
    let mut is_asking = false;
    commands.cmd_iter().map(move |command| {
        let name = name(command);
        let ends = refuse::runs_script(&name);
        let was_asking = std::mem::replace(&mut is_asking, name == b"ASKING");
        let begins = is_asking || (ends && !was_asking);
        (command, Stands { begins, ends })
    })
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

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn script(number: usize) -> Script {
        number.to_string().into_bytes()
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_in_use_is_not_forgotten_since_thousands_of_others_are_tried() {
        let (pace, ours) = (Pace::default(), script(0));
        pace.ran(std::slice::from_ref(&ours), &[Some(QUICK)]);
        for round in 0..5 {
            for number in 1..3 * REMEMBERED {
                let other = script(round * 3 * REMEMBERED + number);
                pace.ran(&[other], &[Some(QUICK)]);
            }
            assert!(pace.quick().knows(&ours), "{round}");
            assert!(pace.quick().len() <= 2 * REMEMBERED);
            advance(KEPT).await;
        }
    }

    #[test]
    fn the_time_is_asked_around_scripts_and_not_between_a_script_and_its_asking() {
        let mut commands = Pipeline::new();
        for name in ["GET", "EVAL", "ASKING", "FCALL"] {
            commands.cmd(name);
        }
        let timed = timed(&commands);
        let names: Vec<_> = timed.cmd_iter().map(name).collect();
        let expected = "GET TIME EVAL TIME TIME ASKING FCALL TIME";
        assert_eq!(names.join(&b' '), expected.as_bytes());
        let at = |micros: &str| {
            let parts = ["7", micros].map(|part| Value::BulkString(part.into()));
            Value::Array(parts.into())
        };
        let replies = [Value::Nil, at("1"), Value::Int(1), at("3")];
        let asked = [at("10"), Value::Okay, Value::Int(2), at("15")];
        let (theirs, lasted) = taken(&commands, [replies, asked].concat());
        assert_eq!(
            theirs,
            [Value::Nil, Value::Int(1), Value::Okay, Value::Int(2)]
        );
        let lasted: Vec<_> = lasted.into_iter().flatten().collect();
        assert_eq!(lasted, [2, 5].map(Duration::from_micros));
    }

    #[test]
    fn a_script_is_judged_by_what_itself_took() {
        let pace = Pace::default();
        let both = [script(0), script(1)];
        pace.ran(&both, &[Some(QUICK), Some(2 * QUICK)]);
        assert!(pace.quick().knows(&both[0]) && !pace.quick().knows(&both[1]));
        // One slow run counts, whatever came behind it.
        let twice = [script(0), script(0)];
        pace.ran(&twice, &[Some(2 * QUICK), Some(QUICK)]);
        assert!(!pace.quick().knows(&both[0]));
        pace.ran(&twice, &[None, None]);
        assert!(!pace.quick().knows(&both[0]));
    }
}
