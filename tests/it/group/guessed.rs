//! Turns that nobody competes with: one request each, without the lock.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use edgelock::{
    Client, Command, Decision, Error, GroupCommit, Lock, Reply, Runtime, Section, Transport,
};

use super::look::Old;
use crate::support::faulty::Fault::{Delay, LoseReply, LoseRequest, Pass, Withhold};
use crate::support::faulty::{Proxy, json, serve};
use crate::support::turns::{Own, placed, together};
use crate::support::{Http, Stack, alone, client, code, eventually, ms, over};

alone! {
    an_item_that_comes_again_is_looked_at_and_needs_no_turn,
    a_turn_expects_what_a_look_found,
    a_turn_that_is_wrong_thrice_takes_the_lock_and_later_ones_do_with_their_first_guess,
    two_processes_that_write_by_turns_take_no_lock,
    a_turn_whose_reply_or_request_is_lost_is_asked_for_again_and_runs_once,
    a_turn_of_unknown_outcome_is_told_as_unknown_and_leaves_no_lock_behind,
    a_copy_that_is_late_runs_nothing_once_the_turn_was_decided_anew,
    a_copy_that_is_late_runs_nothing_once_the_turn_found_the_lock_held,
    an_odd_item_does_not_have_each_later_one_looked_at_first,
    each_item_waits_as_long_as_its_own_lock_says_though_its_turn_was_tried_without_the_lock,
    a_turn_that_was_tried_without_the_lock_does_not_begin_its_wait_anew,
    with_few_requests_a_turn_waits_in_the_queue_nevertheless,
    a_bridge_that_leaves_replies_out_makes_the_outcome_unknown,
    a_crowd_whose_replies_are_too_large_together_has_smaller_turns,
    a_turn_that_is_repeated_behind_the_time_that_it_names_is_unknown,
}

over! {
    [spawn] {
        a_name_in_use_is_known_however_many_others_are_asked_for,
        a_turn_does_not_wait_for_another_client_s_clock,
        a_turn_waits_for_a_holder_and_sees_what_it_wrote,
        a_turn_that_is_handed_the_lock_decides_by_what_its_last_holder_left,
        an_invented_hand_over_writes_nothing_and_leaves_nobody_in_the_queue,
        an_item_whose_turn_waits_long_is_looked_at,
        an_item_whose_turn_waits_behind_other_turns_is_not_looked_at,
        a_turn_does_not_overtake_a_fair_waiter,
        a_turn_does_not_run_beside_a_holder_of_another_kind,
        a_copy_that_is_late_runs_nothing_though_the_lock_that_the_turn_took_has_expired,
        a_copy_that_is_later_than_the_ttl_runs_nothing_whatever_redis_has_forgotten,
        an_item_for_which_nothing_was_to_be_written_is_not_unknown,
        what_is_stored_in_the_way_of_the_fence_is_told_and_nothing_ran,
        what_the_next_turn_will_read_makes_no_request_larger_than_it_may_be,
    }
}

/// Sells what is in `stock`, and says what is left behind an order. Its turns do not use their
/// fences.
struct Stock;

impl Section for Stock {
    type Item = u64;
    type Answer = Option<i64>;
    type State = Option<i64>;

    const USES_FENCE: bool = false;

    fn reads(&self, number: &u64) -> Vec<Command> {
        let known = Command::new("HGET").key("orders").arg(number);
        let stock = if *number == ODD { "another" } else { "stock" };
        let time = (*number >= TIMED).then(|| Command::new("TIME"));
        [Command::new("GET").key(stock), known].into_iter().chain(time).collect()
    }

    fn decide(
        &self,
        number: &u64,
        replies: &[Reply],
        left: &mut Option<i64>,
        fence: u64,
    ) -> Decision<Option<i64>> {
        assert_eq!(fence, 0);
        if let Some(left) = replies[1].as_i64() {
            return Decision::Leave(Some(left));
        }
        let left = left.get_or_insert_with(|| match replies[0].as_i64() {
            None if *number == ODD => 0,
            stock => stock.expect("a stock"),
        });
        if *left == 0 {
            return Decision::Leave(None);
        }
        *left -= 1;
        let stock = Command::new("SET").key("stock").arg(*left);
        let order = Command::new("HSET").key("orders").arg(number).arg(*left);
        let log = Command::new("RPUSH").key("log").arg(number);
        Decision::Write(vec![stock, order, log], Some(*left))
    }
}

