//! What is kept of work is forgotten once, and not while the work is being done.

use std::rc::Rc;
use std::time::Duration;

use edgelock::{Error, OnceOutcome};

use super::{SETTINGS, machine, meanwhile, play_on, sleep};
use crate::bridge;
use crate::case::Case;
use crate::fate::Fate;
use crate::host::{self, Settings, SimClient};
use crate::lua::Redis;

const REPEATED: &str = "if DONE then return { tonumber(DONE), ARGV[1] } end";
const WORKING: &str = "if HOLDER or redis.call('GET', NAME) then";

fn client(case: &Rc<Case>) -> SimClient {
    let timeout = Duration::from_secs(5);
    host::client(
        case,
        &machine(),
        Settings {
            timeout,
            ..SETTINGS
        },
    )
}

/// Whether the work was executed by this call.
async fn works(case: &Rc<Case>, lasts: u64) -> bool {
    let once = client(case).once("a");
    let work = async |_: &_| {
        sleep(case, lasts).await;
        Ok::<_, Error>(1)
    };
    matches!(once.run(work).await, Ok(OnceOutcome::Executed(_)))
}

/// The answer to a forget gets lost, and the work is done anew before the repeat arrives. Whether
/// its result is kept, and what the forget says.
async fn forgets_twice(case: &Rc<Case>) -> (bool, bool) {
    assert!(works(case, 0).await);
    let lost = Fate::Executed(bridge::overloaded(503, "1"));
    case.network.fates.next(lost);
    let again = {
        let case = case.clone();
        async move {
            sleep(&case, 300).await;
            assert!(works(&case, 0).await);
        }
    };
    let is_over = meanwhile(case, &machine(), again);
    let told = client(case).once("a").forget().await.expect("an answer");
    sleep(case, 5_000).await;
    assert!(is_over.get().is_some());
    (!works(case, 0).await, told)
}

#[test]
fn a_repeat_of_a_forget_does_not_forget_the_next_result() {
    play_on(&Rc::default(), |case| async move {
        assert_eq!(forgets_twice(&case).await, (true, true));
    });
    let redis = Rc::new(Redis::with(REPEATED, ""));
    play_on(&redis, |case| async move {
        assert_eq!(forgets_twice(&case).await, (false, true));
    });
}

/// The code of a forget while the work is being done.
async fn forgets_meanwhile(case: &Rc<Case>) -> &'static str {
    let working = {
        let case = case.clone();
        async move {
            assert!(works(&case, 3_000).await);
        }
    };
    let is_over = meanwhile(case, &machine(), working);
    sleep(case, 1_000).await;
    let forgotten = client(case).once("a").forget().await;
    if let Err(Error::Held { remaining, .. }) = &forgotten {
        assert!(remaining.is_some_and(|left| left > Duration::from_secs(5)));
    }
    sleep(case, 5_000).await;
    assert!(is_over.get().is_some() && !works(case, 0).await);
    forgotten.map_or_else(|error| error.code(), |_| "forgotten")
}

#[test]
fn nothing_is_forgotten_while_the_work_is_being_done() {
    play_on(&Rc::default(), |case| async move {
        assert_eq!(forgets_meanwhile(&case).await, "held");
    });
    let redis = Rc::new(Redis::with(WORKING, "if false then"));
    play_on(&redis, |case| async move {
        assert_eq!(forgets_meanwhile(&case).await, "forgotten");
    });
}
