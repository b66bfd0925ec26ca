//! How soon callers are answered where no message is lost: after how many round trips, and how long
//! after a driver has gone.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use edgelock::{GroupCommit, Reply};
use send_wrapper::SendWrapper;

use super::super::bridge::Dialect;
use super::super::case::Case;
use super::super::check::{Check, Invariant};
use super::super::faults::Net;
use super::super::host::{self, Settings};
use super::super::lua::Redis;
use super::super::sabotage::Bent;
use super::super::script::replaced;
use super::super::trace::Trace;
use super::super::world::{MS, Machine, Time};
use super::books::Books;
use super::sale::{BAD, MOST, Order, STOCK, Sale};

const TIMEOUT: Duration = Duration::from_millis(600);

/// So soon a customer orders again.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Requests of some processes, over a network that loses nothing.
struct Rush<const FENCED: bool> {
    case: Rc<Case>,
    books: Rc<Books>,
    groups: Vec<GroupCommit<Sale<FENCED>>>,
    machines: Vec<Rc<Machine>>,
    /// The number of the first order: orders below 1,000 are of five buyers, who get few of them.
    first: usize,
    /// The requests that are not answered yet.
    waiting: Rc<RefCell<BTreeSet<usize>>>,
    /// How long each request waited since it came, or since a driver went away.
    waits: Rc<RefCell<Vec<Time>>>,
    gone_at: Rc<Cell<Time>>,
}

impl<const FENCED: bool> Rush<FENCED> {
    fn new(seed: u64, redis: &Rc<Redis>, processes: usize) -> Self {
        let case = Case::new(
            seed,
            redis,
            // A broken script breaks other promises too, and sooner.
            Check::new(Some(Invariant::KeysExpire)),
            Bent::Straight,
            Trace::OFF,
        );
        case.dialect.set(Dialect::Upstash);
        let books = Rc::new(Books::open(&case));
        // Once it was sold out, turns would write nothing.
        (case.redis).execute(&[b"SET", STOCK.as_bytes(), b"1000000"]);
        Self {
            books,
            case,
            first: 1_000,
            groups: (0..processes).map(|_| GroupCommit::new(Sale)).collect(),
            machines: Vec::new(),
            waiting: Rc::default(),
            waits: Rc::default(),
            gone_at: Rc::default(),
        }
    }

    /// One more request of `process`, at a time before `by`.
    fn order(&mut self, process: usize, by: Time) {
        self.order_reading(None, process, by, 1);
    }

    /// Requests that come one after the other, each a moment after the one before was answered. The
    /// waits of those that read something bad are not noted.
    fn order_reading(
        &mut self,
        reads: Option<&'static str>,
        process: usize,
        by: Time,
        times: usize,
    ) {
        let machine = Rc::new(Machine::new(0));
        let settings = Settings { script_cache: false, push: true, attempts: 3, timeout: TIMEOUT };
        let client = host::client(&self.case, &machine, settings);
        let lock = client.lock("a").wait_timeout(Duration::from_secs(60));
        let (case, group) = (self.case.clone(), self.groups[process].clone());
        let (waiting, waits) = (self.waiting.clone(), self.waits.clone());
        let gone_at = self.gone_at.clone();
        let (number, first) = (self.machines.len(), self.first);
        let books = self.books.clone();
        waiting.borrow_mut().insert(number);
        let come = Duration::from_nanos(self.case.rng.between(0, by));
        let on = machine.clone();
        let live = async move {
            case.world.sleep(&on, come).await;
            for time in 0..times {
                let came = case.world.now();
                let order = Order {
                    process,
                    number: first + number + 1_000 * time,
                    remembers: true,
                    reads,
                    books: SendWrapper::new(books.clone()),
                };
                let outcome = group.submit(&lock, order).await;
                if reads.is_some() {
                    outcome.expect_err("its read fails");
                } else {
                    let waited = case.world.now().saturating_sub(came.max(gone_at.get()));
                    waits.borrow_mut().push(waited);
                }
                case.world.sleep(&on, AT_ONCE).await;
            }
            waiting.borrow_mut().remove(&number);
        };
        self.case.world.spawn(&machine, Box::pin(live));
        self.machines.push(machine);
    }

    /// How long each request waited, from the shortest, once all are answered except those of the
    /// driver that is `gone`.
    fn waits(&self, gone: Option<usize>) -> Vec<Time> {
        let is_done = || self.waiting.borrow().iter().all(|number| Some(*number) == gone);
        assert!(self.case.pass(120_000 * MS, is_done), "somebody waits yet");
        self.case.world.end();
        let mut waits = self.waits.take();
        waits.sort_unstable();
        waits
    }

    /// The same in round trips over a [`FAR`] network.
    fn trips(&self) -> Vec<f64> {
        let waits = self.waits(None).into_iter();
        waits.map(|wait| wait as f64 / (20 * MS) as f64).collect()
    }
}