/// The number of an item that reads another stock, of which there is nothing.
const ODD: u64 = 1_000;

/// Items from this number on also read what never repeats.
const TIMED: u64 = 2_000;

/// A sale of 100, of which one is sold: so its process knows what is left.
async fn begun<T: Transport, R: Runtime>(
    stack: &mut Stack,
    lock: &Lock<T, R>,
) -> GroupCommit<Stock> {
    let _: () = stack.redis("SET stock 100");
    let sale = GroupCommit::new(Stock);
    assert_eq!(sale.submit(lock, 0).await, Ok(Some(99)));
    sale
}

/// What was sold, in this order.
fn log(stack: &mut Stack) -> Vec<u64> {
    stack.redis("LRANGE log 0 -1")
}

over! {
    [upstash, webdis, humanwhocodes] {
        a_turn_that_nobody_competes_with_is_one_request,
        a_turn_that_expects_something_else_decides_anew_by_what_is_there,
    }
}

async fn a_turn_that_nobody_competes_with_is_one_request(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let _: () = stack.redis("SET stock 3");
    let sale = GroupCommit::new(Stock);
    assert_eq!(sale.submit(&lock, 0).await, Ok(Some(2)));
    let first = seen.sent();
    for (number, left) in [(1, Some(1)), (2, Some(0)), (3, None), (4, None)] {
        assert_eq!(sale.submit(&lock, number).await, Ok(left));
    }
    assert_eq!((first, seen.sent()), (2, 6));
    assert_eq!(log(&mut stack), [0, 1, 2]);
    assert!(!stack.redis::<bool>("EXISTS a"));
    assert_eq!(seen.items_of_turns(), [1; 5]);
}

async fn a_turn_that_expects_something_else_decides_anew_by_what_is_there(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let _: () = stack.redis("SET stock 100");
    let sale = GroupCommit::new(Stock);
    assert_eq!(sale.submit(&lock, 0).await, Ok(Some(99)));
    let first = seen.sent();
    let _: () = stack.redis("SET stock 8");
    assert_eq!(sale.submit(&lock, 1).await, Ok(Some(7)));
    assert_eq!(seen.sent() - first, 2);
    // An order that is on record, though the process does not know it.
    let _: () = stack.redis("HSET orders 5 41");
    assert_eq!(sale.submit(&lock, 5).await, Ok(Some(41)));
    assert_eq!(log(&mut stack), [0, 1]);
    assert!(!stack.redis::<bool>("EXISTS a"));
}

/// As many requests, and as many turns, as an item costs that comes again.
async fn again(peek: fn(&Stock, &u64, &[Reply]) -> Option<Option<i64>>) -> (usize, usize) {
    let mut stack = Stack::upstash();
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let sale = begun(&mut stack, &lock).await.peek(peek);
    assert_eq!(sale.submit(&lock, 1).await, Ok(Some(98)));
    let (sent, turns) = (seen.sent(), seen.items_of_turns().len());
    assert_eq!(sale.submit(&lock, 1).await, Ok(Some(98)));
    assert!(!stack.redis::<bool>("EXISTS a"));
    (seen.sent() - sent, seen.items_of_turns().len() - turns)
}

/// So it costs the items of the next turn nothing.
async fn an_item_that_comes_again_is_looked_at_and_needs_no_turn() {
    let known = |_: &_, _: &_, found: &[Reply]| found[1].as_i64().map(Some);
    assert_eq!(again(known).await, (1, 0));
}

async fn a_turn_expects_what_a_look_found() {
    assert_eq!(again(|_, _, _| None).await, (2, 1));
}

async fn a_name_in_use_is_known_however_many_others_are_asked_for(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let (lock, sale) = (client.lock("a"), GroupCommit::new(Stock));
    let _: () = stack.redis("SET stock 100");
    assert_eq!(sale.submit(&lock, 0).await, Ok(Some(99)));
    for number in 1..100 {
        let other = client.lock(&format!("other:{number}"));
        assert_eq!(sale.submit(&other, 0).await, Ok(Some(99)));
        let sent = seen.sent();
        sale.submit(&lock, number).await.unwrap();
        assert_eq!(seen.sent() - sent, 1, "{number}");
    }
}

