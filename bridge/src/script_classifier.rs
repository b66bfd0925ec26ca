//! Which scripts are quick.
//!
//! Redis does nothing else while a script runs. Scripts that are known to be quick travel with all
//! other commands. The others run apart, one at a time, so that Redis serves everybody else between
//! two of them.

mod timed;

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use redis::{Cmd, Pipeline, Value};
use tokio::time::Instant;

pub(crate) use self::timed::timed;
use crate::command::{name, word};
use crate::refuse;
use crate::script::sha1;

/// By Redis' clock. The scripts of a lock take less than a hundredth of it.
const QUICK: Duration = Duration::from_millis(10);

/// Far more scripts than an application has.
const REMEMBERED: usize = 4096;

/// A script that is used within this time is not forgotten, however many others are tried.
const KEPT: Duration = Duration::from_secs(60);

/// A script by what runs it: its SHA-1, or the name of a function.
pub(crate) type Script = Vec<u8>;

#[derive(Default)]
pub(crate) struct ScriptClassifier {
    quick: Mutex<Quick>,
}

/// The scripts that were quick.
#[derive(Default)]
struct Quick {
    scripts: HashMap<Script, Known>,
    /// When those that were not used for a while were last forgotten.
    swept_at: Option<Instant>,
}

struct Known {
    used_at: Instant,
    /// Must show again that it is quick.
    is_doubted: bool,
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
        let mut load = Load { is_quick: true, was_quick: true, ..Load::default() };
        for command in commands.cmd_iter() {
            // Most commands are neither, and this runs for each.
            let initial = word(command, 0).and_then(|name| name.first());
            match initial.map(u8::to_ascii_uppercase) {
                Some(b'E' | b'F') => load.scripts.extend(script(command)),
                Some(b'W') => load.waits |= refuse::waits_for_replicas(&name(command)),
                _ => {}
            }
        }
        if !load.scripts.is_empty() {
            let mut quick = self.quick.lock();
            load.is_quick = load.scripts.iter().all(|script| quick.knows(script));
            let was_quick = |script| quick.scripts.contains_key(script);
            load.was_quick = load.is_quick || load.scripts.iter().all(was_quick);
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
        let mut quick = self.quick.lock();
        let (fast, slow): (Vec<_>, Vec<_>) = (lasted.iter().zip(scripts))
            .filter_map(|(lasted, script)| Some((script, (*lasted)?)))
            .partition(|(_, lasted)| *lasted <= QUICK);
        fast.into_iter().for_each(|(script, _)| quick.learn(script));
        for (script, _) in slow {
            quick.scripts.remove(script);
        }
    }

    /// One of them may be why others waited. Each must show again that it is quick.
    pub(crate) fn doubt(&self, scripts: &[Script]) {
        let mut quick = self.quick.lock();
        for script in scripts {
            if let Some(known) = quick.scripts.get_mut(script) {
                known.is_doubted = true;
            }
        }
    }
}

impl Quick {
    fn knows(&mut self, script: &Script) -> bool {
        self.scripts.get_mut(script).is_some_and(|known| {
            known.used_at = Instant::now();
            !known.is_doubted
        })
    }

    /// Unless there is no place until others have been unused for long enough.
    fn learn(&mut self, script: &Script) {
        let used_at = Instant::now();
        let is_due = (self.swept_at).is_none_or(|at| used_at - at >= KEPT);
        if self.scripts.len() >= REMEMBERED && is_due {
            self.swept_at = Some(used_at);
            (self.scripts).retain(|_, known| used_at - known.used_at <= KEPT);
        }
        if self.scripts.len() < REMEMBERED || self.scripts.contains_key(script) {
            let is_doubted = false;
            (self.scripts).insert(script.clone(), Known { used_at, is_doubted });
        }
    }
}

fn script(command: &Cmd) -> Option<Script> {
    let name = name(command);
    if !refuse::runs_script(&name) {
        return None;
    }
    let which = word(command, 1).unwrap_or_default();
    Some(match name.as_slice() {
        b"EVAL" | b"EVAL_RO" => sha1(which).into_bytes(),
        b"EVALSHA" | b"EVALSHA_RO" => which.to_ascii_lowercase(),
        _ => [b"function ", which].concat(),
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
            assert!(classifier.quick.lock().knows(&ours), "{round}");
            assert!(classifier.quick.lock().scripts.len() <= REMEMBERED);
            advance(KEPT).await;
        }
    }

    #[test]
    fn a_script_is_judged_by_what_itself_took() {
        let classifier = ScriptClassifier::default();
        let both = [script(0), script(1)];
        classifier.ran(&both, &[Some(QUICK), Some(2 * QUICK)]);
        let knows = |script| classifier.quick.lock().knows(script);
        assert!(knows(&both[0]) && !knows(&both[1]));
        // One slow run counts, whatever came after it.
        let twice = [script(0), script(0)];
        classifier.ran(&twice, &[Some(2 * QUICK), Some(QUICK)]);
        assert!(!knows(&both[0]));
        classifier.ran(&twice, &[None, None]);
        assert!(!knows(&both[0]));
    }
}
