//! The shipped scripts on the model and on Redis, called as clients call them, and in other ways.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{HEARD, Pair, compare, models};
use crate::group;
use crate::lua::{Redis, few};
use crate::paced;
use crate::quorum;
use crate::rng::Rng;
use crate::script::{Script, has, replaced, script_of};
use crate::trace::Trace;
use crate::unbent;
use crate::workload::Locks;

#[test]
fn the_model_runs_the_shipped_scripts_as_redis_does() {
    let shipped = shipped();
    assert_eq!(shipped.len(), 59);
    for model in models() {
        compare(model, |pair| runs(pair, &shipped));
    }
}

fn runs(pair: &mut Pair, shipped: &[(Script, String)]) {
    let rng = Rng::new(7);
    for step in 0..3_000 {
        let (script, text) = &shipped[rng.between(0, shipped.len() as u64 - 1) as usize];
        let words = call(&rng, *script, text, step);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        pair.run(&words);
        if step % 60 == 59 {
            pair.compare_all();
            pair.run(&["FLUSHALL"]);
        }
    }
}

/// The scripts that clients send. Each kind of lock has six of its own, with two exceptions: kinds
/// that live on several servers share four, and `once` shares with the mutex what renews and what
/// inspects. Throttles, debounces, shared turns and reads have theirs.
///
/// The clocks of the two differ. So a turn is told for how long its commands may run, and not until
/// when.
fn shipped() -> Vec<(Script, String)> {
    let redis = Rc::new(Redis::default());
    // The last one that is new is in one of the first 22.
    for seed in 0..60 {
        for locks in Locks::ALL {
            unbent(seed, &redis, Trace::OFF).among(locks).run();
        }
    }
    let mut texts: BTreeMap<String, String> = redis.texts();
    texts.extend(quorum::texts());
    texts.extend(paced::texts());
    texts.extend(group::texts());
    texts
        .into_values()
        .map(|text| {
            let few = few(&text);
            let until = "tonumber(ARGV[6]) - now_us()";
            let (by, _) = replaced(&few, until, "tonumber(ARGV[6])");
            (script_of(&text).expect("a shipped script"), by)
        })
        .collect()
}

/// A call of a throttle or of a debounce, if the script is one of theirs.
fn paced_call(rng: &Rng, script: Script) -> Option<(Vec<String>, Vec<&'static str>)> {
    let stored = match script {
        Script::Pass | Script::GiveBack => "throttle",
        Script::Arrive | Script::Settle | Script::Leave => "debounce",
        _ => return None,
    };
    // The first call's time has come at once.
    let (token, wait) = rng.pick(&[("t1", "0"), ("t2", "50000000"), ("t3", "60000000")]);
    let args = match script {
        Script::Pass => vec![token, "70000000"],
        Script::Arrive => vec![token, wait, "55000000"],
        _ => vec![token],
    };
    let keys = vec![format!("{{p}}:{stored}"), format!("{{p}}:receipt:{token}")];
    Some((keys, args))
}

fn words_of(text: &str, keys: Vec<String>, step: u64, args: &[&str]) -> Vec<String> {
    let mut words = vec!["EVAL".to_owned(), text.to_owned(), keys.len().to_string()];
    words.extend(keys);
    words.push(format!("nonce.{step}"));
    words.extend(args.iter().map(|arg| (*arg).to_owned()));
    words
}

