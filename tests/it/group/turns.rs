//! Who is in a turn, until when a caller may leave it, and what it may read.

use edgelock::{Command, Decision, GroupCommit, Reply, Section};
use testkit::stack;

use super::sale::{Answer, Sale, order};
use crate::support::turns::{placed, together};
use crate::support::{Stack, alone, eventually, ms, over};

alone! {
    a_caller_that_leaves_before_the_turn_has_the_lock_has_not_ordered,
    an_answer_that_the_bridge_does_not_let_through_is_no_reason_to_come_again,
}

over! {
    [spawn] {
        an_item_waits_no_longer_than_its_own_lock_says_whoever_drives,
        a_turn_that_all_have_left_writes_nothing_and_frees_the_lock,
        callers_that_ask_for_other_replicas_share_no_turn,
        items_whose_replies_are_too_large_together_have_smaller_turns,
        if_a_command_of_the_whole_turn_fails_its_items_are_unknown,
    }
}

async fn an_item_waits_no_longer_than_its_own_lock_says_whoever_drives(stack: Stack) {
    let held = stack.lock("a").try_acquire().await.unwrap();
    let sale = GroupCommit::new(Sale);
    let place = |number, wait| placed(&sale, &stack.lock("a").wait_timeout(wait), order(number));
    let first = place(0, ms(200));
    tokio::task::yield_now().await;
    // The next turn has both of these from its beginning.
    let (driver, hasty) = (place(1, ms(60_000)), place(2, ms(600)));
    for outcome in [first, hasty] {
        assert_eq!(outcome.await.unwrap().unwrap_err().code(), "held");
    }
    assert!(!driver.is_finished());
    driver.abort();
    held.release().await.unwrap();
}

async fn a_caller_that_leaves_before_the_turn_has_the_lock_has_not_ordered() {
    for leaves in [[0, 1], [1, 2], [0, 2]] {
        let mut stack = Stack::spawn();
        let _: () = stack.redis("SET stock 9");
        let held = stack.lock("a").try_acquire().await.unwrap();
        let (client, seen) = stack.watched();
        let sale = GroupCommit::new(Sale);
        let lock = client.lock("a");
        let mut orders = [0, 1, 2].map(|number| Some(placed(&sale, &lock, order(number))));
        eventually(|| seen.sent() >= 2).await;
        for number in leaves {
            orders[number].take().expect("it came").abort();
        }
        held.release().await.unwrap();
        let stays = orders.iter().position(Option::is_some).expect("one stays");
        let answer = orders[stays].take().expect("it came").await.unwrap();
        assert_eq!(answer.unwrap().left(), Some(8));
        assert_eq!(stack.redis::<Vec<usize>>("HKEYS orders"), [stays]);
    }
}

async fn a_turn_that_all_have_left_writes_nothing_and_frees_the_lock(mut stack: Stack) {
    let _: () = stack.redis("SET stock 9");
    let held = stack.lock("a").try_acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let (sale, lock) = (GroupCommit::new(Sale), client.lock("a"));
    let first = placed(&sale, &lock, order(0));
    eventually(|| seen.sent() >= 2).await;
    first.abort();
    held.release().await.unwrap();
    let next = sale.submit(&stack.lock("a"), order(1)).await.unwrap();
    assert_eq!(next.left(), Some(8));
    assert_eq!(stack.redis::<Vec<u64>>("HKEYS orders"), [1]);
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
}

async fn callers_that_ask_for_other_replicas_share_no_turn(mut stack: Stack) {
    let _: () = stack.redis("SET stock 9");
    let sale = GroupCommit::new(Sale);
    let plain = stack.lock("a");
    let careful = plain.clone().wait_for_replicas(1, ms(50));
    let (plain, careful) =
        tokio::join!(sale.submit(&plain, order(0)), sale.submit(&careful, order(1)));
    assert!(matches!(plain, Ok(Answer::Sold { .. })), "{plain:?}");
    // There are none.
    assert_eq!(careful.unwrap_err().code(), "not_replicated");
}

/// Reads a large value for each item, and writes what it is told at the end of a turn.
struct Large {
    end: Option<&'static str>,
}

impl Section for Large {
    type Item = u64;
    type Answer = usize;
    type State = ();

    fn reads(&self, number: &u64) -> Vec<Command> {
        vec![Command::new("GET").key(format!("large:{number}"))]
    }

    fn decide(&self, number: &u64, replies: &[Reply], (): &mut (), _: u64) -> Decision<usize> {
        let length = replies[0].as_str().map_or(0, str::len);
        let write = Command::new("RPUSH").key("lengths").arg(number);
        Decision::Write(vec![write], length)
    }

    fn end(&self, (): ()) -> Vec<Command> {
        let push = |key| Command::new("RPUSH").key(key).arg(1);
        self.end.map(push).into_iter().collect()
    }
}

async fn items_whose_replies_are_too_large_together_have_smaller_turns(mut stack: Stack) {
    for number in 0..40 {
        let _: () = stack.redis(&format!("SET large:{number} {}", "x".repeat(40_000)));
    }
    let (group, lock) = (GroupCommit::new(Large { end: None }), stack.lock("a"));
    for outcome in together(&group, &lock, 0..40).await {
        assert_eq!(outcome, Ok(40_000));
    }
    let order: Vec<u64> = stack.redis("LRANGE lengths 0 -1");
    assert_eq!(order, (0..40).collect::<Vec<_>>());
    // One that is too large alone is told so, and those beside it are decided.
    let _: () = stack.redis(&format!("SET large:40 {}", "x".repeat(2_000_000)));
    let (error, beside) = tokio::join!(group.submit(&lock, 40), group.submit(&lock, 7));
    let error = error.unwrap_err();
    assert_eq!(error.code(), "command_failed");
    assert!(error.to_string().contains("reply over 1 MiB"), "{error}");
    assert_eq!(beside, Ok(40_000));
}

async fn an_answer_that_the_bridge_does_not_let_through_is_no_reason_to_come_again() {
    let bridge = stack::Bridge::options().option("--max-reply=10000").start();
    let mut stack = Stack::of(bridge.expect("a bridge"));
    for number in 0..2 {
        let _: () = stack.redis(&format!("SET large:{number} {}", "x".repeat(20_000)));
    }
    let (group, lock) = (GroupCommit::new(Large { end: None }), stack.lock("a"));
    let (first, second) = tokio::join!(group.submit(&lock, 0), group.submit(&lock, 1));
    for error in [first, second].map(Result::unwrap_err) {
        assert_eq!(error.code(), "refused", "{error}");
        assert!(!error.is_outcome_unknown() && !error.is_retryable(), "{error}");
        assert!(error.to_string().contains("than the bridge lets through"), "{error}");
    }
    assert_eq!(stack.redis::<u64>("LLEN lengths"), 0);
}

async fn if_a_command_of_the_whole_turn_fails_its_items_are_unknown(mut stack: Stack) {
    let _: () = stack.redis("SET text x");
    let group = GroupCommit::new(Large { end: Some("text") });
    let error = group.submit(&stack.lock("a"), 7).await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error}");
    assert!(error.to_string().contains("WRONGTYPE"), "{error}");
    // Its own command was executed.
    assert_eq!(stack.redis::<Vec<u64>>("LRANGE lengths 0 -1"), [7]);
}