/// A driver stands still for ever from some time on. Returns how long the others wait from then on,
/// at most.
fn behind_a_vanished_driver(seed: u64, redis: &Rc<Redis>) -> Time {
    let mut rush = Rush::<true>::new(seed, redis, 1);
    let rng = &rush.case.rng;
    let (count, at) = (rng.between(2, 6), rng.between(0, 120 * MS));
    for _ in 0..count {
        rush.order(0, 60 * MS);
    }
    // A last caller finds that out, if others still wait.
    rush.order(0, 200 * MS);
    let number = rush.case.rng.between(0, count - 1) as usize;
    let victim = rush.machines[number].clone();
    let (case, gone_at) = (rush.case.clone(), rush.gone_at.clone());
    (rush.case.world).schedule(at, move || {
        gone_at.set(at);
        victim.pause(case.world.now(), 1_000_000_000 * MS);
    });
    rush.waits(Some(number)).pop().expect("somebody")
}

/// What may come on top of that time-out: the turn that is under way, a release, an acquisition and
/// a commit.
const TURNS: Time = 100 * MS;

#[test]
fn a_driver_that_goes_away_costs_the_others_no_more_than_the_time_out_of_a_request() {
    let redis = Rc::default();
    let most = TIMEOUT.as_nanos() as Time + TURNS;
    for seed in 0..1_000 {
        let longest = behind_a_vanished_driver(seed, &redis);
        assert!(longest <= most, "{} ms, seed {seed}", longest / MS);
    }
}

#[test]
fn a_driver_that_asks_anew_for_what_the_one_before_has_would_wait_for_its_ttl() {
    // As if the next driver asked with a token of its own.
    let of_another = "local mine = HOLDER == ARGV[2]";
    let redis = Rc::new(Redis::with(of_another, "local mine = false"));
    let most = TIMEOUT.as_nanos() as Time + TURNS;
    let is_late = |seed: &u64| behind_a_vanished_driver(*seed, &redis) > most;
    let seed = (0..1_000).find(is_late);
    println!("caught with seed {seed:?}");
    assert!(seed.is_some());
}

/// A round trip takes 20 ms.
const FAR: Net = Net { least: 10 * MS, latency: 10 * MS, ..Net::QUIET };

/// What this percentage of the waits does not exceed.
fn percentiles(mut waits: Vec<f64>) -> impl Fn(usize) -> f64 {
    waits.sort_by(f64::total_cmp);
    move |part| waits[(waits.len() - 1) * part / 100]
}

/// Two processes take turns, each with many requests that keep coming, and bad ones among them.
/// Returns how many round trips each good request waited, from the shortest.
fn in_round_trips<const FENCED: bool>(
    seed: u64,
    redis: &Rc<Redis>,
    bad: Option<&'static str>,
) -> Vec<f64> {
    let mut rush = Rush::<FENCED>::new(seed, redis, 2);
    rush.case.net.set(FAR);
    (rush.case.redis).execute(&[b"HSET", BAD[0].as_bytes(), b"field", b"value"]);
    let large = vec![b'x'; 1_100_000];
    (rush.case.redis).execute(&[b"SET", BAD[1].as_bytes(), &large]);
    for number in 0..60 {
        rush.order(number % 2, 600 * MS);
        if bad.is_some() {
            rush.order_reading(bad, number % 2, 600 * MS, 1);
        }
    }
    rush.trips()
}

/// A request that comes just after the one that takes the lock waits for three turns: that one, the
/// other process's, and its own. It waited for 10.7 round trips when a turn took only the items
/// that were there when it began to wait for the lock.
#[test]
fn where_two_processes_take_turns_an_item_waits_for_ten_round_trips_at_most() {
    let redis = Rc::default();
    for bad in [None, Some(BAD[0]), Some(BAD[1])] {
        let mut all = Vec::new();
        for seed in 0..40 {
            for (trips, most) in [
                (in_round_trips::<true>(seed, &redis, bad), 8.0),
                // Two requests without the lock may come first, in vain.
                (in_round_trips::<false>(seed, &redis, bad), 10.0),
            ] {
                let longest = trips[trips.len() - 1];
                all.extend(trips);
                assert!(longest <= most, "{longest} round trips, seed {seed}");
            }
        }
        let at = percentiles(all);
        println!(
            "round trips beside {bad:?}: median {:.1}, p99 {:.1}, longest {:.1}",
            at(50),
            at(99),
            at(100)
        );
    }
}

/// Without the pause before a turn each of two customers would be just too late for the other's
/// turn, and wait for it and for another one.
#[test]
fn customers_who_come_back_at_once_share_each_turn_of_one_round_trip() {
    let redis = Rc::default();
    for seed in 0..100 {
        let mut rush = Rush::<false>::new(seed, &redis, 1);
        rush.case.net.set(FAR);
        for _ in 0..2 {
            rush.order_reading(None, 0, 100 * MS, 30);
        }
        let trips = rush.trips();
        let trips = trips[trips.len() * 3 / 4];
        assert!(trips < 1.3, "{trips} round trips, seed {seed}");
    }
}