async fn a_turn_does_not_wait_for_another_client_s_clock(mut stack: Stack) {
    let old = Client::new(stack.route(), Http::default(), Old::default()).lock("a");
    let _: () = stack.redis("SET stock 100");
    let sale = GroupCommit::new(Stock);
    assert_eq!(sale.submit(&old, 0).await, Ok(Some(99)));
    let both = tokio::join!(sale.submit(&old, 1), sale.submit(&old, 2));
    assert_eq!(both, (Ok(Some(98)), Ok(Some(97))));
    // By this clock, two will be there in an hour.
    let young = stack.lock("a");
    let alone = tokio::time::timeout(ms(20_000), sale.submit(&young, 3));
    assert_eq!(alone.await.expect("within an hour"), Ok(Some(96)));
}

async fn a_turn_that_is_wrong_thrice_takes_the_lock_and_later_ones_do_with_their_first_guess() {
    let mut stack = Stack::upstash();
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let _: () = stack.redis("SET stock 9");
    let sale = GroupCommit::new(Stock);
    let mut costs = Vec::new();
    for number in 0..4 {
        let before = seen.sent();
        let left = 8 - number as i64;
        assert_eq!(sale.submit(&lock, TIMED + number).await, Ok(Some(left)));
        costs.push(seen.sent() - before);
    }
    assert_eq!(costs, [2, 4, 2, 2]);
}

/// Each is back with what the other wrote before that one's next order.
async fn two_processes_that_write_by_turns_take_no_lock() {
    let mut stack = Stack::upstash();
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let one = begun(&mut stack, &lock).await;
    let other = GroupCommit::new(Stock);
    assert_eq!(other.submit(&lock, 1).await, Ok(Some(98)));
    let (sent, grants) = (seen.sent(), seen.requests_of_grants());
    for number in (2..10).step_by(2) {
        let left = 99 - number as i64;
        assert_eq!(one.submit(&lock, number).await, Ok(Some(left)));
        assert_eq!(other.submit(&lock, number + 1).await, Ok(Some(left - 1)));
    }
    assert_eq!(seen.sent() - sent, 2 * 8);
    assert_eq!(seen.requests_of_grants(), grants);
}

async fn a_turn_waits_for_a_holder_and_sees_what_it_wrote(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let (of_turns, other) = (client.lock("a"), stack.lock("a"));
    let _: () = stack.redis("SET stock 100");
    let sale = GroupCommit::new(Stock);
    assert_eq!(sale.submit(&of_turns, 0).await, Ok(Some(99)));
    let held = other.try_acquire().await.unwrap();
    let sent = seen.sent();
    let order = placed(&sale, &of_turns, 1);
    // Twice in vain, and then it stands in the queue.
    eventually(|| seen.sent() > sent + 2 && stack.waiters_for("a") == 1).await;
    assert_eq!(log(&mut stack), [0]);
    let restocked = [Command::new("SET").key("stock").arg(500)];
    held.commit(&restocked).await.unwrap();
    assert_eq!(order.await.unwrap(), Ok(Some(499)));
}

/// It needs no round trip to read. What the message says is compared: here one order in it is known
/// elsewhere.
async fn a_turn_that_is_handed_the_lock_decides_by_what_its_last_holder_left(mut stack: Stack) {
    let (first, _) = stack.watched();
    let (second, seen) = stack.watched();
    let locks = [&first, &second].map(|client| client.lock("a"));
    let _: () = stack.redis("SET stock 100");
    let sales = [(); 2].map(|()| GroupCommit::new(Stock));
    for (sale, lock) in sales.iter().zip(&locks) {
        assert_eq!(sale.submit(lock, 0).await, Ok(Some(99)));
    }
    for (orders, left, requests) in [([1, 2], [98, 97], 1), ([3, 1], [96, 98], 2)] {
        let held = stack.lock("a").try_acquire().await.unwrap();
        let mut told = Vec::new();
        for (place, order) in orders.into_iter().enumerate() {
            told.push(placed(&sales[place], &locks[place], order));
            eventually(|| stack.waiters_for("a") == place + 1).await;
        }
        // A release hands the lock to those that listen.
        eventually(|| stack.listeners() == 2).await;
        let sent = seen.sent();
        held.release().await.unwrap();
        for (told, left) in told.into_iter().zip(left) {
            assert_eq!(told.await.unwrap(), Ok(Some(left)));
        }
        assert_eq!(seen.sent() - sent, requests);
    }
    assert_eq!(log(&mut stack), [0, 1, 2, 3]);
}

