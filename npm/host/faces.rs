//! The operations of a client and of what it makes, for the npm package: [`Steps`] that JavaScript
//! drives, in place of futures.

use std::time::Duration;

use super::driven::{Held, JsHost, Outside, Sent};
use super::steps::{Came, Outcome, Steps};
use crate::acquisition::Acquisition;
use crate::bridge::Bridge;
use crate::client::Client;
use crate::command::{Command, Reply};
use crate::error::Fault;
use crate::lock::{Lock, reading, replies};
use crate::once::{Cached, Once};
use crate::operation::{
    BeginKeeping, EndKeeping, Keep, OfTurn, RunGuess, RunOrLock, Taken, Why, Write, Writes,
};
use crate::paced::{Debounce, Throttle};
use crate::resp;
use crate::runtime::{Instant, Runtime};
use crate::script::{self, Call, IfWrong};
use crate::token::Token;

/// A client of one bridge without an id, or of several.
///
/// # Errors
/// As [`Client::quorum`] and [`Client::sharded`].
pub fn client(
    is_quorum: bool,
    bridges: Vec<Bridge>,
    ids: Vec<String>,
    host: Outside,
) -> Result<Client<Sent, Outside>, Fault> {
    match bridges.as_slice() {
        [bridge] if !is_quorum && ids.is_empty() => Ok(Client::new(bridge.clone(), Sent, host)),
        _ => Client::several(bridges, (!is_quorum).then_some(ids), Sent, host),
    }
}

#[doc(hidden)]
impl Client<Sent, Outside> {
    /// As [`Client::read`]. With `tells_each` the reply to a read that failed is its error.
    pub fn read_steps(&self, reads: &[Command], tells_each: bool) -> Steps {
        let place = &self.host;
        let checked = self.check();
        let reading =
            checked.and_then(|()| reading(&place.runtime, &self.topology, reads, tells_each));
        Steps::new(place, reading, |_, settled| replies(settled).map(Came::Replies))
    }
}

#[doc(hidden)]
impl Lock<Sent, Outside> {
    /// As [`Lock::acquire_and_read`].
    pub fn acquire_steps(&self, reads: &[Command]) -> Steps {
        let acquire = self.acquiring(Some(self.wait), reads);
        Steps::new(&self.host, acquire, taken)
    }

    /// As [`Lock::acquire_as`], after so many requests that were sent for it. The reply to a read
    /// that failed is its error. If it `guesses`, what the last holder left is as good as replies.
    pub fn acquire_as_steps(
        &self,
        acquisition: &Acquisition,
        sent: u32,
        guesses: bool,
        listens: bool,
        reads: impl FnMut() -> Vec<Command> + 'static,
    ) -> Steps {
        let turn = OfTurn { guesses, listens };
        let acquire = self.without(sent).acquiring_as(acquisition, Some(turn));
        let taken = |place: &JsHost, taken: Result<Taken, Fault>| {
            let mut granted = taken?.lock()?;
            let (ahead, left) = (granted.ahead, granted.left.take());
            let (held, replies) = Held::by(place, granted);
            Ok(match left {
                None => Came::ForTurn(held, ahead, None, replies),
                Some(left) => {
                    let (reads, found) = left.found.into_iter().unzip();
                    Came::ForTurn(held, ahead, Some((left.redis_us, reads)), found)
                }
            })
        };
        Steps::new(&self.host, acquire, taken).inquiring(reads)
    }

    /// As [`Lock::check_reads`].
    ///
    /// # Errors
    /// As there.
    pub fn checked_reads(&self, reads: &[Command]) -> Result<(), Fault> {
        self.settings.check_reads(reads)
    }

    /// Whether it has turns of one request, after so many that were sent for it.
    pub fn may_guess(&self, sent: u32) -> bool {
        self.without(sent).has_turns()
    }

    /// Runs `writes` as if under the lock if `reads` find what is expected, and takes the lock if
    /// they find something else. The token is that by which it may have the lock from then on.
    ///
    /// The outcome is a turn, or a lease with the replies to the reads.
    ///
    /// # Errors
    /// Of the host's randomness, and [`Error::InvalidArgument`] if nobody can expect that.
    #[inline(never)]
    pub fn guess_steps(&self, turn: &Guessed) -> Result<(Steps, Token), Fault> {
        let claim = self.new_claim()?;
        let token = claim.token.clone();
        let found = resp::text(&turn.found);
        let if_wrong = match turn.takes {
            true => IfWrong::Takes,
            false => IfWrong::Leaves,
        };
        let guess = turn.guess(found.as_deref().unwrap_or_default(), if_wrong);
        let lock = self.without(turn.sent);
        let guessing = found.as_ref().and_then(|_| lock.guessing(claim, &guess));
        let guessing = guessing.ok_or_else(|| Fault::invalid("nobody can expect that"))?;
        let steps = Steps::new(&self.host, Ok(guessing), turned);
        Ok((steps, token))
    }

