//! What can happen next in a small world, and how many faults are left.

use std::fmt;
use std::str::FromStr;

/// One thing that happens. Clients, messages and servers have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A client goes on.
    Go(u8),
    /// A client stands still until what it holds is over, and then goes on.
    Rest(u8),
    /// A message arrives.
    Deliver(u8),
    Lose(u8),
    /// A request finds no connection, and its client learns that.
    Refuse(u8),
    /// A second copy of a request is sent.
    Repeat(u8),
    /// A message does not arrive before time has passed.
    Delay(u8),
    /// The bridge of a server restarts: what is under way there is lost, and its streams end.
    Restart(u8),
    /// A server comes back empty.
    Empty(u8),
    /// Time passes until the next timer is over.
    Pass,
}

/// The letter of a step, and the step with its number.
type Letter = (char, fn(u8) -> Step);

impl Step {
    const LETTERS: [Letter; 9] = [
        ('g', Self::Go),
        ('r', Self::Rest),
        ('d', Self::Deliver),
        ('l', Self::Lose),
        ('n', Self::Refuse),
        ('t', Self::Repeat),
        ('w', Self::Delay),
        ('b', Self::Restart),
        ('e', Self::Empty),
    ];

    const fn parts(self) -> (char, u8) {
        match self {
            Self::Go(of) => ('g', of),
            Self::Rest(of) => ('r', of),
            Self::Deliver(of) => ('d', of),
            Self::Lose(of) => ('l', of),
            Self::Refuse(of) => ('n', of),
            Self::Repeat(of) => ('t', of),
            Self::Delay(of) => ('w', of),
            Self::Restart(of) => ('b', of),
            Self::Empty(of) => ('e', of),
            Self::Pass => ('p', 0),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            ('p', _) => f.write_str("p"),
            (letter, of) => write!(f, "{letter}{of}"),
        }
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("{text:?} is no step");
        if text == "p" {
            return Ok(Self::Pass);
        }
        let letter = text.chars().next().ok_or_else(unknown)?;
        let (_, step) =
            (Self::LETTERS.iter().find(|(known, _)| *known == letter)).ok_or_else(unknown)?;
        let of = text[1..].parse().map_err(|_| unknown())?;
        Ok(step(of))
    }
}

/// A history, written as one word.
pub(crate) fn word(steps: &[Step]) -> String {
    let words: Vec<_> = steps.iter().map(ToString::to_string).collect();
    words.join(".")
}

/// Reads such a word.
pub(crate) fn steps(word: &str) -> Result<Vec<Step>, String> {
    word.split('.').map(str::parse).collect()
}

/// What may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    LostRequest,
    LostReply,
    /// A request surely did not arrive.
    Refused,
    Twice,
    Late,
    Restart,
    /// A client stands still until what it holds is over.
    Expiry,
    /// A message to a waiter is lost.
    LostMessage,
    /// A server comes back empty.
    Empty,
}

impl Fault {
    const NAMES: [&str; 9] = [
        "lost-request",
        "lost-reply",
        "refused",
        "twice",
        "late",
        "restart",
        "expiry",
        "lost-message",
        "empty",
    ];

    pub(crate) const ALL: [Self; 9] = [
        Self::LostRequest,
        Self::LostReply,
        Self::Refused,
        Self::Twice,
        Self::Late,
        Self::Restart,
        Self::Expiry,
        Self::LostMessage,
        Self::Empty,
    ];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|fault| fault.to_string() == text);
        named.ok_or_else(|| format!("{text:?} is no fault; there are {:?}", Self::NAMES))
    }
}

/// How many faults are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Faults {
    /// Of each sort.
    of: [u8; Fault::ALL.len()],
    in_all: u8,
}

impl Faults {
    pub(crate) const NONE: Self = Self { of: [0; Fault::ALL.len()], in_all: 0 };

    /// These faults, each as often as it is named.
    pub(crate) fn these(faults: &[Fault]) -> Self {
        let times = |sort: &Fault| faults.iter().filter(|fault| *fault == sort).count();
        Self { of: Fault::ALL.map(|sort| times(&sort) as u8), in_all: faults.len() as u8 }
    }

    /// So many faults of each of these sorts, and so many in all.
    pub(crate) fn new(sorts: &[Fault], each: u8, in_all: u8) -> Self {
        let of = Fault::ALL.map(|sort| if sorts.contains(&sort) { each } else { 0 });
        Self { of, in_all }
    }

    pub(crate) const fn may(&self, fault: Fault) -> bool {
        self.in_all > 0 && self.of[fault as usize] > 0
    }

    /// One fault of this sort has happened.
    pub(crate) const fn take(&mut self, fault: Fault) {
        self.of[fault as usize] -= 1;
        self.in_all -= 1;
    }

    /// Whether a fault of this sort has happened, if there were `before` at first.
    pub(crate) const fn has_had(&self, fault: Fault, before: &Self) -> bool {
        self.of[fault as usize] < before.of[fault as usize]
    }

    pub(crate) const fn left(&self) -> u8 {
        self.in_all
    }
}

#[test]
fn a_history_is_read_as_it_is_written() {
    let word = "g0.r1.d12.l3.n6.t4.w5.b0.e2.p";
    assert_eq!(self::word(&steps(word).expect("steps")), word);
    assert!(steps("x1").is_err() && steps("d").is_err() && steps("").is_err());
}
