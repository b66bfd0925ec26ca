//! What a majority of several bridges' answers says.

use std::time::Duration;

use crate::script::{Answer, Contended, Holder, Inspection, Renewed, Verb};

/// Of how many bridges, and what of them is still missing.
#[derive(Clone, Copy)]
pub(crate) struct Count {
    pub(crate) bridges: usize,
    /// May answer yet.
    pub(crate) pending: usize,
    /// Will not: what happened there could not be learned.
    pub(crate) failed: usize,
}

impl Count {
    /// More than half, so that two of them always have one in common.
    const fn majority(self) -> usize {
        self.bridges / 2 + 1
    }

    /// The least time until a majority has a say, if the servers in `silent` have none for these
    /// times.
    fn quarantine(self, silent: &[Duration]) -> Option<Duration> {
        let may_be_silent = self.bridges - self.majority();
        let over = silent.len().saturating_sub(may_be_silent);
        last_of(over, silent).and_then(|last| silent.get(last).copied())
    }

    /// Whether a majority says yes; `None` where that depends on those that are missing.
    const fn decided(self, yes: usize) -> Option<bool> {
        if yes >= self.majority() {
            Some(true)
        } else if yes + self.pending + self.failed < self.majority() {
            Some(false)
        } else {
            None
        }
    }
}

/// What `answers` amount to; `None` as long as those that are missing could change it, and always
/// for what only one is asked for: a guess, or calls of which no majority could tell the first or
/// the last.
#[inline(never)]
pub(crate) fn judge(verb: Verb, answers: &[Answer], count: Count) -> Option<Answer> {
    match verb {
        Verb::Acquire => acquired(answers, count),
        Verb::Renew => renewed(answers, count),
        Verb::Act => done(answers, count),
        Verb::Inspect => inspected(answers, count).map(|found| Answer::Inspected(found.into())),
        Verb::Turn | Verb::Pace => None,
    }
}

/// Granted once a majority grants it. Not granted once so many have no say that no majority has
/// one, or once a majority has replied and a majority of grants is out of reach. A missing answer
/// could then only add whom to wait for.
fn acquired(answers: &[Answer], count: Count) -> Option<Answer> {
    let (mut grants, mut highest, mut is_gone) = (0, 0, false);
    let (mut silent, mut held) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Answer::Granted { fence, .. } => (grants, highest) = (grants + 1, highest.max(*fence)),
            Answer::Quarantined(left) => silent.push(*left),
            Answer::Held(contended) => held.push(contended),
            Answer::Gone => is_gone = true,
            _ => {}
        }
    }
    let missing = count.majority().saturating_sub(grants);
    if missing == 0 {
        return Some(Answer::Granted { fence: highest, replies: Vec::new() });
    }
    if let Some(left) = count.quarantine(&silent) {
        return Some(Answer::Quarantined(left));
    }
    let is_vain = count.pending < missing && answers.len() >= count.majority();
    if !is_vain {
        return None;
    }
    // For as long as so many are held by others that the missing ones cannot be had.
    let ends: Vec<_> = held.iter().map(|held| end(held.remaining)).collect();
    match last_of(missing, &ends).and_then(|last| held.get(last)) {
        Some(last) => Some(Answer::Held(Contended {
            remaining: last.remaining,
            ahead: 0,
            redis_us: last.redis_us,
            label: last.label.clone(),
            // Over several bridges a lock is one name, and nothing is read.
            replies: Vec::new(),
            at: None,
            kept: None,
        })),
        None => is_gone.then_some(Answer::Gone),
    }
}

/// The place of the last to end of the first `count` to end, or of all if there are fewer. It
/// counts: a sort would be the largest part of the client's wasm.
fn last_of(count: usize, ends: &[Duration]) -> Option<usize> {
    let all = || ends.iter().enumerate().map(|(at, end)| (end, at));
    let rank = |one| all().filter(|other| *other <= one).count();
    let (_, at) = all().find(|one| rank(*one) == count.min(ends.len()))?;
    Some(at)
}

fn end(remaining: Option<Duration>) -> Duration {
    remaining.unwrap_or(Duration::MAX)
}

/// Over several bridges a lease writes nothing but itself, so there are no replies.
fn done(answers: &[Answer], count: Count) -> Option<Answer> {
    let is_done = |answer: &&Answer| matches!(answer, Answer::Done(_));
    Some(match count.decided(answers.iter().filter(is_done).count())? {
        true => Answer::Done(Vec::new()),
        false => Answer::NotDone,
    })
}