/// The turn finds that the lock is not its own, and waits anew.
async fn an_invented_hand_over_writes_nothing_and_leaves_nobody_in_the_queue(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a").fair(true);
    let _: () = stack.redis("SET stock 100");
    let sale = GroupCommit::new(Stock);
    assert_eq!(sale.submit(&lock, 0).await, Ok(Some(99)));
    let held = stack.lock("a").try_acquire().await.unwrap();
    let order = placed(&sale, &lock, 1);
    eventually(|| stack.waiters_for("a") == 1 && stack.listeners() == 1).await;
    let [channel]: [String; 1] = stack.redis("PUBSUB CHANNELS *");
    let (seconds, micros): (u64, u64) = stack.redis("TIME");
    let left = "*3%n$1%n2%n$3%nGET%n$5%nstock%n$2%n99%n";
    let message = format!("{} {} {left}", 1_u64 << 52, seconds * 1_000_000 + micros);
    let sent = seen.sent();
    let publish = redis::cmd("PUBLISH").arg(channel).arg(message).to_owned();
    publish.query::<()>(&mut *stack.redis.0).unwrap();
    // It asks, gives up its old place, and has a new one.
    eventually(|| seen.sent() > sent + 2 && stack.waiters_for("a") == 1).await;
    assert_eq!(log(&mut stack), [0]);
    held.release().await.unwrap();
    assert_eq!(order.await.unwrap(), Ok(Some(98)));
}

/// Nothing is ever put back.
async fn an_item_whose_turn_waits_long_is_looked_at(mut stack: Stack) {
    let lock = stack.lock("a");
    let _: () = stack.redis("SET stock 1");
    let sale = GroupCommit::new(Stock).peek(|_, _, found| {
        let is_over = found[0].as_i64() == Some(0);
        is_over.then_some(None)
    });
    assert_eq!(sale.submit(&lock, 0).await, Ok(Some(0)));
    let held = stack.lock("a").try_acquire().await.unwrap();
    assert_eq!(sale.submit(&lock, 1).await, Ok(None));
    held.release().await.unwrap();
}

/// Otherwise a crowd that needs many turns would have each of its items read twice.
async fn an_item_whose_turn_waits_behind_other_turns_is_not_looked_at(mut stack: Stack) {
    static LOOKS: AtomicUsize = AtomicUsize::new(0);
    LOOKS.store(0, Relaxed);
    let lock = stack.lock("a");
    let _: () = stack.redis("SET stock 100");
    let slow = Own::<u64, Option<i64>, _, false> {
        reads: |number| Stock.reads(number),
        decide: |number, replies, left, fence| {
            std::thread::sleep(ms(120));
            Stock.decide(number, replies, left, fence)
        },
    };
    let sale = GroupCommit::new(slow).max_items(1).peek(|_, _, _| {
        LOOKS.fetch_add(1, Relaxed);
        None
    });
    // The first one is looked at, and teaches that looks answer little.
    assert_eq!(sale.submit(&lock, 0).await, Ok(Some(99)));
    let told = together(&sale, &lock, 1..=8).await;
    assert_eq!(told, (91..99).rev().map(|left| Ok(Some(left))).collect::<Vec<_>>());
    assert_eq!(LOOKS.load(Relaxed), 1);
}

