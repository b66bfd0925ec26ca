//! How a lottery lies in Redis. The only room that knows its keys.
//!
//! `lottery:{day}:entrants` is the set of who takes part, `lottery:{day}:drawn` a hash of who won and under which fence, and is
//! there once it was drawn. Both share the day as hash tag, and with it the slot of a cluster, and expire a week after the draw.

use edgelock::{Command, Reply};

use crate::day::Day;
use crate::input::Id;
use crate::problem::Problem;
use crate::reply::{now_ms, whole};

const KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// The keys of one day's lottery.
pub(crate) struct Tickets {
    lottery: String,
    entrants: String,
    drawn: String,
}

/// A draw as it is recorded. There is one of a day, and its fence says which of those who tried it was.
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

/// What [`Tickets::read_all`] found.
#[derive(Debug)]
pub(crate) struct Drum {
    pub(crate) drawn: Option<Drawn>,
    pub(crate) now_ms: u64,
    /// Sorted, since Redis has them in no order.
    pub(crate) entrants: Vec<String>,
}

impl Tickets {
    pub(crate) fn of(day: Day) -> Self {
        let lottery = format!("lottery:{{{day}}}");
        Self {
            entrants: format!("{lottery}:entrants"),
            drawn: format!("{lottery}:drawn"),
            lottery,
        }
    }

    /// Who has it draws.
    pub(crate) fn draw_lock_name(&self) -> String {
        format!("{}:draw:lock", self.lottery)
    }

    /// Who has it lets this entrant in: entrants do not wait for each other.
    pub(crate) fn entrant_lock_name(&self, entrant: &Id) -> String {
        format!("{}:entrant:{entrant}:lock", self.lottery)
    }

    pub(crate) fn read(&self) -> Vec<Command> {
        let [drawn, time] = self.read_drawn();
        vec![drawn, time, Command::new("SCARD").key(&self.entrants)]
    }

    pub(crate) fn read_with(&self, entrant: &Id) -> Vec<Command> {
        let mut reads = self.read();
        let is_in = Command::new("SISMEMBER").key(&self.entrants).arg(entrant);
        reads.push(is_in);
        reads
    }

    pub(crate) fn read_all(&self) -> Vec<Command> {
        let [drawn, time] = self.read_drawn();
        vec![drawn, time, Command::new("SMEMBERS").key(&self.entrants)]
    }

    fn read_drawn(&self) -> [Command; 2] {
        let drawn = Command::new("HMGET").key(&self.drawn);
        let drawn = ["fence", "at_ms", "winners"]
            .into_iter()
            .fold(drawn, Command::arg);
        [drawn, Command::new("TIME")]
    }

    /// Lets `entrant` take part in a draw at `draw_at_ms`.
    pub(crate) fn enter(&self, entrant: &Id, draw_at_ms: u64) -> Vec<Command> {
        let expire = Command::new("PEXPIREAT")
            .key(&self.entrants)
            .arg(draw_at_ms.saturating_add(KEPT_MS));
        vec![
            Command::new("SADD").key(&self.entrants).arg(entrant),
            expire,
        ]
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
        vec![record, expire(&self.drawn), expire(&self.entrants)]
    }
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

    /// As [`LotteryNow::parse`], for [`Tickets::read_with`]: and whether the entrant takes part.
    pub(crate) fn parse_with(replies: &[Reply]) -> Result<(Self, bool), Problem> {
        let is_in = replies.last().ok_or_else(Problem::corrupt)?;
        Ok((Self::parse(replies)?, *is_in == Reply::Int(1)))
    }
}

impl Drum {
    /// # Errors
    /// As [`LotteryNow::parse`].
    pub(crate) fn parse(replies: &[Reply]) -> Result<Self, Problem> {
        let [drawn, time, entrants] = replies else {
            return Err(Problem::corrupt());
        };
        let entrants = entrants.array().ok_or_else(Problem::corrupt)?;
        let entrants: Option<Vec<_>> = entrants
            .iter()
            .map(|entrant| entrant.text().map(str::to_owned))
            .collect();
        let mut entrants = entrants.ok_or_else(Problem::corrupt)?;
        entrants.sort_unstable();
        Ok(Self {
            drawn: Drawn::parse(drawn)?,
            now_ms: now_ms(time).ok_or_else(Problem::corrupt)?,
            entrants,
        })
    }
}

impl Drawn {
    fn parse(record: &Reply) -> Result<Option<Self>, Problem> {
        let fields = record.array().ok_or_else(Problem::corrupt)?;
        if fields.iter().all(Reply::is_nil) {
            return Ok(None);
        }
        let [fence, at_ms, winners] = fields else {
            return Err(Problem::corrupt());
        };
        let drawn = || {
            let winners = winners.text()?.split_ascii_whitespace();
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
        Reply::Text(text.into())
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
        commands.extend(tickets.read_all());
        commands.extend(tickets.enter(&ann, 1));
        commands.extend(tickets.record(&drawn));
        let mut keys: Vec<_> = commands.iter().flat_map(Command::keys).collect();
        let locks = [tickets.draw_lock_name(), tickets.entrant_lock_name(&ann)];
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
            let values = record.words()[3..].iter().step_by(2);
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
        assert!(Drum::parse(&[none, time(), text("ann")]).is_err());
    }

    #[test]
    fn the_order_in_which_redis_has_the_entrants_does_not_matter() {
        let none = Reply::Array(vec![Reply::Nil; 3]);
        let entrants = Reply::Array(["zoe", "ann", "bob"].map(text).to_vec());
        let drum = Drum::parse(&[none, time(), entrants]).unwrap();
        assert_eq!(drum.entrants, ["ann", "bob", "zoe"]);
    }
}
