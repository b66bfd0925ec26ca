//! How many replicas must have a lock before it counts as held.

use std::time::Duration;

use crate::command::Reply;
use crate::error::{Error, Fault};
use crate::ttl;

const LONGEST: Duration = Duration::from_secs(60);

/// What a server says to a wait if it became a replica meanwhile, or before. That passes, as a
/// fail-over does.
const OF_A_REPLICA: [&str; 2] = ["UNBLOCKED", "ERR WAIT cannot be used with replica"];

/// How many must acknowledge a write, and within what time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replicas {
    count: u32,
    within: Duration,
}

impl Replicas {
    pub(crate) fn new(count: u32, within: Duration) -> Result<Self, Fault> {
        // Redis takes 0 for "for ever".
        Fault::unless(
            count > 0 && ttl::is_valid(within, ttl::SHORTEST..=LONGEST),
            format_args!(
                "a wait for replicas is for 1 or more of them, within 1 ms to 60 s, in whole milliseconds, not for {count} within {}",
                ttl::Shown(within)
            ),
        )?;
        Ok(Self { count, within })
    }

    pub(crate) const fn within(&self) -> Duration {
        self.within
    }

    /// The command that waits for all that its connection wrote.
    pub(crate) fn wait(&self) -> [String; 3] {
        let ms = self.within.as_millis() as u64;
        ["WAIT".to_owned(), self.count.to_string(), ms.to_string()]
    }

    /// Whether enough have acknowledged, from `WAIT`'s answer behind a write that was executed.
    pub(crate) fn check(&self, answer: &Reply) -> Result<(), Fault> {
        let acknowledged = match answer {
            Reply::Int(count) => u32::try_from(*count).ok(),
            Reply::Error(message) if OF_A_REPLICA.iter().any(|said| message.starts_with(said)) => {
                return Err(Fault::unavailable(message.clone(), true));
            }
            Reply::Error(message) => {
                return Err(Fault::refused(message.clone(), true));
            }
            _ => None,
        };
        match acknowledged {
            Some(count) if count >= self.count => Ok(()),
            Some(acknowledged) => Err(Fault::from(Error::NotReplicated {
                // The call fills it in.
                lock: String::new(),
                asked: self.count,
                acknowledged,
                can_repeat: false,
            })),
            None => Err(Fault::unexpected("not a number of replicas")),
        }
    }
}