async fn a_turn_does_not_overtake_a_fair_waiter(mut stack: Stack) {
    let lock = stack.lock("a").fair(true);
    let sale = begun(&mut stack, &lock).await;
    let held = lock.try_acquire().await.unwrap();
    let fair = lock.clone();
    let waits = tokio::task::spawn_local(async move { fair.acquire().await });
    eventually(|| stack.waiters_for("a") == 1).await;
    // As if the holder had died: the lock is free, and somebody waits for it.
    let _: () = stack.redis("DEL a");
    let order = placed(&sale, &lock, 1);
    let first = waits.await.unwrap().unwrap();
    assert_eq!(log(&mut stack), [0]);
    first.release().await.unwrap();
    assert_eq!(order.await.unwrap(), Ok(Some(98)));
    assert_eq!(code(held.release().await), "lost");
}

async fn a_turn_does_not_run_beside_a_holder_of_another_kind(mut stack: Stack) {
    let lock = stack.lock("a");
    let sale = begun(&mut stack, &lock).await;
    let held = stack.client().reentrant("a", "me").try_acquire().await;
    let held = held.unwrap();
    assert_eq!(code(sale.submit(&lock, 1).await), "wrong_type");
    assert_eq!(log(&mut stack), [0]);
    held.release().await.unwrap();
    assert_eq!(sale.submit(&lock, 1).await, Ok(Some(98)));
}

async fn a_turn_whose_reply_or_request_is_lost_is_asked_for_again_and_runs_once() {
    for fault in [LoseReply, LoseRequest] {
        let mut stack = Stack::spawn();
        let proxy = Proxy::before(&stack, [Pass, Pass, fault]).await;
        let lock = proxy.client.lock("a");
        let sale = begun(&mut stack, &lock).await;
        assert_eq!(sale.submit(&lock, 1).await, Ok(Some(98)));
        assert_eq!(proxy.seen().len(), 4);
        assert_eq!(log(&mut stack), [0, 1]);
    }
}

async fn a_turn_of_unknown_outcome_is_told_as_unknown_and_leaves_no_lock_behind() {
    for expects_right in [true, false] {
        let mut stack = Stack::spawn();
        let proxy = Proxy::before(&stack, [Pass, Pass, LoseReply]).await;
        let lock = proxy.client.clone().max_attempts(1).lock("a");
        let sale = begun(&mut stack, &lock).await;
        if !expects_right {
            let _: () = stack.redis("SET stock 5");
        }
        let error = sale.submit(&lock, 1).await.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
        eventually(|| !stack.redis::<bool>("EXISTS a")).await;
        let ran = log(&mut stack) == [0, 1];
        assert_eq!(ran, expects_right);
        // What this process expected is not expected any more.
        assert_eq!(sale.submit(&lock, 2).await, Ok(Some(if ran { 97 } else { 4 })));
    }
}

/// Its first request is late. What is there when that arrives is what it expected.
async fn late(before: impl AsyncFn(&mut Stack)) -> (Stack, Vec<u64>) {
    let mut stack = Stack::spawn();
    let proxy = Proxy::before(&stack, [Pass, Pass, Delay]).await;
    let client = proxy.client.clone().request_timeout(ms(400));
    let lock = client.lock("a").ttl(ms(10_000));
    let sale = begun(&mut stack, &lock).await;
    let order = placed(&sale, &lock, 1);
    eventually(|| proxy.seen().len() == 3).await;
    before(&mut stack).await;
    assert_eq!(order.await.unwrap(), Ok(None));
    let sold = log(&mut stack);
    let _: () = stack.redis("SET stock 99");
    proxy.deliver().await;
    (stack, sold)
}

