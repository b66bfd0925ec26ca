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

use crate::day::Day;
use crate::input::Id;
use crate::problem::Problem;
use crate::reply::{now_ms, whole};

pub(crate) const MOST_ENTRANTS: u64 = 1_000_000;

const KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// How many locks the entrants of a lottery share. Each leaves a fence behind, so a lock for each
/// entrant would leave a million.
const ENTRANCES: u32 = 4096;

/// How many entrants are read at once. With 64 bytes each, that is a twentieth of the largest
/// answer.
const PAGE: u64 = 500;

/// The keys of one day's lottery.
pub(crate) struct Tickets {
    lottery: String,
    entrants: String,
    entered: String,
    drawn: String,
}

/// A draw in its stored form. A day has one, and its fence tells which of several attempts it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) fence: u64,
    pub(crate) at_ms: u64,
    /// In the order in which they were drawn.
    pub(crate) winners: Vec<String>,
}

/// What [`Tickets::read`] found.
#[derive(Debug)]
pub(crate) struct LotteryNow {
    pub(crate) drawn: Option<Drawn>,
    /// Redis's clock, the same for all Workers.
    pub(crate) now_ms: u64,
    pub(crate) entrants: u64,
}

impl Tickets {
    pub(crate) fn of(day: Day) -> Self {
        let lottery = format!("lottery:{{{day}}}");
        Self {
            entrants: format!("{lottery}:entrants"),
            entered: format!("{lottery}:entered"),
            drawn: format!("{lottery}:drawn"),
            lottery,
        }
    }

    /// The lock under which the lottery is drawn.
    pub(crate) fn draw_lock_name(&self) -> String {
        format!("{}:draw:lock", self.lottery)
    }

    /// The lock under which this entrant enters. Few entrants share one, so they seldom wait for
    /// each other.
    pub(crate) fn entrance_lock_name(&self, entrant: &Id) -> String {
        let entrance = fnv_1a(entrant.as_str()) % ENTRANCES;
        format!("{}:entrance:{entrance}:lock", self.lottery)
    }

    pub(crate) fn read(&self) -> Vec<Command> {
        let drawn = Command::new("HMGET").key(&self.drawn);
        let drawn = ["fence", "at_ms", "winners"]
            .into_iter()
            .fold(drawn, Command::arg);
        let entrants = Command::new("LLEN").key(&self.entrants);
        vec![drawn, Command::new("TIME"), entrants]
    }

    pub(crate) fn read_with(&self, entrant: &Id) -> Vec<Command> {
        let mut reads = self.read();
        reads.push(Command::new("HGET").key(&self.entered).arg(entrant));
        reads
    }

