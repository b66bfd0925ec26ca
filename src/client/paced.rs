//! What calls come to, and nobody holds: throttles and debounces.

use std::time::Duration;

use super::Client;
use crate::debounce::Debounce;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Fault;
use crate::kind::Kind;
use crate::lock::Lock;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::throttle::Throttle;
use crate::topology::Layout;
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Client<T, R> {
    /// Lets one call through in each `window` of 1 ms to 366 days, in whole milliseconds. Sends
    /// nothing.
    ///
    /// What it stores is beside the name, in `{name}:throttle`. So it does not meet a
    /// [lock](Client::lock) or a [debounce](Client::debounce) of the same name.
    ///
    /// As with [`Client::lock`], the first call is [`Error::InvalidArgument`] if the name is
    /// invalid. It also is if the window is out of range, or if this is a [quorum](Client::quorum).
    pub fn throttle(&self, name: &str, window: Duration) -> Throttle<T, R> {
        let refusal = "a throttle lives behind one bridge, not several: they would have to agree on which call comes first";
        Throttle::new(self.paced(name, refusal), window)
    }

    /// Lets the last of the calls through that come less than `wait` after each other: 1 ms to 24
    /// hours, in whole milliseconds. Sends nothing.
    ///
    /// What it stores is beside the name, in `{name}:debounce`. So it does not meet a
    /// [lock](Client::lock) or a [throttle](Client::throttle) of the same name.
    ///
    /// As with [`Client::lock`], the first call is [`Error::InvalidArgument`] if the name is
    /// invalid. It also is if the wait is out of range, or if this is a [quorum](Client::quorum).
    pub fn debounce(&self, name: &str, wait: Duration) -> Debounce<T, R> {
        let refusal = "a debounce lives behind one bridge, not several: they would have to agree on which call comes last";
        Debounce::new(self.paced(name, refusal), wait)
    }

    /// What has a name and makes claims, as a lock does, although nobody holds it. `refusal` is why
    /// several bridges cannot have it together.
    fn paced(&self, name: &str, refusal: &str) -> Lock<T, R> {
        let (name, named) = self.named(name);
        let placed = match self.topology.layout {
            Layout::Quorum => Err(Fault::invalid(refusal)),
            Layout::Single(_) | Layout::Sharded(_) => Ok(()),
        };
        let mut checked = self.checked.clone();
        checked.note(named);
        checked.note(placed);
        let settings = Settings::new(&self.topology, name, Kind::mutex(), checked);
        Lock::new(self.host.clone(), settings)
    }
}
