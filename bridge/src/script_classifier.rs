//! Which scripts are quick.
//!
//! Redis does nothing else while a script runs. Scripts that are known to be quick travel with all
//! other commands. The others run apart, one at a time, so that Redis serves everybody else between
//! two of them.

mod timed;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::{Arg, Cmd, Pipeline, Value};
use sha1::{Digest as _, Sha1};
use tokio::time::Instant;

pub(crate) use self::timed::timed;
use crate::refuse;

/// By Redis' clock. The scripts of a lock take less than a hundredth of it.
const QUICK: Duration = Duration::from_millis(10);

/// Far more scripts than an application has. At most twice as many are kept.
const REMEMBERED: usize = 4096;

/// A script that is used within this time is not forgotten, however many others are tried.
const KEPT: Duration = Duration::from_secs(60);

/// A script by what runs it: its SHA-1, or the name of a function.
pub(crate) type Script = Vec<u8>;

#[derive(Default)]
pub(crate) struct ScriptClassifier {
    quick: Mutex<Quick>,
}

/// The scripts that were quick. Those that were not used for a while are forgotten.
#[derive(Default)]
struct Quick {
    used: HashSet<Script>,
    /// Not used since `turned_at`, when `used` was full.
    before: HashSet<Script>,
    /// Must show again that they are quick.
    doubted: HashSet<Script>,
    turned_at: Option<Instant>,
}

/// How the commands of one request affect those of others.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) scripts: Vec<Script>,
    /// Whether all scripts are known to be quick.
    pub(crate) is_quick: bool,
    /// Whether all scripts were, when they were last timed.
    pub(crate) was_quick: bool,
    /// Whether one of them waits for replicas.
    pub(crate) waits: bool,
}

impl ScriptClassifier {
    pub(crate) fn load(&self, commands: &Pipeline) -> Load {
        let mut load = Load {
            scripts: Vec::new(),
            is_quick: true,
            was_quick: true,
            waits: false,
        };
        for command in commands.cmd_iter() {
            // Most commands are neither, and this runs for each.
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
            load.was_quick = load.is_quick || load.scripts.iter().all(|script| quick.knew(script));
        }
        load
    }

    /// Removes the times from the replies to the `timed` commands, and learns from them. `scripts`
    /// are the scripts of the request that are not judged yet. Those of these commands are taken
    /// from it.
    pub(crate) fn judge<'s>(
        &self,
        commands: &Pipeline,
        replies: Vec<Value>,
        scripts: &mut impl Iterator<Item = &'s Script>,
    ) -> Vec<Value> {
        let (theirs, lasted) = timed::taken(commands, replies);
        self.ran(scripts, &lasted);
        theirs
    }

    /// Each script ran for as long as `lasted` says. One that was refused did not run, and does not
    /// count as quick.
    fn ran<'s>(&self, scripts: impl IntoIterator<Item = &'s Script>, lasted: &[Option<Duration>]) {
        let mut quick = self.quick();
        let (fast, slow): (Vec<_>, Vec<_>) = (lasted.iter().zip(scripts))
            .filter_map(|(lasted, script)| Some((script, (*lasted)?)))
            .partition(|(_, lasted)| *lasted <= QUICK);
        fast.into_iter().for_each(|(script, _)| quick.learn(script));
        slow.into_iter()
            .for_each(|(script, _)| quick.forget(script));
    }

    /// One of them may be why others waited. Each must show again that it is quick.
    pub(crate) fn doubt(&self, scripts: &[Script]) {
        let mut quick = self.quick();
        scripts.iter().for_each(|script| quick.doubt(script));
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

    fn knew(&self, script: &Script) -> bool {
        [&self.used, &self.before, &self.doubted]
            .iter()
            .any(|known| known.contains(script))
    }

    fn doubt(&mut self, script: &Script) {
        if self.used.remove(script) || self.before.remove(script) {
            if self.doubted.len() >= REMEMBERED {
                self.doubted.clear();
            }
            self.doubted.insert(script.clone());
        }
    }

    /// Unless there is no place until others have been unused for long enough.
    fn learn(&mut self, script: &Script) {
        if self.knows(script) {
            return;
        }
        self.doubted.remove(script);
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
        self.doubted.remove(script);
    }

    fn len(&self) -> usize {
        self.used.len() + self.before.len()
    }
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

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn script(number: usize) -> Script {
        number.to_string().into_bytes()
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_in_use_is_not_forgotten_since_thousands_of_others_are_tried() {
        let (classifier, ours) = (ScriptClassifier::default(), script(0));
        classifier.ran(std::slice::from_ref(&ours), &[Some(QUICK)]);
        for round in 0..5 {
            for number in 1..3 * REMEMBERED {
                let other = script(round * 3 * REMEMBERED + number);
                classifier.ran(&[other], &[Some(QUICK)]);
            }
            assert!(classifier.quick().knows(&ours), "{round}");
            assert!(classifier.quick().len() <= 2 * REMEMBERED);
            advance(KEPT).await;
        }
    }

    #[test]
    fn a_script_is_judged_by_what_itself_took() {
        let classifier = ScriptClassifier::default();
        let both = [script(0), script(1)];
        classifier.ran(&both, &[Some(QUICK), Some(2 * QUICK)]);
        assert!(classifier.quick().knows(&both[0]) && !classifier.quick().knows(&both[1]));
        // One slow run counts, whatever came after it.
        let twice = [script(0), script(0)];
        classifier.ran(&twice, &[Some(2 * QUICK), Some(QUICK)]);
        assert!(!classifier.quick().knows(&both[0]));
        classifier.ran(&twice, &[None, None]);
        assert!(!classifier.quick().knows(&both[0]));
    }
}
