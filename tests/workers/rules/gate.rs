//! How many are served at the same time, in all and for a name.

use std::future::pending;
use std::pin::Pin;
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

/// What became of a request.
enum Request<'a> {
    Waits(Pin<Box<dyn Future<Output = Result<Place, Problem>> + 'a>>),
    Came(Result<Place, Problem>),
    Left,
}

impl<'a> Request<'a> {
    /// A request that concerns the names of one letter each, and will not wait behind a `!`.
    fn comes(gate: &'a Gate, names: &str, host: &'a Still) -> Self {
        let patience = Duration::from_secs(if names.starts_with('!') { 0 } else { 5 });
        let names = names.trim_start_matches('!').chars().map(String::from).collect();
        Self::Waits(Box::pin(gate.enter(names, patience, host)))
    }

    fn now(&mut self) -> char {
        if let Self::Waits(entering) = self
            && let Poll::Ready(outcome) =
                entering.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            *self = Self::Came(outcome);
        }
        match self {
            Self::Waits(_) => 'w',
            Self::Came(Ok(_)) => 'i',
            Self::Came(Err(problem)) => {
                assert_eq!((problem.status, problem.code), (503, "crowded"));
                assert_eq!(problem.header, Some(("retry-after", "1".into())));
                'r'
            }
            Self::Left => '-',
        }
    }
}

/// Lets in 2 of a name and 4 in all. Behind them, 2 of a name may wait, and 3 in all.
fn gate() -> Gate {
    Gate::new(Most { of_a_name: 2, in_all: 4 }, Most { of_a_name: 2, in_all: 3 })
}

/// In each step somebody comes for names, or the request of this number leaves. Behind the colon is
/// what became of each request: it `w`aits, is `i`n, was `r`efused, or has left.
#[track_caller]
fn check(steps: &str) {
    let gate = gate();
    let mut requests = Vec::new();
    for (who, expected) in steps.split(' ').filter_map(|step| step.split_once(':')) {
        match who.parse::<usize>() {
            Ok(number) => requests[number] = Request::Left,
            Err(_) => requests.push(Request::comes(&gate, who, &Still(Duration::ZERO))),
        }
        let seen: String = requests.iter_mut().map(Request::now).collect();
        assert_eq!(seen, expected, "{who} of {steps}");
    }
}

#[test]
fn so_many_of_a_name_are_inside_and_the_others_follow_in_order() {
    check("a:i a:ii a:iiw a:iiww b:iiwwi 0:-iiwi 1:--iii");
}

#[test]
fn so_many_are_inside_in_all_and_so_many_wait_and_others_are_refused_at_once() {
    // One that hangs up leaves its place to another one.
    check(
        "a:i b:ii c:iii d:iiii e:iiiiw f:iiiiww e:iiiiwww g:iiiiwwwr 5:iiiiw-wr g:iiiiw-wrw 0:-iiii-wrw",
    );
}

#[test]
fn so_many_wait_for_a_name_and_others_are_refused_at_once() {
    check("a:i a:ii a:iiw a:iiww ba:iiwwr b:iiwwri");
    check("a:i a:ii !a:iir !b:iiri");
}

/// It would never get in if those of one of its names were always let in before it.
#[test]
fn nobody_overtakes_one_that_waits_for_several_names() {
    check("b:i b:ii ab:iiw a:iiwi a:iiwiw 0:-iiiw 3:-ii-i");
}

#[test]
fn a_request_that_its_host_cut_short_does_not_keep_its_place() {
    let gate = gate();
    for _ in 0..2 {
        let mut request = Request::comes(&gate, "a", &Still(Duration::ZERO));
        assert_eq!(request.now(), 'i');
        std::mem::forget(request);
    }
    let later = Still(Duration::from_millis(60_001));
    assert_eq!(Request::comes(&gate, "a", &later).now(), 'i');
}