/// For as long as each that said so has it; under the fence that one of any majority knows.
fn renewed(answers: &[Answer], count: Count) -> Option<Answer> {
    let (mut yes, mut fence, mut ttl) = (0, 0, Duration::MAX);
    for answer in answers {
        if let Answer::Renewed(renewed) = answer {
            (yes, fence, ttl) = (yes + 1, fence.max(renewed.fence), ttl.min(renewed.ttl));
        }
    }
    if !count.decided(yes)? {
        return Some(Answer::NotDone);
    }
    Some(Answer::Renewed(Renewed { fence, ttl, replies: Vec::new() }))
}

/// The holder that a majority names, for as long as a majority says. If no majority names one, only
/// the answers of servers that have a say count.
#[inline(never)]
fn inspected(answers: &[Answer], count: Count) -> Option<Inspection> {
    let (mut holders, mut silent, mut fence) = (Vec::new(), Vec::new(), None);
    for answer in answers {
        if let Answer::Inspected(found) = answer {
            holders.extend(&found.holder);
            silent.extend(found.quarantine_remaining);
            fence = found.fence.max(fence);
        }
    }
    let mut said = Vec::<&Holder>::new();
    for holder in &holders {
        let is_same = |other: &&Holder| other.token == holder.token;
        let same: Vec<_> = holders.iter().copied().filter(is_same).collect();
        if same.len() > said.len() {
            said = same;
        }
    }
    let is_held = count.decided(said.len())?;
    if !is_held {
        // Whether a majority has a say.
        count.decided(answers.len() - silent.len())?;
    }
    // When that one is over, fewer than a majority are left.
    let over = (said.len() + 1).saturating_sub(count.majority());
    let ends: Vec<_> = said.iter().map(|holder| end(holder.remaining)).collect();
    let last = last_of(over, &ends).and_then(|last| said.get(last));
    let holder = last.filter(|_| is_held).copied().cloned();
    Some(Inspection {
        holders: holder.iter().cloned().collect(),
        holder,
        free: None,
        confirmed: None,
        is_read: false,
        fence,
        waiters: 0,
        quarantine_remaining: count.quarantine(&silent).filter(|_| !is_held),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn granted() -> Answer {
        Answer::Granted { fence: 7, replies: Vec::new() }
    }

    fn held(seconds: u64) -> Answer {
        Answer::Held(Contended {
            remaining: Some(s(seconds)),
            ahead: 0,
            redis_us: 1,
            label: None,
            replies: Vec::new(),
            at: None,
            kept: None,
        })
    }

    fn silent(seconds: u64) -> Answer {
        Answer::Quarantined(s(seconds))
    }

    fn of(bridges: usize, failed: usize, answers: Vec<Answer>) -> Option<Answer> {
        let pending = bridges - failed - answers.len();
        let count = Count { bridges, pending, failed };
        judge(Verb::Acquire, &answers, count)
    }

    #[test]
    fn a_lock_cannot_be_had_while_too_many_have_no_say_and_is_held_if_a_majority_could_grant_it() {
        assert_eq!(of(3, 0, vec![silent(9), silent(7)]), Some(silent(7)));
        let all = vec![silent(9), silent(7), silent(8)];
        assert_eq!(of(3, 0, all), Some(silent(8)));
        assert_eq!(of(3, 1, vec![silent(9), silent(7)]), Some(silent(7)));
        assert_eq!(of(3, 0, vec![silent(9), silent(7), held(1)]), Some(silent(7)));
        assert_eq!(of(4, 0, vec![silent(9), silent(7)]), Some(silent(7)));
        // One that has no say is one that another majority can do without.
        assert_eq!(of(3, 0, vec![silent(900), held(8)]), Some(held(8)));
        assert_eq!(of(3, 0, vec![silent(900), held(8), granted()]), Some(held(8)));
        let two = of(3, 0, vec![silent(900), granted(), granted()]);
        assert!(matches!(two, Some(Answer::Granted { .. })));
        // That of the missing one counts, or what became of it.
        assert_eq!(of(3, 0, vec![silent(900), granted()]), None);
        assert_eq!(of(3, 1, vec![silent(900), granted()]), None);
    }
}
