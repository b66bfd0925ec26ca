//! How a lottery is stored in Redis. The only file that knows its keys.
//!
//! - `lottery:{day}:entrants` is the list of entrants, in the order in which they entered: up to a
//!   million, since each entry cuts off what is beyond.
//! - `lottery:{day}:entered` is a hash that finds each of them there: entrant → how long the list
//!   was before.
//! - `lottery:{day}:drawn` is a hash of the winners and the fence. It exists once the lottery was
//!   drawn.
//!
//! All share the day as hash tag, and so the slot of a cluster. All expire a week after the draw.

use edgelock::{Command, Reply};
use shared::body::Id;
use shared::problem::Problem;
use shared::reply::{now_ms, whole};

use crate::day::Day;

pub const MOST_ENTRANTS: u64 = 1_000_000;

const KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// How many locks the entrants of a lottery share. Each leaves a fence behind, so a lock for each
/// entrant would leave a million.
const ENTRANCES: u32 = 4096;

/// How many entrants are read at once. With 64 bytes each, that is a twentieth of the largest
/// answer.
const PAGE: u64 = 500;

/// The keys of one day's lottery.
pub struct Tickets {
    lottery: String,
    entrants: String,
    entered: String,
    drawn: String,
}

/// A draw in its stored form. A day has one, and its fence tells which of several attempts it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    pub fence: u64,
    pub at_ms: u64,
    /// In the order in which they were drawn.
    pub winners: Vec<String>,
}

/// What [`Tickets::read`] found.
#[derive(Debug)]
pub struct LotteryNow {
    pub drawn: Option<Drawn>,
    /// Redis's clock, the same for all Workers.
    pub now_ms: u64,
    pub entrants: u64,
}

impl Tickets {
    pub fn of(day: Day) -> Self {
        let lottery = format!("lottery:{{{day}}}");
        Self {
            entrants: format!("{lottery}:entrants"),
            entered: format!("{lottery}:entered"),
            drawn: format!("{lottery}:drawn"),
            lottery,
        }
    }

    /// The lock under which the lottery is drawn.
    pub fn draw_lock_name(&self) -> String {
        format!("{}:draw:lock", self.lottery)
    }

    /// The lock under which this entrant enters. Few entrants share one, so they seldom wait for
    /// each other.
    pub fn entrance_lock_name(&self, entrant: &Id) -> String {
        let entrance = fnv_1a(entrant.as_str()) % ENTRANCES;
        format!("{}:entrance:{entrance}:lock", self.lottery)
    }

    pub fn read(&self) -> Vec<Command> {
        let drawn = Command::new("HMGET").key(&self.drawn);
        let drawn = ["fence", "at_ms", "winners"].into_iter().fold(drawn, Command::arg);
        let entrants = Command::new("LLEN").key(&self.entrants);
        vec![drawn, Command::new("TIME"), entrants]
    }

    pub fn read_with(&self, entrant: &Id) -> Vec<Command> {
        let mut reads = self.read();
        reads.push(Command::new("HGET").key(&self.entered).arg(entrant));
        reads
    }

    /// Lets `entrant` take part in a draw at `draw_at_ms`, unless there are then more than
    /// [`MOST_ENTRANTS`]. There were `entrants` before. [`let_in`] says whether it did.
    pub fn enter(&self, entrant: &Id, entrants: u64, draw_at_ms: u64) -> Vec<Command> {
        let list = |command| Command::new(command).key(&self.entrants);
        let entered = Command::new("HSET").key(&self.entered).arg(entrant.as_str());
        let expire = |key| {
            let at_ms = draw_at_ms.saturating_add(KEPT_MS);
            Command::new("PEXPIREAT").key(key).arg(at_ms)
        };
        vec![
            list("RPUSH").arg(entrant),
            list("LTRIM").arg(0).arg(MOST_ENTRANTS - 1),
            entered.arg(entrants),
            expire(&self.entrants),
            expire(&self.entered),
        ]
    }

    /// A page of the entrants, in order, from a place on.
    pub fn page(&self, from: u64) -> Command {
        let page = Command::new("LRANGE").key(&self.entrants).arg(from);
        page.arg(from.saturating_add(PAGE - 1))
    }

    /// The entrants at these places.
    pub fn at(&self, places: &[u64]) -> Vec<Command> {
        let at = |place| Command::new("LINDEX").key(&self.entrants).arg(place);
        places.iter().map(at).collect()
    }

    /// Records the draw.
    pub fn record(&self, drawn: &Drawn) -> Vec<Command> {
        let record = Command::new("HSET")
            .key(&self.drawn)
            .arg("fence")
            .arg(drawn.fence)
            .arg("at_ms")
            .arg(drawn.at_ms)
            .arg("winners")
            .arg(drawn.winners.join(" "));
        let expire = |key| Command::new("PEXPIRE").key(key).arg(KEPT_MS);
        let keys = [&self.drawn, &self.entrants, &self.entered];
        std::iter::once(record).chain(keys.map(expire)).collect()
    }
}

/// Whether the commands of [`Tickets::enter`] let the entrant in.
///
/// # Errors
/// [`Problem::corrupt`] if these are not their replies.
pub fn let_in(replies: &[Reply]) -> Result<bool, Problem> {
    let place = replies.first().and_then(whole);
    Ok(place.ok_or_else(Problem::corrupt)? <= MOST_ENTRANTS)
}

/// Entrants by name.
///
/// # Errors
/// [`Problem::corrupt`] if `replies` has anything else.
pub fn names(replies: &[Reply]) -> Result<Vec<String>, Problem> {
    let name = |reply: &Reply| reply.as_str().map(str::to_owned);
    let names: Option<_> = replies.iter().map(name).collect();
    names.ok_or_else(Problem::corrupt)
}

/// <http://www.isthe.com/chongo/tech/comp/fnv/>
fn fnv_1a(text: &str) -> u32 {
    let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

impl LotteryNow {
    /// # Errors
    /// [`Problem::corrupt`] if the replies are not those of a lottery that this file wrote.
    pub fn parse(replies: &[Reply]) -> Result<Self, Problem> {
        let [drawn, time, entrants, ..] = replies else {
            return Err(Problem::corrupt());
        };
        Ok(Self {
            drawn: Drawn::parse(drawn)?,
            now_ms: now_ms(time).ok_or_else(Problem::corrupt)?,
            entrants: whole(entrants).ok_or_else(Problem::corrupt)?,
        })
    }

    /// As [`LotteryNow::parse`], for [`Tickets::read_with`]. If the entrant entered, it also has
    /// how many entrants there were before.
    pub fn parse_with(replies: &[Reply]) -> Result<(Self, Option<u64>), Problem> {
        let [.., entered] = replies else {
            return Err(Problem::corrupt());
        };
        let now = Self::parse(replies)?;
        if entered.is_nil() {
            return Ok((now, None));
        }
        let before = whole(entered).ok_or_else(Problem::corrupt)?;
        Ok((now, Some(before)))
    }
}

impl Drawn {
    fn parse(record: &Reply) -> Result<Option<Self>, Problem> {
        let fields = record.as_array().ok_or_else(Problem::corrupt)?;
        if fields.iter().all(Reply::is_nil) {
            return Ok(None);
        }
        let [fence, at_ms, winners] = fields else {
            return Err(Problem::corrupt());
        };
        let drawn = || {
            let winners = winners.as_str()?.split_ascii_whitespace();
            Some(Self {
                fence: whole(fence)?,
                at_ms: whole(at_ms)?,
                winners: winners.map(str::to_owned).collect(),
            })
        };
        drawn().map(Some).ok_or_else(Problem::corrupt)
    }
}
