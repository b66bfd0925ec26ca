//! What each server of a quorum must do, whatever goes wrong. Its data before and after a script
//! shows whether it did.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use crate::check::Invariant::{CountsLater, Heals, KnowsTheFence, NoGhost, NoSay, OneVote};
use crate::check::Violation;
use crate::redis::{Db, Reply, Value};
use crate::script::{Run, Script};
use crate::world::Time;

/// The votes so far, by server and token.
#[derive(Default)]
pub(crate) struct Votes {
    given_back: BTreeSet<(usize, String)>,
    asked: BTreeMap<(usize, String), Asked>,
    /// The renewals that each server was asked for.
    renewals: BTreeSet<(usize, String)>,
}

/// The last renewal of a token that found a server able to vote for it.
#[derive(Hash)]
struct Asked {
    renewal: String,
    until: Time,
}

/// A script that ran at a server: what that had before it and after it.
pub(crate) struct Vote<'a> {
    pub(crate) server: usize,
    pub(crate) now: Time,
    pub(crate) before: &'a Db,
    pub(crate) reply: &'a Reply,
    pub(crate) after: &'a Db,
}

fn text(db: &Db, key: &str) -> Option<String> {
    match db.value(key)? {
        Value::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

impl Votes {
    pub(crate) fn ran(&mut self, run: &Run<'_>, vote: &Vote<'_>) -> Option<Violation> {
        let at = (vote.server, run.who().to_owned());
        let holder = |db| text(db, &run.keys[0]);
        let has = |db| holder(db).as_deref() == Some(run.who());
        let is_new = has(vote.after) && !has(vote.before);
        let broken = |invariant, what: &str| {
            let what = format!("server {} {what} {}", vote.server, run.who());
            Some(Violation { invariant, what })
        };
        match run.script {
            Script::Withdraw => {
                self.asked.remove(&at);
                self.given_back.insert(at);
            }
            _ if is_new && self.given_back.contains(&at) => {
                return broken(NoGhost, "takes again");
            }
            _ if is_new && holder(vote.before).is_some() => {
                return broken(OneVote, "votes for another, and then for");
            }
            Script::Vote if is_new && !is_grown(vote.before, &run.args[7], 0) => {
                return broken(NoSay, "was started lately, and votes for");
            }
            Script::VoteAgain => {
                let (told, ttl) = (yes(vote.reply), run.args[5].parse::<Time>().unwrap_or(0));
                let is_able = has(vote.after)
                    || holder(vote.before).is_none() && is_grown(vote.before, &run.args[8], 2_000);
                if is_new && !is_grown(vote.before, &run.args[8], 0) {
                    return broken(NoSay, "was started lately, and votes for");
                }
                if told && !has(vote.before) {
                    return broken(CountsLater, "counts its new vote at once for");
                }
                let fence = text(vote.after, &run.keys[3]).unwrap_or_default();
                if is_new && !fence.contains(&format!(" {} {} ", run.who(), run.args[4])) {
                    return broken(KnowsTheFence, "does not know the fence of");
                }
                let asked = self.asked.remove(&at);
                let was_asked =
                    |asked: Asked| asked.renewal == run.args[10] && vote.now < asked.until;
                if !told && is_able && asked.is_some_and(was_asked) {
                    return broken(Heals, "was asked twice, and does not count its vote for");
                }
                let is_first = self.renewals.insert((vote.server, run.args[9].clone()));
                if is_able && is_first && run.args[4] != "0" && !self.given_back.contains(&at) {
                    let (renewal, until) = (run.args[9].clone(), vote.now + ttl * crate::world::MS);
                    self.asked.insert(at, Asked { renewal, until });
                }
            }
            _ => {}
        }
        None
    }

    /// A server has lost its data.
    pub(crate) fn forget(&mut self, server: usize) {
        self.given_back.retain(|(of, _)| *of != server);
        self.asked.retain(|(of, _), _| *of != server);
        self.renewals.retain(|(of, _)| *of != server);
    }

    pub(crate) fn feed(&self, hasher: &mut impl Hasher) {
        (&self.given_back, &self.asked, &self.renewals).hash(hasher);
    }
}

fn yes(reply: &Reply) -> bool {
    matches!(reply, Reply::Array(said) if said.first() == Some(&Reply::Int(1)))
}

/// Whether the server has been up for `quarantine` ms and `more`. It counts whole seconds only, and
/// the first one may be short.
fn is_grown(db: &Db, quarantine: &str, more: i64) -> bool {
    let quarantine: i64 = quarantine.parse().unwrap_or(0);
    db.table.uptime_us() >= (quarantine + more) * 1_000
}