/// A call as a client could make it, or one that no client makes.
fn call(rng: &Rng, script: Script, text: &str, step: u64) -> Vec<String> {
    /// The ttl of each token. They are far apart, so that both servers list several holders in the
    /// same order.
    const TTLS: [&str; 4] = ["50000000", "60000000", "70000000", "80000000"];
    if let Some((keys, args)) = paced_call(rng, script) {
        return words_of(text, keys, step, &args);
    }
    let is_reentrant = has(text, "OWNER, ENTRY = ARGV[2]");
    let is_read_write = text.contains("'readers'");
    let is_semaphore = has(text, "is_theirs = holders_err");
    let is_units = has(text, "CONFIRMED = KEYS[7]") || has(text, "local end_hold = remove");
    let is_once = text.contains("'^once:'") || text.contains("'PUBLISH',KEYS[6]");
    let is_limits = has(text, "BEHIND = BEHIND + 4");
    let is_multi = has(text, "BEHIND = BEHIND + 3");
    let name = match (is_reentrant, is_semaphore, is_read_write) {
        // Sometimes a name is used as another kind of lock.
        _ if rng.chance(20) => rng.pick(&["m", "r", "s", "w", "o", "u"]),
        _ if is_units => "u",
        _ if is_once => "o",
        _ if is_multi => rng.pick(&["m", "m", "l"]),
        (true, _, _) => "r",
        (_, true, _) => "s",
        (_, _, true) => "w",
        // To others, a writer is a mutex's holder.
        _ if rng.chance(300) => "w",
        _ => "m",
    };
    let at = rng.between(1, 3) as usize;
    let (token, ttl) = (["t0", "t1", "t2", "t3"][at], TTLS[at]);
    let who = if is_reentrant { rng.pick(&["ann", "bob"]) } else { token };
    let more = if is_limits { rng.between(0, 2) } else { 0 } as usize;
    let limits = ["a", &["2", "3/2", "2/1"][..=more].join(";")].concat();
    let waiters = HEARD.iter().chain(&["unheard", ""]);
    let waiters: Vec<String> = (waiters.enumerate())
        .map(|(at, channel)| {
            format!(
                "v1 t{at} {ttl} {}{} {ttl} label {channel}",
                ["b", "f", "b", "f"][at],
                match (is_semaphore, is_read_write) {
                    _ if is_limits => &limits,
                    (true, _) => ["2", "2", "3/2", "2/2"][at],
                    (_, true) => ["r", "r", "a", "r"][at],
                    _ => ["", "a", "", "a"][at],
                },
                ttl = TTLS[at],
            )
        })
        .chain([String::new()])
        .collect();
    let stands = rng.between(0, 4) as usize;
    let waiter = &waiters[stands];
    // The liveness of each waiter is far from the others' too.
    let liveness = TTLS.get(stands).copied().unwrap_or(ttl);
    let mut keys = vec![name.to_owned()];
    for companion in ["receipt:", "gone:", "fence", "queue"] {
        let id = if companion.ends_with(':') { token } else { "" };
        keys.push(format!("{{{name}}}:{companion}{id}"));
    }
    if is_multi {
        let others = ["w", "n"].into_iter().take(rng.between(0, 2) as usize);
        let of_one = |other: &str| {
            let companion = |suffix| format!("{{{other}}}:{suffix}");
            [other.to_owned(), companion("fence"), companion("queue")]
        };
        let gone = keys[2].clone();
        keys.extend(others.flat_map(of_one).chain([gone]));
    }
    if is_semaphore || is_read_write {
        keys.push(format!("{{{name}}}:holds"));
    }
    if is_limits {
        for other in ["t", "v"].into_iter().take(more) {
            keys.push(other.to_owned());
            keys.extend(["fence", "queue", "holds"].map(|key| format!("{{{other}}}:{key}")));
        }
        keys.push(keys[2].clone());
    }
    if is_units {
        keys.push(format!("{{{name}}}:confirmed"));
    }
    if is_read_write {
        keys.push(format!("{{{name}}}:readers"));
    }
    if is_once {
        keys.push(format!("{{{name}}}:result"));
    }
    let (session, number) = (rng.pick(&["s1", "s2"]), rng.pick(&["1", "2", "3", "9"]));
    let fairness = rng.pick(&["b", "f", "br", "fr"]);
    let life = rng.pick(&["90000000", "604800000"]);
    let args = match script {
        Script::Acquire if is_once => {
            let mark = rng.pick(&["", "once:x", "once:y"]);
            vec![who, ttl, ttl, "", "b", mark, "", "53000"]
        }
        Script::Acquire | Script::All => {
            vec![who, ttl, liveness, waiter, fairness, "label", "", life]
        }
        Script::Reenter => vec![who, ttl, "", "", fairness, "", "", life],
        Script::TakeOver => vec![who, ttl, "", "", fairness, "label", "", life],
        Script::Share => {
            let wants = rng.pick(&["2", "3", "4/2", "4/3"]);
            vec![who, ttl, liveness, waiter, fairness, "label", wants, life]
        }
        Script::Limits => vec![who, ttl, liveness, waiter, fairness, "label", &limits, life],
        Script::InspectLimits => vec![limits.as_str()],
        Script::Reserve => {
            let wants = rng.pick(&["9", "9/2", "9/1/3", "9/2/3"]);
            let owner = rng.pick(&["", "ann", "bob"]);
            vec![who, ttl, "", "", fairness, owner, wants, life]
        }
        Script::ReadWrite => {
            let wants = rng.pick(&["r", "r", ""]);
            vec![who, ttl, liveness, waiter, fairness, "label", wants, life]
        }
        Script::Downgrade => vec![who, session, "0", rng.pick(&["0", number]), ttl, "told"],
        Script::Renew => {
            let told = rng.pick(&["told", ""]);
            vec![who, session, rng.pick(&["0", number]), ttl, told]
        }
        Script::Release => {
            let number = rng.pick(&[number, number, "9007199254740991"]);
            let told = rng.pick(&["", "7"]);
            vec![who, session, number, rng.pick(&["0", number]), told]
        }
        Script::Abandon => vec![who, waiter],
        // Both servers have been up for long enough.
        Script::Vote => vec![who, ttl, "", "", "b", "label", "-100000", life],
        Script::VoteAgain => {
            let (this, last) = rng.pick(&[("s1.2", "s1.1"), ("s1.3", "s1.2"), ("s2.1", "")]);
            let told = rng.pick(&["told", ""]);
            let fence = rng.pick(&["0", number]);
            vec![who, "", "", fence, ttl, told, "label", "-100000", this, last, life]
        }
        Script::Withdraw => vec![who, session, number],
        Script::Raise => vec![who, rng.pick(&["5", "9007199254740991"]), ttl],
        Script::Turn | Script::HandedTurn => {
            let found = rng.pick(&["$-1\r\n", "$1\r\n1\r\n"]);
            let left_us = rng.pick(&["0", "5000000", "5000000", "40000000"]);
            let told = rng.pick(&["", "14", "17"]);
            vec![who, ttl, found, "14", left_us, "label", "", life, told]
        }
        Script::InspectSeveral | Script::InspectUnits => vec!["4"],
        Script::InspectReaders => vec!["r"],
        // The other scripts are called in ways of their own.
        _ => vec![],
    };
    let commands: &[&str] = match script {
        Script::Acquire
        | Script::TakeOver
        | Script::All
        | Script::Reenter
        | Script::Share
        | Script::Limits
        | Script::Reserve
        | Script::ReadWrite => rng.pick(&[&[], &["2", "GET", "n"], &["2", "GET", "r"]]),
        Script::Release if is_once => rng.pick(&[
            &[],
            &["5", "SET", "{o}:result", "once:x a%é\n", "PX", "60000000"],
            &["5", "SET", "{o}:result", " b", "PX", "60000000"],
        ]),
        Script::Turn | Script::HandedTurn => {
            rng.pick(&[&["2", "GET", "n"], &["2", "GET", "n", "2", "INCR", "n"]])
        }
        Script::Renew | Script::Release => {
            rng.pick(&[&[], &["2", "INCR", "n"], &["3", "APPEND", "n", "é%\n", "2", "GET", "n"]])
        }
        _ => &[],
    };
    words_of(text, keys, step, &[&args, commands].concat())
}
