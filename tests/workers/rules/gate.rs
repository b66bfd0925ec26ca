//! How many are served at the same time, in all and for a name.

use std::future::pending;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use edgelock::{EntropyUnavailable, Instant, Runtime, Task};
use shared::gate::{Gate, Most, Place};
use shared::problem::Problem;

/// A host on which no time passes.
struct Still(Duration);

impl Runtime for Still {
    fn now(&self) -> Instant {
        Instant::from_origin(self.0)
    }

    async fn sleep(&self, _: Duration) {
        pending().await
    }

    fn random(&self, _: &mut [u8]) -> Result<(), EntropyUnavailable> {
        Err(EntropyUnavailable)
    }

    fn spawn(&self, _: Task) {}
}

const STILL: Still = Still(Duration::ZERO);

type Entering<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Place, Problem>> + 'a>>;

const LONG: Duration = Duration::from_secs(5);

/// Lets in 2 of a name and 3 in all. As many may wait.
fn gate() -> Gate {
    let most = Most { of_a_name: 2, in_all: 3 };
    Gate::new(most, most)
}

fn entering<'a>(gate: &'a Gate, names: &[&str]) -> Entering<'a> {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Box::pin(gate.enter(names, LONG, &STILL))
}

/// What becomes of it without time: `None` if it waits.
fn now(entering: &mut Entering<'_>) -> Option<Result<Place, Problem>> {
    match entering.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

fn is_in(entering: &mut Entering<'_>) -> Option<Place> {
    now(entering).map(|outcome| outcome.unwrap_or_else(|_| panic!("a refusal")))
}

#[track_caller]
fn is_refused(outcome: Option<Result<Place, Problem>>) {
    let problem = outcome.expect("an answer at once").err();
    let problem = problem.expect("a refusal");
    assert_eq!((problem.status, problem.code), (503, "crowded"));
    assert_eq!(problem.header, Some(("retry-after", "1".into())));
}

#[test]
fn so_many_of_a_name_are_inside_and_the_others_follow_in_order() {
    let gate = gate();
    let [first, second] = [(); 2].map(|()| is_in(&mut entering(&gate, &["a"])));
    let (mut third, mut fourth) = (entering(&gate, &["a"]), entering(&gate, &["a"]));
    assert!(is_in(&mut third).is_none() && is_in(&mut fourth).is_none());
    let other = is_in(&mut entering(&gate, &["b"]));
    assert!(other.is_some(), "another name");
    drop(first);
    assert!(is_in(&mut fourth).is_none(), "it is not its turn");
    let third = is_in(&mut third);
    assert!(third.is_some());
    drop(second);
    assert!(is_in(&mut fourth).is_some());
}

#[test]
fn so_many_are_inside_in_all_and_so_many_wait_and_others_are_refused_at_once() {
    let gate = gate();
    let inside = ["a", "b", "c"].map(|name| is_in(&mut entering(&gate, &[name])));
    assert!(inside.iter().all(Option::is_some));
    let mut waiting = ["d", "d", "e"].map(|name| entering(&gate, &[name]));
    assert!(waiting.iter_mut().all(|one| is_in(one).is_none()));
    is_refused(now(&mut entering(&gate, &["f"])));
    // One that hangs up leaves its place to another one.
    let [mut first, second, _third] = waiting;
    drop(second);
    assert!(is_in(&mut entering(&gate, &["d"])).is_none());
    drop(inside);
    assert!(is_in(&mut first).is_some());
}

#[test]
fn so_many_wait_for_a_name_and_others_are_refused_at_once() {
    let gate = gate();
    let _inside = [(); 2].map(|()| is_in(&mut entering(&gate, &["a"])));
    let mut waiting = [(); 2].map(|()| entering(&gate, &["a"]));
    assert!(waiting.iter_mut().all(|one| is_in(one).is_none()));
    is_refused(now(&mut entering(&gate, &["b", "a"])));
    assert!(is_in(&mut entering(&gate, &["b"])).is_some());
    let impatient = gate.enter(vec!["a".to_owned()], Duration::ZERO, &STILL);
    is_refused(now(&mut (Box::pin(impatient) as Entering<'_>)));
}

/// It would never get in if those of one of its names were always let in before it.
#[test]
fn nobody_overtakes_one_that_waits_for_several_names() {
    let gate = gate();
    let a = [(); 2].map(|()| is_in(&mut entering(&gate, &["a"])));
    let mut both = entering(&gate, &["a", "b"]);
    assert!(is_in(&mut both).is_none());
    let b = is_in(&mut entering(&gate, &["b"]));
    assert!(b.is_some(), "there is room for it beside the one that waits");
    drop(a);
    let mut behind = entering(&gate, &["b"]);
    assert!(is_in(&mut behind).is_none());
    let both = is_in(&mut both);
    assert!(both.is_some());
    drop(b);
    assert!(is_in(&mut behind).is_some());
}

#[test]
fn a_request_that_its_host_cut_short_does_not_keep_its_place() {
    let gate = gate();
    for _ in 0..2 {
        let place = is_in(&mut entering(&gate, &["a"]));
        std::mem::forget(place);
    }
    let later = Still(Duration::from_millis(60_001));
    let mut entering = Box::pin(gate.enter(vec!["a".to_owned()], LONG, &later)) as Entering<'_>;
    assert!(is_in(&mut entering).is_some());
}
