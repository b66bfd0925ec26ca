//! A table with its time, and those who wait for either.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::bridge::refusal;
use crate::reply::Reply;
use crate::table::{Listener, Table};

/// What happens to a request.
pub enum Fault {
    /// It does not arrive.
    LoseRequest,
    /// It is executed, and its reply does not arrive.
    LoseReply,
    /// It is not executed, and gets this error of Redis.
    Fail(String),
}

/// A table that its clients share, with their clock.
#[derive(Default)]
pub struct World(Mutex<State>);

#[derive(Default)]
struct State {
    table: Table,
    /// Since the clock's origin.
    now: Duration,
    faults: VecDeque<Fault>,
    /// Each with the time at which it wakes.
    sleepers: BTreeMap<u64, (Duration, Waker)>,
    streams: BTreeMap<Listener, (VecDeque<Vec<u8>>, Option<Waker>)>,
    /// How many numbers were drawn.
    drawn: u64,
}

/// Redis's clock at the origin of the other: in the year 2020, so that fences look like fences.
const ORIGIN_US: i64 = 1_600_000_000_000_000;

impl State {
    fn now_us(&self) -> i64 {
        ORIGIN_US + i64::try_from(self.now.as_micros()).unwrap_or(i64::MAX / 2)
    }

    /// Hands out what was published. Returns whom to wake, which nobody does in here.
    fn deliver(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        for (listener, text) in self.table.take_messages() {
            if let Some((texts, waker)) = self.streams.get_mut(&listener) {
                texts.push_back(text);
                woken.extend(waker.take());
            }
        }
        woken
    }
}

impl World {
    /// Since the clock's origin.
    pub fn now(&self) -> Duration {
        locked(&self.0).now
    }

    /// Has this happen to the next request that nothing happens to yet.
    pub fn fault(&self, fault: Fault) {
        locked(&self.0).faults.push_back(fault);
    }

    /// A number that no other draw of this world has. It tells tokens apart, and is no secret.
    pub fn draw(&self) -> u64 {
        let mut state = locked(&self.0);
        state.drawn += 1;
        // Its bits are spread over all: whoever waits a random time takes some of them.
        let mixed = state.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    }

    /// Turns the clock on, and wakes who waits until then.
    pub fn advance(&self, time: Duration) {
        let woken: Vec<Waker> = {
            let mut state = locked(&self.0);
            state.now += time;
            let now = state.now;
            let due = state.sleepers.extract_if(.., |_, (at, _)| *at <= now);
            due.map(|(_, (_, waker))| waker).collect()
        };
        woken.into_iter().for_each(Waker::wake);
    }

    /// Turns the clock on to when the next sleeper wakes. Returns whether there is one.
    pub(crate) fn skip(&self) -> bool {
        let next = {
            let state = locked(&self.0);
            let next = state.sleepers.values().map(|(at, _)| *at).min();
            next.map(|at| at.saturating_sub(state.now))
        };
        next.is_some_and(|time| {
            self.advance(time);
            true
        })
    }

    /// Completes once the clock is turned on by this time.
    pub fn sleep(world: &Arc<Self>, time: Duration) -> impl Future<Output = ()> + Send + use<> {
        Sleep { world: world.clone(), at: world.now() + time, sleeper: world.draw() }
    }

    /// Whether it is time; else the sleeper of this number is woken then.
    fn poll_until(&self, at: Duration, sleeper: u64, cx: &Context<'_>) -> Poll<()> {
        let mut state = locked(&self.0);
        if state.now >= at {
            return Poll::Ready(());
        }
        state.sleepers.insert(sleeper, (at, cx.waker().clone()));
        Poll::Pending
    }

    fn wakes_no_more(&self, sleeper: u64) {
        locked(&self.0).sleepers.remove(&sleeper);
    }

    /// The response of the bridge: its status and its body.
    ///
    /// # Errors
    /// What was lost.
    pub fn answer(&self, path: &str, body: &str) -> Result<(u16, String), &'static str> {
        let fault = locked(&self.0).faults.pop_front();
        match fault {
            Some(Fault::LoseRequest) => return Err("the test lost the request"),
            Some(Fault::Fail(error)) => return Ok(refusal(&error)),
            _ => {}
        }
        let answer = self.with_table(|table, now_us| table.answer(now_us, path, body));
        match fault {
            Some(Fault::LoseReply) => Err("the test lost the reply"),
            _ => Ok(answer),
        }
    }

    /// Executes a command.
    pub fn run(&self, words: &[&str]) -> Reply {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.with_table(|table, now_us| table.execute(now_us, &words))
    }

    fn with_table<O>(&self, change: impl FnOnce(&mut Table, i64) -> O) -> O {
        let (output, woken) = {
            let mut state = locked(&self.0);
            let now = state.now_us();
            let output = change(&mut state.table, now);
            (output, state.deliver())
        };
        woken.into_iter().for_each(Waker::wake);
        output
    }

    /// As [`Table::listen`].
    pub fn listen(&self, channel: &[u8]) -> Listener {
        let mut state = locked(&self.0);
        let listener = state.table.listen(channel);
        state.streams.insert(listener, Default::default());
        listener
    }

    /// What has been published since; else the listener is woken by the next message.
    pub fn next_message(&self, listener: Listener, cx: &Context<'_>) -> Option<Vec<u8>> {
        let mut state = locked(&self.0);
        let (texts, waker) = state.streams.get_mut(&listener)?;
        *waker = Some(cx.waker().clone());
        texts.pop_front()
    }

    /// As [`Table::hang_up`].
    pub fn hang_up(&self, listener: Listener) {
        let mut state = locked(&self.0);
        state.table.hang_up(listener);
        state.streams.remove(&listener);
    }
}

/// Wakes at a time of the table's clock.
struct Sleep {
    world: Arc<World>,
    at: Duration,
    sleeper: u64,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.world.poll_until(self.at, self.sleeper, cx)
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.world.wakes_no_more(self.sleeper);
    }
}

/// A panic of another that had it locked does not matter: nobody leaves a change half done.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
