//! Virtual time, and machines that run tasks. Nothing happens that was not scheduled, and each seed
//! has one order of events.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Nanoseconds since the world began.
pub(crate) type Time = u64;

pub(crate) const MS: Time = 1_000_000;

/// A client's computer. Its clock has a speed of its own, it can be paused, and it can die.
pub(crate) struct Machine {
    /// By how many millionths its clock is too fast.
    pub(crate) drift_ppm: i64,
    pub(crate) paused_until: Cell<Time>,
    /// How long it has stood still so far, including the present pause.
    pub(crate) paused_for: Cell<Time>,
    pub(crate) is_dead: Cell<bool>,
    /// How long its clock has stood still so far, which happens only in a sabotage.
    pub(crate) stood_still: Cell<Time>,
    /// When its caller hangs up, if it tells that.
    pub(crate) hangs_up_at: Cell<Option<Time>>,
    /// For how much it goes on though its caller is gone.
    pub(crate) stays: Cell<usize>,
}

impl Machine {
    pub(crate) const fn new(drift_ppm: i64) -> Self {
        Self {
            drift_ppm,
            paused_until: Cell::new(0),
            paused_for: Cell::new(0),
            is_dead: Cell::new(false),
            stood_still: Cell::new(0),
            hangs_up_at: Cell::new(None),
            stays: Cell::new(0),
        }
    }

    /// Pauses it from now on.
    pub(crate) fn pause(&self, now: Time, time: Time) {
        let before = self.paused_until.get().max(now);
        let until = before.max(now + time);
        self.paused_until.set(until);
        self.paused_for.set(self.paused_for.get() + until - before);
    }

    /// What its clock shows.
    pub(crate) fn clock(&self, time: Time) -> Time {
        scaled(time, 1_000_000 + self.drift_ppm, 1_000_000).saturating_sub(self.stood_still.get())
    }

    /// The shortest time in which its clock goes on by `shown`.
    pub(crate) fn lasts(&self, shown: Duration) -> Time {
        let shown = u64::try_from(shown.as_nanos()).unwrap_or(u64::MAX);
        scaled(shown.min(FOREVER), 1_000_000, 1_000_000 + self.drift_ppm) + 1
    }
}

const FOREVER: Time = 1_000_000_000 * MS;

fn scaled(time: Time, by: i64, of: i64) -> Time {
    (i128::from(time) * i128::from(by) / i128::from(of)) as Time
}

#[derive(Default)]
pub(crate) struct World {
    now: Cell<Time>,
    scheduled: Cell<u64>,
    events: RefCell<BinaryHeap<Reverse<Event>>>,
    tasks: RefCell<BTreeMap<usize, Placed>>,
    spawned: Cell<usize>,
    ready: Arc<Ready>,
    is_over: Cell<bool>,
}

/// A task, which need not be `Send`: each world is on one thread.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The machine of a task, and the task itself unless it is being polled.
type Placed = (Rc<Machine>, Option<Task>);

type Ready = Mutex<VecDeque<usize>>;

struct Event {
    at: Time,
    number: u64,
    act: Box<dyn FnOnce()>,
    /// For a timer: alive as long as somebody waits for it.
    waits: Option<Weak<()>>,
}

impl Event {
    /// Whether nobody waits for it any more.
    fn is_stale(&self) -> bool {
        (self.waits.as_ref()).is_some_and(|waits| waits.strong_count() == 0)
    }
}

impl World {
    pub(crate) fn now(&self) -> Time {
        self.now.get()
    }

    /// Lets `act` happen after so much time.
    pub(crate) fn schedule(&self, after: Time, act: impl FnOnce() + 'static) {
        self.put(after, Box::new(act), None);
    }

    fn put(&self, after: Time, act: Box<dyn FnOnce()>, waits: Option<Weak<()>>) {
        let number = self.scheduled.replace(self.scheduled.get() + 1);
        let at = self.now.get().saturating_add(after);
        let event = Event { at, number, act, waits };
        self.events.borrow_mut().push(Reverse(event));
    }

