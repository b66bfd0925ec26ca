//! Who barges, behind a waiter for several names that cannot have them: nobody starves the others.

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
type Barging = fn(&SimClient, usize) -> SimLock;

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
    play_on(redis, move |case| async move {
        let b = client(&case, &machine()).lock("b").ttl(s(60));
        let b = b.acquire().await.expect("a lease");
        let mut has_both = None;
        if let Before::Set { is_fair, pushes } = before {
            let client = host::client(&case, &machine(), super::pushes(pushes));
            let both = client.lock_all(["a", "b"]).fair(is_fair);
            let both = both.wait_timeout(s(60)).max_requests(100_000);
            has_both = Some(waits_by(&case, both));
        }
        let goes_on = |place| {
            let on = case.clone();
            let lock = barging(&client(&case, &machine()), place);
            let lock = lock.wait_timeout(s(10)).max_requests(100_000);
            meanwhile(&case, &machine(), async move {
                let (mut turns, mut refused) = (0, 0);
                while now(&on) < 40_000 {
                    let acquired = lock.acquire().await;
                    let counts = u64::from(now(&on) < 20_000);
                    let Ok(lease) = acquired else {
                        refused += counts;
                        continue;
                    };
                    turns += counts;
                    sleep(&on, hold).await;
                    lease.release().await.expect("held");
                }
                (turns, refused)
            })
        };
        let others: Vec<_> = (0..10).map(goes_on).collect();
        sleep(&case, 20_000).await;
        b.release().await.expect("held");
        sleep(&case, 15_000).await;
        let is_set_starved = has_both.is_some_and(|had| had.at().is_none());
        sleep(&case, 15_000).await;
        let (turns, refused): (_, Vec<u64>) = others.iter().map(Beside::told).unzip();
        Behind { turns, refused: refused.iter().sum(), is_set_starved }
    })
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

const FAIR: Before = Before::Set { is_fair: true, pushes: true };

const INSISTS: &str = "return 8 * waited >= 7 * round and";

fn insisting() -> Redis {
    Redis::with(INSISTS, "return")
}

stories! {
    /// A sabotage: it always insists.
    a_waiter_for_several_names_that_starves_the_others_is_noticed:
        [MIXED, WRITERS].map(|barging| keep_half(insisting, FAIR, barging, 50)) => [false, false],
    /// A sabotage: it never insists.
    a_waiter_for_several_names_that_the_others_starve_is_noticed:
        turns_behind(Redis::with(INSISTS, "return false and"), FAIR, MIXED, 100)
        => Behind { is_set_starved: true, .. },
}