    /// As [`Lock::try_acquire_and_read`], and without reads as [`Lock::try_acquire`].
    pub fn try_and_read_steps(&self, reads: &[Command]) -> Steps {
        Steps::new(&self.host, self.trying(reads), taken)
    }

    /// Whether a lease of it could have these run.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if not.
    pub fn checked_writes(&self, writes: &[Command]) -> Result<(), Fault> {
        self.settings.check_writes(writes)
    }

    /// As [`Lock::inspect`].
    pub fn inspect_steps(&self) -> Steps {
        Steps::new(&self.host, self.inspecting(), |_, settled| {
            Ok(Came::Found(settled.outcome?.inspection()?))
        })
    }

    /// As [`Lock::force_release`].
    pub fn force_release_steps(&self) -> Steps {
        Steps::new(&self.host, self.operating(Call::force_release), |_, settled| {
            Ok(Came::Flag(settled.outcome?.done()?))
        })
    }

    /// As [`Lock::resume`].
    ///
    /// # Errors
    /// As there.
    pub fn resume_held(&self, token: Token) -> Result<Held, Fault> {
        let hold = self.resumed(token)?.into();
        let place = self.host.clone();
        Ok(Held { place, hold })
    }
}

#[doc(hidden)]
impl Once<Sent, Outside> {
    /// The same, with other options of its lock.
    #[must_use]
    pub fn under(self, set: impl FnOnce(Lock<Sent, Outside>) -> Lock<Sent, Outside>) -> Self {
        self.of(set)
    }

    /// Comes before the work. The outcome is the lease under which to do it, or the kept result.
    pub fn begin_steps(&self) -> Steps {
        Steps::new(&self.lock.host, self.beginning(), taken)
    }

    /// As [`Once::forget`].
    pub fn forget_steps(&self) -> Steps {
        Steps::new(&self.lock.host, self.lock.operating(Call::forget), |_, settled| {
            Ok(Came::Flag(settled.outcome?.done()?))
        })
    }

    /// What comes behind the work: stores `result`, and gives the lease back.
    ///
    /// # Errors
    /// [`Error::ResultTooLarge`].
    pub fn store(&self, held: &Held, result: &str) -> Result<Steps, Fault> {
        let store = self.storing(result)?;
        Ok(held.write(Writes::Commit(vec![store])))
    }
}

#[doc(hidden)]
impl Cached<Sent, Outside> {
    /// The work whose result it keeps.
    pub fn into_once(self) -> Once<Sent, Outside> {
        self.0
    }
}

#[doc(hidden)]
impl Throttle<Sent, Outside> {
    /// As [`Throttle::try_pass`]: for how long no other passes, or `None` if this call did.
    pub fn try_pass_steps(&self) -> Steps {
        Steps::new(&self.lock.host, self.passing(), |_, left| left.map(Came::Time))
    }
}

#[doc(hidden)]
impl Debounce<Sent, Outside> {
    /// What comes before the work: whether it is to be done.
    pub fn settle_steps(&self) -> Steps {
        Steps::new(&self.lock.host, self.settling(), |_, settled| settled.map(Came::Flag))
    }
}

/// A turn that was decided by what its reads are expected to find.
pub struct Guessed {
    /// How many requests were sent for it before.
    pub sent: u32,
    /// What it reads.
    pub reads: Vec<Command>,
    /// What that is expected to find.
    pub found: Vec<Reply>,
    /// What it then writes.
    pub writes: Vec<Command>,
    /// Until when, by Redis's clock.
    pub until_us: u64,
    /// Of so many of these, which come last and only read, the next holder is told.
    pub told: u32,
    /// Whether it takes the lock if they find something else.
    pub takes: bool,
}

impl Guessed {
    fn guess<'a>(&'a self, found: &'a str, if_wrong: IfWrong) -> script::Guess<'a> {
        script::Guess {
            reads: &self.reads,
            found,
            writes: &self.writes,
            told: self.told as usize,
            until_us: self.until_us,
            if_wrong,
        }
    }
}

/// What a turn of one request comes to.
fn turned(place: &JsHost, ran: Result<RunOrLock, Fault>) -> Outcome {
    match ran? {
        RunOrLock::Ran { fence, replies } => Ok(Came::Turn(Some(fence), None, replies)),
        RunOrLock::Lock(granted) => taken(place, Ok(Taken::Lock(*granted))),
        RunOrLock::Missed { redis_us, replies, requests } => {
            Ok(Came::Turn(Some(redis_us), Some(requests), replies))
        }
        RunOrLock::Held(requests) => Ok(Came::Turn(None, Some(requests), Vec::new())),
    }
}