async fn a_copy_that_is_late_runs_nothing_once_the_turn_was_decided_anew() {
    let sold_out = async |stack: &mut Stack| stack.redis::<()>("SET stock 0");
    let (mut stack, sold) = late(sold_out).await;
    assert_eq!((log(&mut stack), sold), (vec![0], vec![0]));
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn a_copy_that_is_late_runs_nothing_once_the_turn_found_the_lock_held() {
    let held_and_sold_out = async |stack: &mut Stack| {
        let held = stack.lock("a").try_acquire().await.unwrap();
        eventually(|| stack.waiters_for("a") == 1).await;
        let all = [Command::new("SET").key("stock").arg(0)];
        held.commit(&all).await.unwrap();
    };
    let (mut stack, sold) = late(held_and_sold_out).await;
    assert_eq!((log(&mut stack), sold), (vec![0], vec![0]));
    assert!(!stack.redis::<bool>("EXISTS a"));
}

/// Redis's clock was set back, so the request may run for longer than the lock lasts. Nobody gives
/// that back.
async fn a_copy_that_is_late_runs_nothing_though_the_lock_that_the_turn_took_has_expired(
    mut stack: Stack,
) {
    let lost = [LoseRequest; 6];
    // The first guess is wrong, and so is the second, whose first copy is late. It takes the lock,
    // since the requests that are left are too few for another guess.
    let sent = [Pass, Pass, Pass, Delay, Pass].into_iter().chain(lost);
    let proxy = Proxy::before(&stack, sent).await;
    let time: Vec<u64> = stack.redis("TIME");
    let ahead = (time[0] + 10) * 1_000_000 + time[1];
    let _: () = stack.redis(&format!("SET {{a}}:fence {ahead}"));
    let client = proxy.client.clone().request_timeout(ms(300)).max_attempts(2);
    let lock = client.lock("a").ttl(ms(1_000)).max_requests(8);
    let sale = begun(&mut stack, &lock).await;
    let _: () = stack.redis("SET stock 50");
    let order = placed(&sale, &lock, 1);
    eventually(|| proxy.seen().len() == 4).await;
    let _: () = stack.redis("SET stock 0");
    assert_eq!(order.await.unwrap(), Ok(None));
    eventually(|| proxy.seen().len() >= 7 && !stack.redis::<bool>("EXISTS a")).await;
    let _: () = stack.redis("SET stock 50");
    proxy.deliver().await;
    assert_eq!(log(&mut stack), [0]);
}

/// As many requests as each of five orders costs behind an item that reads something else.
async fn an_odd_item_does_not_have_each_later_one_looked_at_first() {
    let mut stack = Stack::upstash();
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let sale = begun(&mut stack, &lock).await;
    let known = |_: &_, _: &_, found: &[Reply]| found[1].as_i64().map(Some);
    let sale = sale.peek(known);
    for odd in [ODD, 1] {
        sale.submit(&lock, odd).await.unwrap();
    }
    sale.submit(&lock, 2).await.unwrap();
    let sent = seen.sent();
    for number in 3..8 {
        sale.submit(&lock, number).await.unwrap();
    }
    assert_eq!(seen.sent() - sent, 5);
}

/// The marks of a turn live for longer than its requests may be late.
async fn a_copy_that_is_later_than_the_ttl_runs_nothing_whatever_redis_has_forgotten(
    mut stack: Stack,
) {
    let proxy = Proxy::before(&stack, [Pass, Pass, Delay]).await;
    let sale = begun(&mut stack, &proxy.client.lock("a")).await;
    let client = proxy.client.clone().request_timeout(ms(200));
    let lock = client.max_attempts(1).lock("a").ttl(ms(1_000));
    let _: () = stack.redis("SET clock 1 PX 1100");
    let error = sale.submit(&lock, 1).await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error}");
    eventually(|| !stack.redis::<bool>("EXISTS clock")).await;
    for mark in stack.redis::<Vec<String>>("KEYS {a}:*:*") {
        let _: () = stack.redis(&format!("DEL {mark}"));
    }
    proxy.deliver().await;
    assert_eq!(log(&mut stack), [0]);
}

/// Its driver and the item behind it wait for so long, while another holds the lock.
async fn behind_a_holder(waits: [u64; 2]) -> [Result<Option<i64>, Error>; 2] {
    let mut stack = Stack::spawn();
    let lock = stack.lock("a");
    let sale = begun(&mut stack, &lock).await;
    let held = stack.lock("a").try_acquire().await.unwrap();
    let [first, second] = waits.map(|wait| lock.clone().wait_timeout(ms(wait)));
    let [mut first, mut second] = [placed(&sale, &first, 1), placed(&sale, &second, 2)];
    // The impatient one is told so while the lock is held.
    let early = tokio::select! {
        told = &mut first => [Some(told.unwrap()), None],
        told = &mut second => [None, Some(told.unwrap())],
    };
    held.release().await.unwrap();
    match early {
        [Some(first), _] => [first, second.await.unwrap()],
        [_, Some(second)] => [first.await.unwrap(), second],
        _ => unreachable!(),
    }
}

