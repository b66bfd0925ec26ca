//! What goes wrong in a case. It is drawn from the seed.

use super::rng::Rng;
use super::world::{MS, Time};

/// What happens to messages. Rates are in thousandths.
#[derive(Clone, Copy, Default)]
pub(crate) struct Net {
    /// How long one way takes, at least and at most.
    pub(crate) least: Time,
    pub(crate) latency: Time,
    pub(crate) lose_request: u64,
    pub(crate) lose_reply: u64,
    pub(crate) duplicate: u64,
    pub(crate) late: u64,
    /// The reply is that of another request.
    pub(crate) cross: u64,
    /// The request is executed, but the bridge answers with an error of its own.
    pub(crate) fail: u64,
    /// The bridge refuses the request.
    pub(crate) refuse: u64,
    /// The bridge is too busy, and says when to come back.
    pub(crate) shed: u64,
    /// Replicas are behind the primary.
    pub(crate) lag: u64,
    pub(crate) lose_push: u64,
    pub(crate) late_push: u64,
    /// A client that stopped listening still counts as a listener.
    pub(crate) half_open: u64,
    /// A client listens at another node of the cluster than the one that has the lock.
    pub(crate) elsewhere: u64,
}

/// The latest that a message arrives. Receipts, and the marks of abandoned tokens, live longer.
const LATEST: Time = 15_000 * MS;

impl Net {
    /// The network after faults have stopped.
    pub(crate) const QUIET: Self = Self {
        least: MS,
        latency: 4 * MS,
        lose_request: 0,
        lose_reply: 0,
        duplicate: 0,
        late: 0,
        cross: 0,
        fail: 0,
        refuse: 0,
        shed: 0,
        lag: 0,
        lose_push: 0,
        late_push: 0,
        half_open: 0,
        elsewhere: 0,
    };

    pub(crate) fn draw(rng: &Rng) -> Self {
        let rate = || match rng.chance(400) {
            true => rng.pick(&[20, 60, 200]),
            false => 0,
        };
        let latency = rng.pick(&[2 * MS, 10 * MS, 40 * MS]);
        Self {
            least: latency / 4,
            latency,
            lose_request: rate(),
            lose_reply: rate(),
            duplicate: rate(),
            late: rate(),
            cross: rate() / 2,
            fail: rate() / 2,
            refuse: rate() / 2,
            shed: rate() / 2,
            lag: rate(),
            lose_push: rate(),
            late_push: rate(),
            half_open: rate() * 3,
            elsewhere: rate() * 2,
        }
    }

    pub(crate) fn delay(&self, rng: &Rng) -> Time {
        self.or_late(rng, self.late)
    }

    pub(crate) fn push_delay(&self, rng: &Rng) -> Time {
        self.or_late(rng, self.late_push)
    }

    fn or_late(&self, rng: &Rng, rate: u64) -> Time {
        if rng.chance(rate) {
            // Mostly about as late as leases last.
            let latest = rng.pick(&[100 * MS, 1_000 * MS, 4_000 * MS, LATEST]);
            rng.between(self.latency, latest)
        } else {
            rng.between(self.least, self.latency)
        }
    }
}

/// What happens to clients, the bridge and Redis.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Upset {
    /// A client stands still while its clock goes on.
    Pause {
        client: usize,
        time: Time,
    },
    /// A client dies without giving anything back.
    Crash {
        client: usize,
    },
    /// The bridge restarts: streams end, answers under way are lost, and it is away for a while.
    BridgeRestart {
        time: Time,
    },
    /// Redis restarts with its data, but without its scripts.
    RedisRestart {
        time: Time,
    },
    ScriptFlush,
    /// Redis loses all its data.
    DataLoss,
    /// A replica takes over that is this far behind.
    FailOver {
        behind: Time,
    },
    /// Redis's clock is set back.
    ClockBack {
        by: Time,
    },
}

/// All that goes wrong in one case.
pub(crate) struct Plan {
    pub(crate) net: Net,
    pub(crate) upsets: Vec<(Time, Upset)>,
    /// When faults stop.
    pub(crate) heal: Time,
}

impl Plan {
    pub(crate) fn draw(rng: &Rng, clients: usize, is_replicated: bool) -> Self {
        let heal = rng.pick(&[1_000 * MS, 4_000 * MS, 8_000 * MS]);
        // Fences grow across a loss of data only if the clock was not set back.
        let loss = match rng.chance(400) {
            _ if is_replicated => Loss::FailOvers,
            true => Loss::Any,
            false => Loss::None,
        };
        let count = rng.between(0, 5);
        let upsets =
            (0..count).map(|_| (rng.between(0, heal), Upset::draw(rng, clients, loss))).collect();
        let net = Net::draw(rng);
        Self { net, upsets, heal }
    }

    /// The same plan, so many times slower. Messages stay as fast, and Redis forgets as soon.
    pub(crate) fn at_pace(self, pace: u64) -> Self {
        let slower = |upset| match upset {
            Upset::Pause { client, time } => Upset::Pause { client, time: time * pace },
            Upset::BridgeRestart { time } => Upset::BridgeRestart { time: time * pace },
            Upset::RedisRestart { time } => Upset::RedisRestart { time: time * pace },
            upset => upset,
        };
        let upsets = self.upsets.into_iter();
        Self {
            net: self.net,
            upsets: upsets.map(|(at, upset)| (at * pace, slower(upset))).collect(),
            heal: self.heal * pace,
        }
    }
}

/// Which data Redis may lose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    None,
    /// What a replica that takes over has not received.
    FailOvers,
    Any,
}

impl Upset {
    fn draw(rng: &Rng, clients: usize, loss: Loss) -> Self {
        let time = rng.pick(&[20 * MS, 300 * MS, 2_500 * MS]);
        let client = rng.between(0, clients as u64 - 1) as usize;
        match rng.between(0, 9) {
            0..=3 if loss == Loss::FailOvers => Self::FailOver { behind: time },
            0..=3 => Self::Pause { client, time },
            4 => Self::Crash { client },
            5 => Self::BridgeRestart { time: time / 4 },
            6 => Self::RedisRestart { time: time / 4 },
            7 => Self::ScriptFlush,
            8 if loss == Loss::Any => Self::DataLoss,
            _ if loss != Loss::None => Self::FailOver { behind: time },
            _ => Self::ClockBack { by: time / 10 },
        }
    }
}
