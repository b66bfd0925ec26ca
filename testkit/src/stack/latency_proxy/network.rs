//! The state of the network that a proxy stands for, and how it fails.

use std::mem;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A handle on the network between two ends. Any thread may break it.
#[derive(Clone)]
pub struct Network(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    released: Condvar,
}

struct State {
    far: SocketAddr,
    each_way: Duration,
    is_held: bool,
    /// How often it was cut. A connection that was begun before a cut does not outlive it.
    cuts: u64,
    open: Vec<Weak<TcpStream>>,
}

impl Network {
    pub(super) fn to(far: SocketAddr, each_way: Duration) -> Self {
        let state = State { far, each_way, is_held: false, cuts: 0, open: Vec::new() };
        Self(Arc::new(Shared { state: Mutex::new(state), released: Condvar::new() }))
    }

    /// From now on, what is sent arrives so much later.
    pub fn delay(&self, each_way: Duration) {
        self.state().each_way = each_way;
    }

    /// From now on nothing arrives, without anybody being told, until [`Network::release`].
    pub fn hold(&self) {
        self.state().is_held = true;
    }

    /// What was held arrives.
    pub fn release(&self) {
        self.state().is_held = false;
        self.0.released.notify_all();
    }

    /// Ends each connection. Both of its ends notice, and what was under way never arrives.
    pub fn cut(&self) {
        let mut state = self.state();
        state.cuts += 1;
        for stream in mem::take(&mut state.open) {
            if let Some(stream) = stream.upgrade() {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// From now on it leads to another server. What led to the one before is cut.
    pub fn lead_to(&self, far: SocketAddr) {
        self.state().far = far;
        self.cut();
    }

    pub(super) fn each_way(&self) -> Duration {
        self.state().each_way
    }

    pub(super) fn wait_until_open(&self) {
        let state = self.state();
        let _open = self.0.released.wait_while(state, |state| state.is_held);
    }

    /// The two ends of a new connection, unless there is no server, or a cut came between.
    pub(super) fn connect(&self, near: TcpStream) -> Option<(Arc<TcpStream>, Arc<TcpStream>)> {
        let (far, cuts) = {
            let state = self.state();
            (state.far, state.cuts)
        };
        let far = TcpStream::connect(far).ok()?;
        let _ = (near.set_nodelay(true), far.set_nodelay(true));
        let ends = (Arc::new(near), Arc::new(far));
        let mut state = self.state();
        state.open.retain(|stream| stream.strong_count() > 0);
        let new = [&ends.0, &ends.1].map(Arc::downgrade);
        state.open.extend(new);
        (state.cuts == cuts).then_some(ends)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