/// A guess that is wrong tells what the other process wrote, and that one lets the next guess go
/// first. If the second wrong guess took the lock, an order would take five round trips. Without
/// the pause, one of ten would take six.
#[test]
fn where_two_processes_write_all_the_time_an_order_takes_two_round_trips_and_a_pause() {
    /// Messages take up to a third longer.
    const UNEVEN: Net = Net { latency: 13 * MS, ..FAR };
    /// Customers, how soon the last one comes, and how often each orders.
    const CROWDS: [(usize, Time, usize); 2] = [(64, 20 * MS, 30), (1_000, 2_000 * MS, 1)];
    let redis = Rc::default();
    for (customers, by, times) in CROWDS {
        let mut all = Vec::new();
        for seed in 0..20 {
            let mut rush = Rush::<false>::new(seed, &redis, 2);
            rush.case.net.set(UNEVEN);
            for number in 0..customers {
                rush.order_reading(None, number % 2, by, times);
            }
            all.extend(rush.trips());
        }
        let at = percentiles(all);
        println!(
            "round trips of {customers}: median {:.2}, p90 {:.2}, p99 {:.2}",
            at(50),
            at(90),
            at(99)
        );
        assert!(at(50) < 2.8, "{} round trips", at(50));
        assert!(at(90) < 5.0, "{} round trips", at(90));
    }
}

/// Who gives the lock on tells what its shared reads find. So a turn has the lock for one round
/// trip, and an order waits for the turns of the others and for its own.
#[test]
fn where_four_processes_write_all_the_time_each_turn_takes_one_round_trip() {
    let redis = Rc::default();
    let mut all = Vec::new();
    for seed in 0..10 {
        all.extend(among_four(seed, &redis));
    }
    let at = percentiles(all);
    println!("round trips: median {:.2}, p99 {:.2}", at(50), at(99));
    assert!(at(50) < 4.5, "{} round trips", at(50));
}

/// How many round trips each order waits.
fn among_four(seed: u64, redis: &Rc<Redis>) -> Vec<f64> {
    let mut rush = Rush::<false>::new(seed, redis, 4);
    rush.case.net.set(FAR);
    for number in 0..64 {
        rush.order_reading(None, number % 4, 20 * MS, 30);
    }
    rush.trips()
}

#[test]
fn a_hand_over_that_does_not_tell_what_it_left_costs_each_turn_a_second_round_trip() {
    let left = "LEFT = ' ' .. string.gsub(resp({ unpack(ARGV, tell) }) .. found, string.char(13, 10), '%%n')";
    let redis = Rc::new(Redis::with(left, ""));
    let median = percentiles(among_four(0, &redis))(50);
    println!("round trips: median {median:.2}");
    assert!(median > 5.0, "{median} round trips");
}

/// A turn guesses that nobody bought before. Buyers who have all that they may have are looked at
/// beside the turns, and so is who reads something bad. Otherwise each of their orders would cost
/// the customers beside them a trip.
#[test]
fn those_who_ask_again_for_what_they_have_or_what_fails_cost_customers_no_round_trips() {
    let redis = Rc::default();
    let has_enough =
        |_: &_, _: &_, found: &[Reply]| (found[1].as_i64() == Some(MOST)).then_some(false);
    for (seed, bad) in (0..100).flat_map(|seed| [(seed, None), (seed, Some(BAD[0]))]) {
        let mut rush = Rush::<false>::new(seed, &redis, 1);
        rush.case.net.set(FAR);
        rush.first = 0;
        for group in &mut rush.groups {
            *group = group.clone().peek(has_enough);
        }
        (rush.case.redis).execute(&[b"HSET", BAD[0].as_bytes(), b"field", b"value"]);
        for _ in 0..60 {
            rush.order_reading(bad, 0, 1_000 * MS, 1);
        }
        rush.order_reading(None, 0, 1, 30);
        // At first they buy.
        let trips = rush.trips();
        let trips = trips[trips.len() * 2 / 3];
        assert!(trips < 1.6, "{trips} round trips beside {bad:?}, seed {seed}");
    }
}

#[test]
fn an_answer_that_leaves_nothing_out_would_keep_all_items_waiting_behind_a_large_one() {
    let whole = Redis::new(Box::new(|text| {
        let text = replaced(text, "#reply > room", "false").0;
        replaced(&text, "took > room", "false").0
    }));
    let redis = Rc::new(whole);
    let is_late = |seed: &u64| {
        let trips = in_round_trips::<true>(*seed, &redis, Some(BAD[1]));
        trips[trips.len() - 1] > 8.0
    };
    let seed = (0..40).find(is_late);
    println!("caught with seed {seed:?}");
    assert!(seed.is_some());
}
