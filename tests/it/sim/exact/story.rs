//! The words of the stories: who there is, what happens, and what comes of it.

use super::*;

/// Stories, each as `name: what comes of it => what must,`. Each becomes a test.
macro_rules! stories {
    ($($(#[$said:meta])* $name:ident: $story:expr => $comes:pat $(if $is:expr)?,)*) => {$(
        $(#[$said])*
        #[test]
        fn $name() {
            match $story {
                $comes $(if $is)? => {}
                other => panic!("{other:?}"),
            }
        }
    )*};
}
pub(crate) use stories;

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const STEADY: Net = Net { least: 10 * MS, latency: 10 * MS, ..Net::QUIET };

/// A net in which no request arrives.
pub(crate) const CUT: Net = Net { lose_request: 1_000, ..STEADY };

/// A net in which no message arrives.
pub(crate) const DEAF: Net = Net { lose_push: 1_000, ..STEADY };

/// Lets `story` happen, to its end. Returns what it comes to.
pub(crate) fn play<O: 'static, F: Future<Output = O> + 'static>(
    story: impl FnOnce(Rc<Case>) -> F,
) -> O {
    play_on(Redis::default(), story)
}

pub(crate) fn play_on<O: 'static, F: Future<Output = O> + 'static>(
    redis: impl Into<Rc<Redis>>,
    story: impl FnOnce(Rc<Case>) -> F,
) -> O {
    play_with(redis, Bent::Straight, story)
}

pub(crate) fn play_with<O: 'static, F: Future<Output = O> + 'static>(
    redis: impl Into<Rc<Redis>>,
    bent: Bent,
    story: impl FnOnce(Rc<Case>) -> F,
) -> O {
    let case = Case::new(0, &redis.into(), Check::default(), bent, Trace::OFF);
    case.net.set(STEADY);
    let story = meanwhile(&case, &machine(), story(case.clone()));
    assert!(case.pass(1_000_000 * MS, || story.at().is_some()));
    let violation = case.check.violation();
    assert!(violation.is_none(), "{violation:?}");
    case.world.end();
    story.told()
}

/// From now on every way takes so many milliseconds.
pub(crate) fn slow_down(case: &Case, way: u64) {
    case.net.set(Net { least: way * MS, latency: way * MS, ..STEADY });
}

/// Work that goes on beside a story: when it was done, and what came of it.
pub(crate) struct Beside<O>(Rc<RefCell<Option<(Time, O)>>>);

impl<O> Beside<O> {
    /// When it was done, in milliseconds.
    pub(crate) fn at(&self) -> Option<u64> {
        self.0.borrow().as_ref().map(|(at, _)| at / MS)
    }

    pub(crate) fn told(&self) -> O {
        self.0.take().expect("it is done").1
    }
}

/// Runs `work` beside the story.
pub(crate) fn meanwhile<O: 'static>(
    case: &Rc<Case>,
    machine: &Rc<Machine>,
    work: impl Future<Output = O> + 'static,
) -> Beside<O> {
    let done: Rc<RefCell<_>> = Rc::default();
    let (noted, world) = (done.clone(), case.world.clone());
    let task = async move {
        let outcome = work.await;
        noted.replace(Some((world.now(), outcome)));
    };
    case.world.spawn(machine, Box::pin(task));
    Beside(done)
}

pub(crate) fn machine() -> Rc<Machine> {
    Rc::new(Machine::new(0))
}

/// From now on `machine` stands still for so many milliseconds.
pub(crate) fn stand_still(case: &Case, machine: &Machine, ms: u64) {
    machine.pause(case.world.now(), ms * MS);
    case.world.schedule(ms * MS, || {});
}

pub(crate) const SETTINGS: Settings =
    Settings { script_cache: false, push: true, attempts: 3, timeout: ms(500) };

/// With push or without.
pub(crate) const fn pushes(push: bool) -> Settings {
    Settings { push, ..SETTINGS }
}

pub(crate) fn client(case: &Rc<Case>, machine: &Rc<Machine>) -> SimClient {
    host::client(case, machine, SETTINGS)
}

/// The lock `a` of a client of its own.
pub(crate) fn lock_with(case: &Rc<Case>, settings: Settings) -> SimLock {
    host::client(case, &machine(), settings).lock("a")
}

pub(crate) fn lock(case: &Rc<Case>) -> SimLock {
    lock_with(case, SETTINGS)
}

/// The lock `a`, held for a minute.
pub(crate) async fn held(case: &Rc<Case>) -> SimLease {
    lock(case).ttl(s(60)).acquire().await.expect("a lease")
}

/// Waits by `lock`, and gives it back at once.
pub(crate) fn waits_by(case: &Rc<Case>, lock: SimLock) -> Beside<()> {
    meanwhile(case, &machine(), async move {
        drop(lock.acquire().await.expect("a lease"));
    })
}

/// Waits for the lock `a`, and gives it back at once.
pub(crate) fn waits(case: &Rc<Case>) -> Beside<()> {
    waits_by(case, lock(case).wait_timeout(s(60)).max_requests(100))
}

/// Gives `lease` back. Returns how much later `next` is done, if it is within so many milliseconds.
pub(crate) async fn follows<O>(
    case: &Case,
    lease: SimLease,
    next: &Beside<O>,
    within: u64,
) -> Option<u64> {
    let released = now(case);
    lease.release().await.expect("held");
    sleep(case, within).await;
    next.at().map(|at| at - released)
}

pub(crate) async fn sleep(case: &Case, time: u64) {
    case.world.sleep(&Machine::new(0), ms(time)).await;
}

/// The present time, in milliseconds.
pub(crate) fn now(case: &Case) -> u64 {
    case.world.now() / MS
}

pub(crate) fn append() -> [Command; 1] {
    [Command::new("APPEND").key("log:a").arg(";")]
}

#[track_caller]
pub(crate) fn is_outcome_unknown<O: std::fmt::Debug>(outcome: Result<O, Error>) {
    let error = outcome.expect_err("nobody can know");
    assert!(error.is_outcome_unknown(), "{error}");
}
