//! A crowd of waiters, three times as many as a bridge has connections for them.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use testkit::beside::{is_alone, must_keep_half};
use testkit::stack;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::support::{Stack, alone, client_of, ms};

alone! {
    a_crowd_that_listens_has_as_many_turns_as_one_that_polls,
}

const CONNECTIONS: usize = 60;
const WAITERS: usize = 180;
/// So many turns of both crowds are counted, or four times as many by `cargo xtask attack`: those
/// who are turned away at first come back for seconds.
const TURNS: usize = 400;
/// A machine with more to do than it can has fewer turns by then.
const LONGEST: Duration = Duration::from_secs(20);
/// Longer than the test lasts: a holder that cannot give the lock back has stopped its crowd.
const TTL: Duration = Duration::from_secs(600);
/// Short enough that who cannot listen polls twice a second with its 40 requests.
const WAIT: Duration = Duration::from_secs(20);

/// Takes one lock again and again, and counts its turns, until it is dropped.
struct Crowd {
    turns: Rc<Cell<usize>>,
    _waiters: JoinSet<()>,
    stack: Stack,
}

impl Crowd {
    fn start(listens: bool) -> Self {
        let bridge =
            stack::Bridge::options().option(format!("--max-connections={CONNECTIONS}")).start();
        let stack = Stack::of(bridge.expect("a bridge"));
        let client = client_of(stack.route().push(listens));
        let turns = Rc::new(Cell::new(0));
        let mut waiters = JoinSet::new();
        for _ in 0..WAITERS {
            let lock = client.lock("a").ttl(TTL).wait_timeout(WAIT);
            let turns = turns.clone();
            waiters.spawn_local(async move {
                loop {
                    let Ok(lease) = lock.acquire().await else {
                        // It is turned away for now.
                        sleep(ms(100)).await;
                        continue;
                    };
                    sleep(ms(5)).await;
                    if lease.release().await.is_ok() {
                        turns.set(turns.get() + 1);
                    }
                }
            });
        }
        Self { turns, _waiters: waiters, stack }
    }

    /// Nearly all of them wait. Until then they have the connections that the holder needs.
    async fn is_there(&mut self) {
        let joining = Instant::now();
        while self.stack.waiters_for("a") < WAITERS * 9 / 10 && joining.elapsed() < LONGEST {
            sleep(ms(20)).await;
        }
    }
}

/// Their streams must not take the connection that the holder needs to give the lock back.
async fn a_crowd_that_listens_has_as_many_turns_as_one_that_polls() {
    // At once, so that both have the same of a machine on which other tests run.
    let (mut polls, mut listens) = (Crowd::start(false), Crowd::start(true));
    polls.is_there().await;
    listens.is_there().await;
    for crowd in [&polls, &listens] {
        crowd.turns.set(0);
    }
    let times = if is_alone() { 4 } else { 1 };
    let (turns, end) = (times * TURNS, Instant::now() + times as u32 * LONGEST);
    while polls.turns.get() + listens.turns.get() < turns && Instant::now() < end {
        sleep(ms(20)).await;
    }
    let (polls, listens) = (polls.turns.get(), listens.turns.get());
    println!(
        "{WAITERS} waiters, {CONNECTIONS} connections: {polls} turns by polling, {listens} by listening"
    );
    must_keep_half(listens, polls);
}