/// What an acquisition comes to.
fn taken(place: &JsHost, taken: Result<Taken, Fault>) -> Outcome {
    Ok(match taken? {
        Taken::Lock(granted) => {
            let (held, replies) = Held::by(place, granted);
            Came::Taken(Some(held), replies)
        }
        Taken::Result(kept) => Came::Kept(kept),
        Taken::Held(replies) => Came::Taken(None, replies),
    })
}

impl Held {
    /// Writes under it.
    pub fn write(&self, writes: Writes) -> Steps {
        let write = Write::new(self.hold.clone(), writes);
        Steps::new(&self.place, Ok(write), |_, written| written.map(Came::Replies))
    }

    /// Has it kept by one at a time, until [`Held::quit_keeping`].
    ///
    /// # Errors
    /// As [`Lease::run`](crate::Lease::run), with the work not begun.
    pub fn start_keeping(&self) -> Result<(), Fault> {
        self.hold.start_keeping()
    }

    /// Nobody keeps it any more.
    pub fn quit_keeping(&self) {
        self.hold.quit_keeping();
    }

    /// Before the work: comes to until when it is kept at most, as [`Held::keep`] takes it.
    pub fn begin_keeping(&self, max_hold: Option<Duration>) -> Steps {
        let begin = BeginKeeping::new(self.hold.clone(), max_hold);
        Steps::new(&self.place, Ok(begin), |_, until| {
            let until = until?.since(ORIGIN);
            let micros = until.as_secs().saturating_mul(1_000_000);
            let micros = micros.saturating_add(until.subsec_micros().into());
            Ok(Came::Number(micros.min(LATEST)))
        })
    }

    /// Runs beside the work. The outcome is a number: why there is nothing left to keep, or 0 if
    /// the lease was given back.
    pub fn keep(&self, until: u64) -> Steps {
        let keep = Keep::new(self.hold.clone(), ORIGIN + Duration::from_micros(until));
        Steps::new(&self.place, Ok(keep), |_, why| {
            let at = STOPPED.iter().position(|stopped| *stopped == why);
            Ok(Came::Number(at.map_or(0, |at| at as u64 + 1)))
        })
    }

    /// Behind the work, which ended if `why` is 0, and was else stopped because of that.
    pub fn end_keeping(&self, why: u64) -> Steps {
        let at = usize::try_from(why).unwrap_or_default().checked_sub(1);
        let stopped = at.and_then(|at| STOPPED.get(at)).copied();
        let end = EndKeeping::new(self.hold.clone(), stopped);
        Steps::new(&self.place, Ok(end), |_, ended| ended.map(|()| Came::Done))
    }

    /// As [`Lease::hand_over`](crate::Lease::hand_over).
    ///
    /// # Errors
    /// As there.
    pub fn hand_over(&self) -> Result<Token, Fault> {
        let runtime = &self.place.runtime;
        self.hold.hand_over(runtime, runtime.now())
    }

    /// What gives it back in the background, if there is anything to give back.
    pub fn give_back(&self) -> Option<Steps> {
        let release = self.hold.give_back()?;
        Some(Steps::silent(&self.place, Box::new(release)))
    }

    /// As [`Lock::guess_steps`], under a lock that was handed over. If it `takes`, nobody else may
    /// go on with its token from now on.
    ///
    /// # Errors
    /// [`Error::Lost`] if somebody does already.
    #[inline(never)]
    pub fn turn_steps(&self, turn: &Guessed) -> Result<Steps, Fault> {
        let claim = self.hold.claim.clone();
        if turn.takes && !claim.use_up() {
            return Err(Why::Lost.about(claim.shown()));
        }
        let found = resp::text(&turn.found).unwrap_or_default();
        let guess = turn.guess(&found, IfWrong::Keeps);
        let call = Call::turn(claim.subject(), claim.ttl(), &guess);
        let call = call.ok_or_else(|| Fault::invalid("it has no such turns"))?;
        let running = RunGuess::new(claim, call, &guess, u32::MAX);
        Ok(Steps::new(&self.place, Ok(running), turned))
    }
}

/// The reasons for which a lease may be taken from its work.
const STOPPED: [Why; 3] = [Why::Lost, Why::Expired, Why::MaxHoldExceeded];

const ORIGIN: Instant = Instant::from_origin(Duration::ZERO);

/// The largest whole number that JavaScript hands back as it is: centuries.
const LATEST: u64 = (1 << 53) - 1;
