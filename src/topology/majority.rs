//! What a majority of several bridges' answers says.

use std::time::Duration;

use crate::script::{Answer, Contended, Holder, Inspection, Renewed, Verb};
use crate::token::Token;

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
    fn quarantine(self, silent: Vec<Duration>) -> Option<Duration> {
        let may_be_silent = self.bridges - self.majority();
        let over = silent.len().saturating_sub(may_be_silent);
        last_of(over, silent, |left| Some(*left))
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
    let fences = answers.iter().filter_map(|answer| match answer {
        Answer::Granted { fence, .. } => Some(*fence),
        _ => None,
    });
    let missing = count.majority().saturating_sub(fences.clone().count());
    if missing == 0 {
        return Some(Answer::Granted {
            fence: fences.max()?,
            replies: Vec::new(),
        });
    }
    let silent = answers.iter().filter_map(|answer| match answer {
        Answer::Quarantined(left) => Some(*left),
        _ => None,
    });
    if let Some(left) = count.quarantine(silent.collect()) {
        return Some(Answer::Quarantined(left));
    }
    let is_vain = count.pending < missing && answers.len() >= count.majority();
    if !is_vain {
        return None;
    }
    let is_gone = answers.contains(&Answer::Gone);
    contended(answers, missing)
        .map(Answer::Held)
        .or_else(|| is_gone.then_some(Answer::Gone))
}

/// For how long so many are held by others that `missing` more cannot be had.
fn contended(answers: &[Answer], missing: usize) -> Option<Contended> {
    let held = answers
        .iter()
        .filter_map(|answer| match answer {
            Answer::Held(contended) => Some(contended),
            _ => None,
        })
        .collect();
    let last = last_of(missing, held, |held: &&Contended| held.remaining)?;
    Some(Contended {
        ahead: 0,
        ..last.clone()
    })
}

/// The last to end of the first `count` to end, or of all if there are fewer. It takes them one by
/// one: a sort would be the largest part of the client's wasm.
fn last_of<T>(count: usize, mut all: Vec<T>, left: impl Fn(&T) -> Option<Duration>) -> Option<T> {
    let end = |(_, one): &(usize, &T)| left(one).unwrap_or(Duration::MAX);
    (0..count)
        .map_while(|_| {
            let (first, _) = all.iter().enumerate().min_by_key(end)?;
            Some(all.remove(first))
        })
        .last()
}

/// Over several bridges a lease writes nothing but itself, so there are no replies.
fn done(answers: &[Answer], count: Count) -> Option<Answer> {
    let is_done = |answer: &&Answer| matches!(answer, Answer::Done(_));
    Some(
        match count.decided(answers.iter().filter(is_done).count())? {
            true => Answer::Done(Vec::new()),
            false => Answer::NotDone,
        },
    )
}

/// For as long as each that said so has it; under the fence that one of any majority knows.
fn renewed(answers: &[Answer], count: Count) -> Option<Answer> {
    let yes = answers.iter().filter_map(|answer| match answer {
        Answer::Renewed(renewed) => Some(renewed),
        _ => None,
    });
    if !count.decided(yes.clone().count())? {
        return Some(Answer::NotDone);
    }
    Some(Answer::Renewed(Renewed {
        fence: yes.clone().map(|renewed| renewed.fence).max()?,
        ttl: yes.map(|renewed| renewed.ttl).min()?,
        replies: Vec::new(),
    }))
}

/// The holder that a majority names, for as long as a majority says. If no majority names one, only
/// the answers of servers that have a say count.
fn inspected(answers: &[Answer], count: Count) -> Option<Inspection> {
    let all = || {
        answers.iter().filter_map(|answer| match answer {
            Answer::Inspected(found) => Some(found),
            _ => None,
        })
    };
    let holders = || all().filter_map(|found| found.holder.as_ref());
    let said_of = |token: &Token| -> Vec<&Holder> {
        holders().filter(|holder| holder.token == *token).collect()
    };
    let said = holders()
        .map(|holder| said_of(&holder.token))
        .max_by_key(Vec::len)
        .unwrap_or_default();
    let is_held = count.decided(said.len())?;
    let silent: Vec<_> = all()
        .filter_map(|found| found.quarantine_remaining)
        .collect();
    if !is_held {
        // Whether a majority has a say.
        count.decided(answers.len() - silent.len())?;
    }
    // When that one is over, fewer than a majority are left.
    let over = (said.len() + 1).saturating_sub(count.majority());
    let last = last_of(over, said, |holder: &&Holder| holder.remaining);
    let holder = last.filter(|_| is_held).cloned();
    Some(Inspection {
        holders: holder.iter().cloned().collect(),
        holder,
        free: None,
        is_read: false,
        fence: all().filter_map(|found| found.fence).max(),
        waiters: 0,
        quarantine_remaining: count.quarantine(silent).filter(|_| !is_held),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn granted() -> Answer {
        Answer::Granted {
            fence: 7,
            replies: Vec::new(),
        }
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
        let count = Count {
            bridges,
            pending,
            failed,
        };
        judge(Verb::Acquire, &answers, count)
    }

    #[test]
    fn a_lock_cannot_be_had_while_too_many_have_no_say_and_is_held_if_a_majority_could_grant_it() {
        assert_eq!(of(3, 0, vec![silent(9), silent(7)]), Some(silent(7)));
        let all = vec![silent(9), silent(7), silent(8)];
        assert_eq!(of(3, 0, all), Some(silent(8)));
        assert_eq!(of(3, 1, vec![silent(9), silent(7)]), Some(silent(7)));
        assert_eq!(
            of(3, 0, vec![silent(9), silent(7), held(1)]),
            Some(silent(7))
        );
        assert_eq!(of(4, 0, vec![silent(9), silent(7)]), Some(silent(7)));
        // One that has no say is one that another majority can do without.
        assert_eq!(of(3, 0, vec![silent(900), held(8)]), Some(held(8)));
        assert_eq!(
            of(3, 0, vec![silent(900), held(8), granted()]),
            Some(held(8))
        );
        let two = of(3, 0, vec![silent(900), granted(), granted()]);
        assert!(matches!(two, Some(Answer::Granted { .. })));
        // That of the missing one counts, or what became of it.
        assert_eq!(of(3, 0, vec![silent(900), granted()]), None);
        assert_eq!(of(3, 1, vec![silent(900), granted()]), None);
    }
}
