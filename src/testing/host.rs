//! The clock of a table as its clients' runtime.

use std::future::Future;
use std::sync::Arc;
#[cfg(not(target_family = "wasm"))]
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use edgelock_table::{World, spawn};

use crate::runtime::{EntropyUnavailable, Instant, Runtime, Task};

/// A table's clock as [`Runtime`].
pub struct Host(pub(super) Arc<World>);

impl Runtime for Host {
    fn now(&self) -> Instant {
        Instant::from_origin(self.0.now())
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        World::sleep(&self.0, duration)
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        for bytes in bytes.chunks_mut(8) {
            bytes.copy_from_slice(&self.0.draw().to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }

    fn spawn(&self, task: Task) {
        if let Some(task) = spawn(task) {
            elsewhere(task);
        }
    }
}

/// Background work of a test that another executor runs: a task of the host's thread in wasm, and a
/// thread elsewhere.
fn elsewhere(task: Task) {
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    crate::web::spawn(task);
    #[cfg(not(target_family = "wasm"))]
    std::thread::spawn(move || {
        let waker = Waker::from(Arc::new(Thread(std::thread::current())));
        let (mut task, mut cx) = (task, Context::from_waker(&waker));
        while task.as_mut().poll(&mut cx).is_pending() {
            std::thread::park();
        }
    });
    // A component has neither; its tests have `block_on`.
    #[cfg(all(target_family = "wasm", not(target_os = "unknown")))]
    drop(task);
}

#[cfg(not(target_family = "wasm"))]
struct Thread(std::thread::Thread);

#[cfg(not(target_family = "wasm"))]
impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
