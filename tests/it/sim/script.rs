//! Which of the shipped scripts a request runs, and on which keys.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::parts::{Names, parts, sources};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    Acquire,
    TakeOver,
    Reenter,
    Share,
    Reserve,
    ReadWrite,
    All,
    Limits,
    Renew,
    Downgrade,
    Release,
    Abandon,
    Inspect,
    InspectSeveral,
    InspectUnits,
    InspectReaders,
    InspectAll,
    InspectLimits,
    ForceRelease,
    ForceAll,
    ForceLimits,
    Forget,
    Read,
    Vote,
    VoteAgain,
    Withdraw,
    Raise,
    Turn,
    HandedTurn,
    Pass,
    GiveBack,
    Arrive,
    Settle,
    Leave,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| Names::of(&sources(&folder())));

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kind")
}

/// What each script has in its text for itself alone, as it is sent.
static OWN: LazyLock<[(Script, String); 34]> = LazyLock::new(|| {
    let parts = parts(&folder());
    let source = |file: &str, name: &str| {
        let part = parts.iter().find(|part| part.file == file && part.name == name);
        &part.unwrap_or_else(|| panic!("no {name} in {file}")).source
    };
    [
        (Script::Acquire, source("mutex", "acquire")),
        (Script::TakeOver, source("take_over", "take_over")),
        (Script::Reenter, source("reentrant", "acquire")),
        (Script::Share, source("semaphore", "acquire")),
        (Script::Reserve, source("reservations", "acquire")),
        (Script::ReadWrite, source("read_write", "acquire")),
        (Script::All, source("multi", "acquire")),
        (Script::Limits, source("limits", "acquire")),
        (Script::Renew, source("operations", "renew")),
        (Script::Downgrade, source("read_write", "downgrade")),
        (Script::Release, source("operations", "release")),
        (Script::Abandon, source("operations", "abandon")),
        (Script::Inspect, source("operations", "inspect")),
        (Script::InspectSeveral, source("semaphore", "inspect")),
        (Script::InspectUnits, source("reservations", "inspect")),
        (Script::InspectReaders, source("read_write", "inspect")),
        (Script::InspectAll, source("multi", "inspect")),
        (Script::InspectLimits, source("limits", "inspect")),
        (Script::ForceLimits, source("limits", "force_release")),
        (Script::ForceAll, source("multi", "force_release")),
        (Script::ForceRelease, source("operations", "force_release")),
        (Script::Forget, source("once", "forget")),
        (Script::Read, source("commands", "read")),
        (Script::Vote, source("quorum", "acquire")),
        (Script::VoteAgain, source("quorum", "renew")),
        (Script::Withdraw, source("quorum", "withdraw")),
        (Script::Raise, source("quorum", "raise")),
        (Script::Turn, source("mutex", "turn")),
        (Script::HandedTurn, source("mutex", "handed_turn")),
        (Script::Pass, source("throttle", "pass")),
        (Script::GiveBack, source("throttle", "give_back")),
        (Script::Arrive, source("debounce", "arrive")),
        (Script::Settle, source("debounce", "settle")),
        (Script::Leave, source("debounce", "leave")),
    ]
    .map(|(script, source)| (script, NAMES.shorten(source)))
});

/// The `text` of a script with `part` replaced by `by`, and how often `part` was there.
pub(crate) fn replaced(text: &str, part: &str, by: &str) -> (String, usize) {
    let part = sent(part);
    let by = [" ", &NAMES.shorten(by)].concat();
    (text.replace(&part, &by), text.matches(&part).count())
}

/// Whether `part` is in the `text` of a script.
pub(crate) fn has(text: &str, part: &str) -> bool {
    text.contains(&sent(part))
}

/// A piece of code as it is sent.
fn sent(part: &str) -> String {
    NAMES.shorten(part).trim_end().to_owned()
}

pub(crate) fn script_of(text: &str) -> Option<Script> {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, Option<Script>>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some(script) = known.get(text) {
            return *script;
        }
        let script = OWN.iter().find(|(_, own)| text.contains(own));
        let script = script.map(|(script, _)| *script);
        known.insert(text.to_owned(), script);
        script
    })
}

impl Script {
    /// Whether it asks for the lock.
    pub(crate) const fn acquires(self) -> bool {
        matches!(
            self,
            Self::Acquire
                | Self::TakeOver
                | Self::Reenter
                | Self::Share
                | Self::Reserve
                | Self::ReadWrite
                | Self::All
                | Self::Limits
        )
    }
}

/// One run of a script.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) script: Script,
    pub(crate) keys: &'a [String],
    pub(crate) args: &'a [String],
}

impl<'a> Run<'a> {
    /// The run of the script with this text, by the request's `words`.
    pub(crate) fn of(text: &str, words: &'a [String]) -> Option<Self> {
        let script = script_of(text)?;
        let (keys, args) = words[3..].split_at(words[2].parse().ok()?);
        Some(Self { script, keys, args })
    }

    /// The lock that it is about, if it is about one.
    pub(crate) fn lock(&self) -> Option<&'a str> {
        use Script::{Arrive, GiveBack, Leave, Pass, Read, Settle};
        let holds_nothing = matches!(self.script, Read | Pass | GiveBack | Arrive | Settle | Leave);
        (!holds_nothing).then(|| self.keys[0].as_str())
    }

    /// The names that it is about. If several are locked at once, all of them.
    pub(crate) fn locks(&self) -> Vec<&'a str> {
        let first = self.lock().into_iter();
        let Some(gone) = self.keys.get(2).filter(|_| self.lock().is_some()) else {
            return first.collect();
        };
        // The same key once more marks the end of the other names' keys. Each semaphore has one
        // more.
        let has_more = |key: &String| key.ends_with(":holds");
        let more = usize::from(self.keys.get(5).is_some_and(has_more));
        let others = &self.keys[5 + more..];
        let count = others.iter().position(|key| key == gone);
        let others = &others[..count.unwrap_or_default()];
        first.chain(others.iter().step_by(3 + more).map(String::as_str)).collect()
    }

    /// The token; for a script without one, the session.
    pub(crate) fn token(&self) -> &'a str {
        let (_, token) = self.keys[1].rsplit_once(':').expect("a receipt");
        token
    }

    /// The holder that this run would make, as Redis stores it.
    pub(crate) fn who(&self) -> &'a str {
        &self.args[1]
    }
}

impl fmt::Display for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (script, lock) = (self.script, self.keys.first().map_or("", String::as_str));
        write!(f, "{script:?} {lock} {}", self.args.join(" "))
    }
}
