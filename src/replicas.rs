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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_wait_for_nobody_or_for_ever_is_refused() {
        for (count, within) in [
            (0, SECOND),
            (1, Duration::ZERO),
            (1, Duration::from_micros(999)),
            (1, Duration::from_micros(10_500)),
            (1, LONGEST + SECOND),
        ] {
            let error = Replicas::new(count, within).unwrap_err();
            assert_eq!(error.code(), "invalid_argument");
        }
        let replicas = Replicas::new(2, SECOND).unwrap();
        assert_eq!(replicas.wait(), ["WAIT", "2", "1000"]);
    }

    #[test]
    fn an_answer_is_enough_or_not_or_unknown() {
        let check = |answer: Reply| Replicas::new(2, SECOND).unwrap().check(&answer);
        assert_eq!(check(Reply::Int(2)), Ok(()));
        assert_eq!(check(Reply::Int(3)), Ok(()));
        let few = Fault::from(Error::NotReplicated {
            lock: String::new(),
            asked: 2,
            acknowledged: 1,
            can_repeat: false,
        });
        assert_eq!(check(Reply::Int(1)).as_ref(), Err(&few));
        assert!(!few.is_outcome_unknown() && few.code() == "not_replicated");
        for answer in [
            Reply::Nil,
            Reply::Int(-1),
            Reply::Bytes(b"2".to_vec()),
            Reply::Array(vec![]),
            Reply::Error("UNBLOCKED".into()),
        ] {
            assert!(check(answer).unwrap_err().is_outcome_unknown());
        }
    }

    #[test]
    fn a_fail_over_passes_and_another_error_does_not() {
        let code = |said: &str| {
            let replicas = Replicas::new(2, SECOND).unwrap();
            let error = replicas.check(&Reply::Error(said.into())).unwrap_err();
            error.code()
        };
        let ended = "UNBLOCKED force unblock from blocking operation, instance state changed";
        assert_eq!(code(ended), "unavailable");
        let replica = "ERR WAIT cannot be used with replica instances. Please also note";
        assert_eq!(code(replica), "unavailable");
        assert_eq!(code("ERR what is this"), "refused");
    }
}
