//! Who barges, behind a waiter for several names that cannot have them: nobody starves the others.

use std::cell::RefCell;

use super::*;

/// Who stands before those who want `a`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nobody,
    /// One that wants `b` too, which another holds; fair or not, and with push or without.
    Set {
        is_fair: bool,
        pushes: bool,
    },
}

/// A lock of `a` that barges. Some locks are those of several names, of which nobody else wants the
/// others.
type Barging = fn(&SimClient, usize) -> host::SimLock;

const MIXED: Barging = |client, place| match place {
    0 => client.lock_all(["a", "c"]).fair(false),
    1 => client.lock_all(["a", "d"]).fair(false),
    _ => client.lock("a"),
};

const WRITERS: Barging = |client, _| client.read_write("a").write();

/// What became of those who barge, and of the set before them.
#[derive(Debug)]
struct Behind {
    turns: Vec<u64>,
    refused: u64,
    is_set_starved: bool,
}

/// Ten clients want `a` again and again, each for `hold` ms, and wait for up to 10 s each time.
/// What the set waits for is free after 20 s. Returns how many turns each had until then, how often
/// one was refused until then, and whether the set had nothing 15 s later, though the others went
/// on.
fn turns_behind(redis: Redis, before: Before, barging: Barging, hold: u64) -> Behind {
    let turns = Rc::new(RefCell::new(vec![0; 10]));
    let refused: Rc<Cell<u64>> = Rc::default();
    let is_starved: Rc<Cell<bool>> = Rc::default();
    let (noted, refusals, starved) = (turns.clone(), refused.clone(), is_starved.clone());
    play_on(&Rc::new(redis), move |case| async move {
        let holding = machine();
        let b = client(&case, &holding).lock("b");
        let b = b.ttl(Duration::from_secs(60)).acquire().await;
        let waiting = machine();
        let mut has_both = None;
        if let Before::Set { is_fair, pushes } = before {
            let settings = Settings {
                push: pushes,
                ..SETTINGS
            };
            let both = host::client(&case, &waiting, settings).lock_all(["a", "b"]);
            let both = both.fair(is_fair).wait_timeout(Duration::from_secs(60));
            has_both = Some(meanwhile(&case, &waiting, async move {
                let lease = both.max_requests(100_000).acquire().await;
                lease.expect("a lease").release().await.expect("held");
            }));
        }
        for place in 0..10 {
            let (machine, on) = (machine(), case.clone());
            let lock = barging(&client(&case, &machine), place);
            let lock = lock.wait_timeout(Duration::from_secs(10));
            let lock = lock.max_requests(100_000);
            let (turns, refused) = (noted.clone(), refusals.clone());
            meanwhile(&case, &machine.clone(), async move {
                while now(&on) < 40_000 {
                    let Ok(lease) = lock.acquire().await else {
                        refused.set(refused.get() + u64::from(now(&on) < 20_000));
                        continue;
                    };
                    turns.borrow_mut()[place] += u64::from(now(&on) < 20_000);
                    (on.world.sleep(&machine, Duration::from_millis(hold))).await;
                    lease.release().await.expect("held");
                }
            });
        }
        sleep(&case, 20_000).await;
        b.expect("a lease").release().await.expect("held");
        sleep(&case, 15_000).await;
        starved.set(has_both.is_some_and(|had| had.get().is_none()));
        sleep(&case, 15_000).await;
    });
    Behind {
        turns: turns.take(),
        refused: refused.get(),
        is_set_starved: is_starved.get(),
    }
}

/// Whether each keeps half of the turns that it has alone, and is never refused.
fn keep_half(redis: fn() -> Redis, before: Before, barging: Barging, hold: u64) -> bool {
    let alone = turns_behind(redis(), Before::Nobody, barging, hold).turns;
    let behind = turns_behind(redis(), before, barging, hold);
    println!("{hold} ms each; alone {alone:?}, {behind:?}");
    let mut both = behind.turns.iter().zip(&alone);
    let keep_half = both.all(|(behind, alone)| 2 * behind >= *alone);
    keep_half && behind.refused == 0 && !behind.is_set_starved
}

#[test]
fn those_who_barge_keep_half_their_turns_behind_a_waiter_for_several_names() {
    for (is_fair, pushes) in [(true, true), (true, false), (false, true), (false, false)] {
        let before = Before::Set { is_fair, pushes };
        for barging in [MIXED, WRITERS] {
            assert!(keep_half(Redis::default, before, barging, 50));
        }
    }
}

const FAIR: Before = Before::Set {
    is_fair: true,
    pushes: true,
};

/// A sabotage: it always insists.
#[test]
fn a_waiter_for_several_names_that_starves_the_others_is_noticed() {
    let insisting = || Redis::with("return 8 * waited >= 7 * round and", "return");
    for barging in [MIXED, WRITERS] {
        assert!(!keep_half(insisting, FAIR, barging, 10));
    }
}

/// A sabotage: it never insists.
#[test]
fn a_waiter_for_several_names_that_the_others_starve_is_noticed() {
    let part = "return 8 * waited >= 7 * round and";
    let redis = Redis::with(part, "return false and");
    let behind = turns_behind(redis, FAIR, MIXED, 100);
    assert!(behind.is_set_starved, "{behind:?}");
}
