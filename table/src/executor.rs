//! Runs a test on the thread that calls it, and turns the clock when nothing else is left to do.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use crate::world::{World, locked};

/// Background work.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

type Ready = Arc<Mutex<VecDeque<Arc<Job>>>>;

thread_local! {
    /// What is ready in the test that runs on this thread.
    static EXECUTOR: RefCell<Option<Ready>> = const { RefCell::new(None) };
}

/// What a test waits for: the test itself, or what it left to the background.
struct Job {
    work: Mutex<Work>,
    ready: Ready,
}

enum Work {
    Test,
    Task(Task),
    /// It is over, or under way.
    Nothing,
}

impl Job {
    fn begin(work: Work, ready: &Ready) {
        let job = Self { work: Mutex::new(work), ready: ready.clone() };
        Arc::new(job).wake();
    }

    /// Goes on with it. It may wake itself meanwhile.
    fn run(self: Arc<Self>, test: &mut dyn FnMut(&mut Context<'_>)) {
        let waker = Waker::from(self.clone());
        let mut cx = Context::from_waker(&waker);
        let work = std::mem::replace(&mut *locked(&self.work), Work::Nothing);
        let work = match work {
            Work::Test => {
                test(&mut cx);
                Work::Test
            }
            Work::Task(mut task) => match task.as_mut().poll(&mut cx) {
                Poll::Pending => Work::Task(task),
                Poll::Ready(()) => return,
            },
            Work::Nothing => return,
        };
        *locked(&self.work) = work;
    }
}

impl Wake for Job {
    fn wake(self: Arc<Self>) {
        let ready = self.ready.clone();
        locked(&ready).push_back(self);
    }
}

/// Ends the executor of this thread, also when the test panics.
struct Running(Option<Ready>);

impl Drop for Running {
    fn drop(&mut self) {
        EXECUTOR.set(self.0.take());
    }
}

/// Runs a test, with what it [`spawn`]s. When all of that waits, the clock goes on to the next
/// thing that somebody waits for.
///
/// # Panics
/// If the test waits for something that never comes.
pub fn block_on<O>(world: &World, test: impl Future<Output = O>) -> O {
    let ready = Ready::default();
    let _running = Running(EXECUTOR.replace(Some(ready.clone())));
    let (mut test, output) = (pin!(test), Cell::new(None));
    let mut poll = |cx: &mut Context<'_>| {
        output.set(match output.take() {
            None => match test.as_mut().poll(cx) {
                Poll::Ready(done) => Some(done),
                Poll::Pending => None,
            },
            done => done,
        });
    };
    Job::begin(Work::Test, &ready);
    loop {
        let next = locked(&ready).pop_front();
        if let Some(job) = next {
            job.run(&mut poll);
        } else if let Some(done) = output.take() {
            return done;
        } else {
            assert!(world.skip(), "the test waits for what never comes");
        }
    }
}

/// Leaves a task to the test that [`block_on`] runs on this thread. Returns it if there is none.
pub fn spawn(task: Task) -> Option<Task> {
    EXECUTOR.with_borrow(|executor| match executor {
        Some(ready) => {
            Job::begin(Work::Task(task), ready);
            None
        }
        None => Some(task),
    })
}
