//! In a crowd, nobody has what others have, and all get their turn.

use std::cell::Cell;
use std::rc::Rc;

use edgelock::{Command, Limit};
use tokio::task::JoinSet;

use crate::support::kinds::Kind;
use crate::support::{Spawn, Stack, TestClient, TestLock, eventually, ms, over};

over! {
    [upstash, table, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        a_crowd_never_has_more_than_there_is_and_all_get_their_turn,
    }
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// How much there is of each name, or how much of it somebody takes.
type Units = [u32; 3];

const OF_MULTI: [Units; 6] = [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 0], [0, 1, 0], [1; 3]];
const OF_LIMITS: [Units; 6] = [[1, 2, 0], [0, 1, 1], [1, 0, 2], [1, 3, 1], [0, 2, 0], [1, 0, 0]];

/// How much of each name the locks of this kind share, and what callers take of it by turns.
fn shared(kind: Kind) -> (Units, &'static [Units]) {
    match kind {
        Kind::Mutex | Kind::Reentrant | Kind::Writer => ([1, 0, 0], &[[1, 0, 0]]),
        Kind::Semaphore => ([3, 0, 0], &[[1, 0, 0]]),
        // A writer takes as much as all readers.
        Kind::Reader => ([12, 0, 0], &[[12, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]]),
        Kind::Multi => ([1, 1, 1], &OF_MULTI),
        Kind::Limits => ([1, 3, 2], &OF_LIMITS),
    }
}

/// The lock by which this caller takes so much.
fn lock(kind: Kind, client: &TestClient, caller: usize, takes: Units) -> TestLock {
    let (all, _) = shared(kind);
    let wanted = (0..3).filter(|at| takes[*at] > 0);
    let names: Vec<_> = wanted.clone().map(|at| NAMES[at]).collect();
    match kind {
        Kind::Semaphore => client.semaphore("a", all[0]),
        Kind::Reader if takes == all => Kind::Writer.lock(client, &names, ""),
        Kind::Multi if names.len() == 1 => client.lock(names[0]),
        Kind::Limits => {
            let limit = |at: usize| Limit::new(NAMES[at], all[at]).permits(takes[at]);
            client.limits(wanted.map(limit))
        }
        // Every other one asks for the names in the other order.
        kind => {
            let mut names = names;
            if caller % 2 == 1 {
                names.reverse();
            }
            kind.lock(client, &names, &format!("owner {caller}"))
        }
    }
}

async fn a_crowd_never_has_more_than_there_is_and_all_get_their_turn(spawn: Spawn) {
    for kind in Kind::ALL {
        println!("{kind:?}");
        crowd(spawn(), kind).await;
    }
}

async fn crowd(mut stack: Stack, kind: Kind) {
    const CALLERS: usize = 12;
    const TURNS: usize = 5;
    let (all, takes) = shared(kind);
    let taken = Rc::new(Cell::new(Units::default()));
    let most = Rc::new(Cell::new(0));
    let mut callers = JoinSet::new();
    for (caller, takes) in takes.iter().cycle().take(CALLERS).enumerate() {
        // Callers that cannot listen get their turn too.
        let client = match caller % 3 {
            2 => stack.deaf(),
            _ => stack.client(),
        };
        let lock = lock(kind, &client, caller, *takes);
        let lock = lock.wait_timeout(ms(60_000)).max_requests(10_000);
        let (taken, most) = (taken.clone(), most.clone());
        let by = move |sign: i32| {
            let mut now = taken.get();
            (0..3).for_each(|at| now[at] = now[at].wrapping_add_signed(sign * takes[at] as i32));
            assert!((0..3).all(|at| now[at] <= all[at]), "{now:?}");
            taken.set(now);
            now[0]
        };
        callers.spawn_local(async move {
            let incr = [Command::new("INCR").key("n")];
            for _ in 0..TURNS {
                let lease = lock.acquire().await.unwrap();
                most.set(by(1).max(most.get()));
                // However busy the machine is, all permits are held at once for once.
                eventually(|| kind != Kind::Semaphore || most.get() == all[0]).await;
                tokio::time::sleep(ms(1)).await;
                by(-1);
                lease.commit(&incr).await.unwrap();
            }
        });
    }
    callers.join_all().await;
    assert_eq!(stack.redis::<usize>("GET n"), CALLERS * TURNS);
    assert!(!stack.redis::<bool>("EXISTS a b c"));
    for name in NAMES {
        assert_eq!(stack.waiters_for(name), 0);
    }
}