    /// Lets `entrant` take part in a draw at `draw_at_ms`, unless there are then more than
    /// [`MOST_ENTRANTS`]. There were `entrants` before. [`let_in`] says whether it did.
    pub(crate) fn enter(&self, entrant: &Id, entrants: u64, draw_at_ms: u64) -> Vec<Command> {
        let list = |command| Command::new(command).key(&self.entrants);
        let entered = Command::new("HSET").key(&self.entered).arg(entrant);
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
    pub(crate) fn page(&self, from: u64) -> Command {
        let page = Command::new("LRANGE").key(&self.entrants).arg(from);
        page.arg(from.saturating_add(PAGE - 1))
    }

    /// The entrants at these places.
    pub(crate) fn at(&self, places: &[u64]) -> Vec<Command> {
        let at = |place| Command::new("LINDEX").key(&self.entrants).arg(place);
        places.iter().map(at).collect()
    }

    /// Records the draw.
    pub(crate) fn record(&self, drawn: &Drawn) -> Vec<Command> {
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
pub(crate) fn let_in(replies: &[Reply]) -> Result<bool, Problem> {
    let place = replies.first().and_then(whole);
    Ok(place.ok_or_else(Problem::corrupt)? <= MOST_ENTRANTS)
}

/// Entrants by name.
///
/// # Errors
/// [`Problem::corrupt`] if `replies` has anything else.
pub(crate) fn names(replies: &[Reply]) -> Result<Vec<String>, Problem> {
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
    pub(crate) fn parse(replies: &[Reply]) -> Result<Self, Problem> {
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
    pub(crate) fn parse_with(replies: &[Reply]) -> Result<(Self, Option<u64>), Problem> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Reply {
        Reply::Bytes(text.into())
    }

    fn time() -> Reply {
        Reply::Array(vec![text("1"), text("2000")])
    }

    #[test]
    fn every_key_of_a_lottery_has_its_day_as_hash_tag() {
        let day = Day::parse("2026-11-21").unwrap();
        let ann = Id::parse("ann").unwrap();
        let tickets = Tickets::of(day);
        let drawn = Drawn {
            fence: 1,
            at_ms: 1,
            winners: Vec::new(),
        };
        let mut commands = tickets.read_with(&ann);
        commands.push(tickets.page(0));
        commands.extend(tickets.at(&[0]));
        commands.extend(tickets.enter(&ann, 0, 1));
        commands.extend(tickets.record(&drawn));
        let mut keys: Vec<_> = commands.iter().flat_map(Command::keys).collect();
        let locks = [tickets.draw_lock_name(), tickets.entrance_lock_name(&ann)];
        keys.extend(locks.iter().map(String::as_str));
        for key in keys {
            assert!(key.starts_with("lottery:{2026-11-21}:"), "{key}");
        }
    }

    #[test]
    fn a_draw_is_read_as_it_was_written() {
        let day = Day::parse("2026-11-21").unwrap();
        for winners in [vec![], vec!["zoe".to_owned(), "ann".to_owned()]] {
            let drawn = Drawn {
                fence: 7,
                at_ms: 8,
                winners,
            };
            let [record, ..] = &Tickets::of(day).record(&drawn)[..] else {
                panic!("nothing is recorded");
            };
            let values = record.args()[3..].iter().step_by(2);
            let reply = Reply::Array(values.map(|value| text(value)).collect());
            assert_eq!(Drawn::parse(&reply).unwrap(), Some(drawn));
        }
    }

    #[test]
    fn a_draw_is_there_as_a_whole_or_not_at_all() {
        let none = Reply::Array(vec![Reply::Nil; 3]);
        let now = LotteryNow::parse(&[none.clone(), time(), Reply::Int(3)]).unwrap();
        assert_eq!((now.drawn, now.now_ms, now.entrants), (None, 1_002, 3));
        let partly = Reply::Array(vec![text("1"), Reply::Nil, text("ann")]);
        for corrupt in [partly, Reply::Array(vec![text("1")]), Reply::Nil, text("1")] {
            let replies = [corrupt, time(), Reply::Int(3)];
            assert!(LotteryNow::parse(&replies).is_err(), "{replies:?}");
        }
        assert!(LotteryNow::parse(&[]).is_err());
        assert!(LotteryNow::parse_with(&[]).is_err());
        let entered = |reply| LotteryNow::parse_with(&[none.clone(), time(), Reply::Int(3), reply]);
        assert_eq!(entered(Reply::Nil).unwrap().1, None);
        assert_eq!(entered(text("2")).unwrap().1, Some(2));
        assert!(entered(text("ann")).is_err());
        assert!(names(&[text("ann"), Reply::Nil]).is_err());
    }

    #[test]
    fn the_millionth_is_let_in_and_nobody_behind() {
        let place = |place| let_in(&[Reply::Int(place), text("OK")]);
        assert!(place(1).unwrap() && place(1_000_000).unwrap());
        assert!(!place(1_000_001).unwrap());
        assert!(let_in(&[]).is_err() && let_in(&[text("OK")]).is_err());
    }

    #[test]
    fn entrants_share_some_thousand_locks_evenly() {
        let tickets = Tickets::of(Day::parse("2026-11-21").unwrap());
        let mut locks = std::collections::BTreeMap::new();
        for n in 0..100_000 {
            let entrant = Id::parse(&format!("entrant{n}")).unwrap();
            *locks
                .entry(tickets.entrance_lock_name(&entrant))
                .or_insert(0) += 1;
        }
        assert!((4_000..=4_096).contains(&locks.len()), "{}", locks.len());
        assert!(locks.values().all(|entrants| *entrants < 100), "{locks:?}");
    }
}