async fn each_item_waits_as_long_as_its_own_lock_says_though_its_turn_was_tried_without_the_lock() {
    for (waits, held) in [([300, 20_000], 0), ([20_000, 300], 1)] {
        let told = behind_a_holder(waits).await;
        assert_eq!(code(told[held].clone()), "held");
        assert_eq!(told[1 - held], Ok(Some(98)));
    }
}

async fn a_turn_that_was_tried_without_the_lock_does_not_begin_its_wait_anew() {
    let mut stack = Stack::spawn();
    let proxy = Proxy::before(&stack, [Pass, Pass, Withhold]).await;
    let lock = proxy.client.lock("a").wait_timeout(ms(300));
    let sale = begun(&mut stack, &lock).await;
    let held = stack.lock("a").try_acquire().await.unwrap();
    let order = placed(&sale, &lock, 1);
    eventually(|| proxy.seen().len() == 3).await;
    // The answer, which says that another has the lock, takes as long as the item may wait.
    tokio::time::sleep(ms(300)).await;
    proxy.deliver().await;
    assert_eq!(code(order.await.unwrap()), "held");
    assert_eq!(proxy.seen().len(), 4);
    held.release().await.unwrap();
}

async fn with_few_requests_a_turn_waits_in_the_queue_nevertheless() {
    for requests in 4..8 {
        let mut stack = Stack::spawn();
        let lock = stack.lock("a").max_requests(requests);
        let sale = begun(&mut stack, &lock).await;
        let held = stack.lock("a").try_acquire().await.unwrap();
        let order = placed(&sale, &lock, 1);
        eventually(|| stack.waiters_for("a") == 1).await;
        held.release().await.unwrap();
        assert_eq!(order.await.unwrap(), Ok(Some(98)));
    }
}

async fn an_item_for_which_nothing_was_to_be_written_is_not_unknown(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [Pass, Pass, LoseReply]).await;
    let lock = proxy.client.clone().max_attempts(1).lock("a");
    let sale = begun(&mut stack, &lock).await;
    let _: () = stack.redis("SET stock 0");
    // It takes the lock, and that is not known.
    let error = sale.submit(&lock, 1).await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error}");
    let proxy = Proxy::before(&stack, [Pass, Pass, LoseReply]).await;
    let lock = proxy.client.clone().max_attempts(1).lock("a");
    let sale = GroupCommit::new(Stock);
    assert_eq!(sale.submit(&lock, 2).await, Ok(None));
    eventually(|| proxy.seen().len() == 2).await;
    let error = sale.submit(&lock, 3).await.unwrap_err();
    assert!(!error.is_outcome_unknown(), "{error}");
}

async fn what_is_stored_in_the_way_of_the_fence_is_told_and_nothing_ran(mut stack: Stack) {
    let lock = stack.lock("a");
    let sale = begun(&mut stack, &lock).await;
    let _: () = stack.redis("DEL {a}:fence");
    let _: () = stack.redis("RPUSH {a}:fence x");
    let error = sale.submit(&lock, 1).await.unwrap_err();
    assert_eq!((error.code(), error.is_outcome_unknown()), ("wrong_type", false));
    assert_eq!(log(&mut stack), [0]);
}

