//! One server of a small world: the model of Redis, and a memory of what scripts did. A script that
//! finds the same data does the same, so it runs only once.

use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use crate::check::{Grant, holders};
use crate::lua::{Redis, Rewrite};
use crate::redis::{Db, Listener, Reply};
use crate::script::{Run, Script, script_of};

pub(super) struct Server {
    redis: Redis,
    /// The digests of the scripts that it knows from the beginning.
    known: RefCell<BTreeSet<String>>,
    seen: RefCell<HashMap<u64, Rc<Ran>>>,
    scripts: RefCell<HashMap<String, Script>>,
}

/// The outcome of a request.
pub(super) struct Ran {
    pub(super) script: Option<Script>,
    /// The holders of each of its locks before it.
    pub(super) before: Vec<Vec<Grant>>,
    pub(super) reply: Reply,
    /// A digest of the reply that does not depend on who gets it.
    pub(super) digest: u64,
    pub(super) after: Rc<Db>,
    pub(super) told: Vec<(Listener, Vec<u8>)>,
}

impl Ran {
    /// How many wait before the client, if it asked for a lock in vain.
    pub(super) fn place(&self) -> Option<i64> {
        match &self.reply {
            Reply::Array(said) if self.script?.acquires() => match said[..] {
                [Reply::Int(0), _, _, Reply::Int(place), ..] => Some(place),
                _ => None,
            },
            _ => None,
        }
    }
}

/// How many outcomes are remembered.
const REMEMBERED: usize = 100_000;

impl Server {
    pub(super) fn new(rewrite: Rewrite) -> Self {
        Self {
            redis: Redis::new(rewrite),
            known: RefCell::default(),
            seen: RefCell::default(),
            scripts: RefCell::default(),
        }
    }

    /// The data at the beginning.
    pub(super) fn fresh(&self, now_us: i64) -> Db {
        let mut db = Db::default();
        db.table.set_time(now_us);
        db.scripts.clone_from(&self.known.borrow());
        db
    }

    /// From now on it knows all scripts from the beginning that it has run so far.
    pub(super) fn learn(&self) {
        *self.known.borrow_mut() = self.redis.texts().into_keys().collect();
        self.seen.borrow_mut().clear();
    }

    /// Executes `words` on `db`.
    pub(super) fn execute(&self, db: &Rc<Db>, words: &[String]) -> Rc<Ran> {
        let mut hasher = DefaultHasher::new();
        db.feed(&mut hasher);
        words.hash(&mut hasher);
        let key = hasher.finish();
        if let Some(ran) = self.seen.borrow().get(&key) {
            return ran.clone();
        }
        let ran = Rc::new(self.run(db, words));
        let mut seen = self.seen.borrow_mut();
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert(key, ran.clone());
        ran
    }

    fn run(&self, db: &Rc<Db>, words: &[String]) -> Ran {
        *self.redis.db_mut() = Db::clone(db);
        let raw: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        let reply = self.redis.execute(&raw);
        let script = self.script(words);
        let locks = run(script, words).map_or_else(Vec::new, |run| run.locks());
        let before = locks.into_iter().map(|lock| holders(lock, db)).collect();
        let told = std::mem::take(&mut self.redis.db_mut().outbox);
        Ran {
            script,
            before,
            digest: digest(&reply),
            reply,
            after: Rc::new(self.redis.db().clone()),
            told,
        }
    }

    /// The script that it is; `None` if the server does not know it.
    pub(super) fn script(&self, words: &[String]) -> Option<Script> {
        if let Some(script) = self.scripts.borrow().get(&words[1]) {
            return Some(*script);
        }
        let script = match words[0].as_str() {
            "EVALSHA" => script_of(&self.redis.text(&words[1])?),
            _ => script_of(&words[1]),
        };
        let script = script.expect("a script of ours");
        self.scripts.borrow_mut().insert(words[1].clone(), script);
        Some(script)
    }
}

/// `words` as a run of `script`.
pub(super) fn run(script: Option<Script>, words: &[String]) -> Option<Run<'_>> {
    let (keys, args) = words[3..].split_at(words[2].parse().ok()?);
    Some(Run { script: script?, keys, args })
}

/// A digest without the nonce, which only tells one request from another.
fn digest(reply: &Reply) -> u64 {
    let mut hasher = DefaultHasher::new();
    match reply {
        Reply::Array(said) => {
            for (at, said) in said.iter().enumerate().filter(|(at, _)| *at != 1) {
                (at, said.to_string()).hash(&mut hasher);
            }
        }
        reply => reply.to_string().hash(&mut hasher),
    }
    hasher.finish()
}

/// The same, of a request.
pub(super) fn digest_of(words: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let nonce = words[2].parse::<usize>().map_or(0, |keys| 3 + keys);
    for (at, word) in words.iter().enumerate().filter(|(at, _)| *at != nonce) {
        (at, word).hash(&mut hasher);
    }
    hasher.finish()
}