    /// When the next timer ends that somebody waits for.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        let mut events = self.events.borrow_mut();
        while events.peek().is_some_and(|next| next.0.is_stale()) {
            events.pop();
        }
        events.peek().map(|next| next.0.at)
    }

    /// Lets all happen that is due by then.
    pub(crate) fn go_on_to(&self, then: Time) {
        while self.next_timer().is_some_and(|at| at <= then) {
            let Some(Reverse(event)) = self.events.borrow_mut().pop() else {
                break;
            };
            self.now.set(event.at);
            (event.act)();
            self.poll_ready();
        }
        self.now.set(then);
    }

    /// Runs `task` on `machine`, until the machine dies. Returns the task's number.
    pub(crate) fn spawn(&self, machine: &Rc<Machine>, task: Task) -> usize {
        let id = self.spawned.replace(self.spawned.get() + 1);
        if self.is_over.get() || machine.is_dead.get() {
            return id;
        }
        let entry = (machine.clone(), Some(task));
        self.tasks.borrow_mut().insert(id, entry);
        self.ready.lock().expect("ready").push_back(id);
        id
    }

    /// Drops a task.
    pub(crate) fn cancel(&self, id: usize) {
        let task = self.tasks.borrow_mut().remove(&id);
        drop(task);
    }

    /// Ends all tasks of `machine` at once, without giving anything back.
    pub(crate) fn kill(&self, machine: &Machine) {
        machine.is_dead.set(true);
        let dead: Vec<_> =
            (self.tasks.borrow_mut()).extract_if(.., |_, (on, _)| on.is_dead.get()).collect();
        drop(dead);
    }

    /// Ends the world: what is dropped now can no longer do anything.
    pub(crate) fn end(&self) {
        self.is_over.set(true);
        drop(self.tasks.take());
        drop(self.events.take());
    }

    /// Lets time pass until `is_done`, or until `limit` is over, and calls `check` after each step.
    /// Returns whether it was done.
    pub(crate) fn run(&self, limit: Time, is_done: impl Fn() -> bool, check: impl Fn()) -> bool {
        let limit = self.now.get() + limit;
        loop {
            self.poll_ready();
            check();
            if is_done() {
                return true;
            }
            let mut events = self.events.borrow_mut();
            // A later event stays for the next call.
            if events.peek().is_none_or(|next| next.0.at > limit) {
                return false;
            }
            let next = events.pop();
            drop(events);
            let Some(Reverse(event)) = next else {
                return false;
            };
            self.now.set(event.at);
            (event.act)();
        }
    }

    /// Polls all tasks that can go on.
    pub(crate) fn poll_ready(&self) {
        loop {
            let Some(id) = self.ready.lock().expect("ready").pop_front() else {
                return;
            };
            let (machine, task) = match self.tasks.borrow_mut().get_mut(&id) {
                Some((machine, task)) => (machine.clone(), task.take()),
                None => continue,
            };
            let Some(mut task) = task else { continue };
            let waker = Waker::from(Arc::new(TaskWaker(id, self.ready.clone())));
            let paused = machine.paused_until.get().saturating_sub(self.now.get());
            let is_ready = if paused > 0 {
                self.schedule(paused, move || waker.wake());
                false
            } else {
                let mut context = Context::from_waker(&waker);
                task.as_mut().poll(&mut context).is_ready()
            };
            // The task may have killed its own machine.
            let mut tasks = self.tasks.borrow_mut();
            let entry = tasks.get_mut(&id);
            if is_ready {
                let done = tasks.remove(&id);
                drop(tasks);
                drop((done, task));
            } else if let Some((_, place)) = entry {
                *place = Some(task);
            }
        }
    }

    /// Completes once the clock of `machine` has gone on by `duration`.
    pub(crate) fn sleep(self: &Rc<Self>, machine: &Machine, duration: Duration) -> Sleep {
        Sleep {
            world: self.clone(),
            until: self.now.get().saturating_add(machine.lasts(duration)),
            sleeper: Rc::default(),
            waits: Rc::default(),
            is_set: false,
        }
    }
}

struct TaskWaker(usize, Arc<Ready>);

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut ready = self.1.lock().expect("ready");
        if !ready.contains(&self.0) {
            ready.push_back(self.0);
        }
    }
}

pub(crate) struct Sleep {
    world: Rc<World>,
    until: Time,
    /// The waker of the task that polled it last.
    sleeper: Rc<RefCell<Option<Waker>>>,
    waits: Rc<()>,
    is_set: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let left = self.until.saturating_sub(self.world.now());
        if left == 0 {
            return Poll::Ready(());
        }
        *self.sleeper.borrow_mut() = Some(context.waker().clone());
        if !std::mem::replace(&mut self.is_set, true) {
            let sleeper = self.sleeper.clone();
            let wake = move || {
                if let Some(waker) = sleeper.take() {
                    waker.wake();
                }
            };
            let waits = Rc::downgrade(&self.waits);
            self.world.put(left, Box::new(wake), Some(waits));
        }
        Poll::Pending
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