/// Both a turn with the lock and one without it.
async fn a_bridge_that_leaves_replies_out_makes_the_outcome_unknown() {
    for short in [2, 3] {
        let sent = Rc::new(Cell::new(0));
        let url = serve(move |asked| {
            sent.set(sent.get() + 1);
            let (nonce, found) = (asked.nonce(), r"$2\r\n99\r\n$-1\r\n");
            let said = match sent.get() {
                1 => format!(r#"[1,"{nonce}","1700000000000000","{found}"]"#),
                2 if short == 2 => format!(r#"[1,"{nonce}",""]"#),
                2 => format!(r#"[1,"{nonce}","+OK\r\n:1\r\n:1\r\n{found}"]"#),
                _ => format!(r#"[2,"{nonce}","1700000000000001",""]"#),
            };
            async move { Some(json(200, &format!(r#"{{"result":{said}}}"#))) }
        });
        let lock = client(&url.await, "token").max_attempts(1).lock("a");
        let sale = GroupCommit::new(Stock);
        for number in 2..short {
            sale.submit(&lock, number).await.unwrap();
        }
        let error = sale.submit(&lock, short).await.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
    }
}

/// What stands in place of the replies that do not fit must fit itself.
async fn a_crowd_whose_replies_are_too_large_together_has_smaller_turns() {
    const ITEMS: u64 = 900;
    let mut stack = Stack::spawn();
    for number in 0..ITEMS {
        stack.store(&format!("large:{number}"), &"x".repeat(2_000));
    }
    let group = GroupCommit::new(Own::<u64, (), usize, false> {
        reads: |number| vec![Command::new("GET").key(format!("large:{number}"))],
        decide: |number, replies, (), _| {
            let write = Command::new("RPUSH").key("log").arg(number);
            Decision::Write(vec![write], replies[0].as_str().map_or(0, str::len))
        },
    });
    let group = group.max_items(1_000).max_bytes(1 << 20);
    for outcome in together(&group, &stack.lock("a"), 0..ITEMS).await {
        assert_eq!(outcome, Ok(2_000));
    }
    assert_eq!(log(&mut stack), (0..ITEMS).collect::<Vec<_>>());
}

/// What an order comes to whose first request gets lost, and whose guess was wrong at this time.
async fn repeated(at_us: u64, wrong: usize) -> Result<Option<i64>, Error> {
    let sent = Rc::new(Cell::new(0));
    let url = serve(move |asked| {
        sent.set(sent.get() + 1);
        let (nonce, found) = (asked.nonce(), r"$2\r\n99\r\n$-1\r\n");
        let said = match sent.get() {
            1 => Some(format!(r#"[1,"{nonce}","1700000000000000","{found}"]"#)),
            2 => Some(format!(r#"[1,"{nonce}","+OK\r\n:1\r\n:1\r\n{found}"]"#)),
            3 => None,
            sent if sent < 4 + wrong => Some(format!(r#"[3,"{nonce}","{at_us}","{found}"]"#)),
            _ => Some(format!(r#"[2,"{nonce}","1700000000000001","+OK\r\n:1\r\n:1\r\n{found}"]"#)),
        };
        async move { said.map(|said| json(200, &format!(r#"{{"result":{said}}}"#))) }
    });
    let lock = client(&url.await, "token").max_attempts(2).lock("a");
    let sale = GroupCommit::new(Stock);
    sale.submit(&lock, 0).await.unwrap();
    sale.submit(&lock, 1).await
}

/// By then Redis may have forgotten that the first copy ran: its clock may have been set.
async fn a_turn_that_is_repeated_behind_the_time_that_it_names_is_unknown() {
    const BEGUN: u64 = 1_700_000_000_000_000;
    assert_eq!(repeated(BEGUN + 5_000_000, 1).await, Ok(Some(98)));
    let error = repeated(BEGUN + 30_000_000, 1).await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error}");
    // A guess that takes the lock is not told that it was wrong.
    let error = repeated(BEGUN + 5_000_000, 3).await.unwrap_err();
    assert_eq!(error.code(), "unexpected_reply");
}

async fn what_the_next_turn_will_read_makes_no_request_larger_than_it_may_be(stack: Stack) {
    let proxy = Proxy::before(&stack, []).await;
    let lock = proxy.client.lock("a");
    // Reads much, and writes much.
    let wide = Own::<_, (), _, false> {
        reads: |()| {
            let key = |number: u64| format!("{number}{}", "k".repeat(400));
            (0..8).map(|number| Command::new("GET").key(key(number))).collect()
        },
        decide: |(), _, (), _| {
            let large = Command::new("SET").key("v").arg("v".repeat(8_000));
            Decision::Write(vec![large], ())
        },
    };
    let group = GroupCommit::new(wide).max_bytes(10_000);
    for _ in 0..3 {
        group.submit(&lock, ()).await.unwrap();
    }
    for words in proxy.seen() {
        let bytes: usize = words[2..].iter().map(|word| word.len() + 3).sum();
        assert!(bytes < 10_000, "{bytes}");
    }
}
