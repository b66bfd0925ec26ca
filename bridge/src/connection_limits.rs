//! How many connections there may be, in all and from one address, and how many of them may be
//! streams.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

pub(crate) struct ConnectionLimits {
    most: usize,
    most_of_one: usize,
    taken: Mutex<HashMap<IpAddr, usize>>,
    /// Called when one comes free.
    free: Notify,
}

/// One of them, until it is dropped.
pub(crate) struct Place {
    places: Arc<ConnectionLimits>,
    address: IpAddr,
}

impl ConnectionLimits {
    pub(crate) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            most_of_one,
            taken: Mutex::default(),
            free: Notify::new(),
        })
    }

    /// A place for a connection from `address`, if there is one left.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let address = whose(address);
        let mut taken = self.taken();
        let of_one = taken.get(&address).copied().unwrap_or_default();
        if of_one >= self.most_of_one || taken.values().sum::<usize>() >= self.most {
            return None;
        }
        taken.insert(address, of_one + 1);
        Some(Place {
            places: Arc::clone(self),
            address,
        })
    }

    /// As [`ConnectionLimits::take`], once there is one, if that is soon.
    pub(crate) async fn take_within(
        self: &Arc<Self>,
        limit: Duration,
        address: IpAddr,
    ) -> Option<Place> {
        let taking = async {
            loop {
                let free = self.free.notified();
                if let Some(place) = self.take(address) {
                    return place;
                }
                free.await;
            }
        };
        timeout(limit, taking).await.ok()
    }

    /// Half of them, for streams: whoever holds a lock for which others wait needs a connection to
    /// give it back.
    pub(crate) fn for_streams(&self) -> Arc<Self> {
        Self::new(self.most.div_ceil(2), self.most_of_one.div_ceil(2))
    }

    /// How many are taken.
    pub(crate) fn in_use(&self) -> usize {
        self.taken().values().sum()
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Whose it is.
    pub(crate) const fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether the address has no other left, so that others of it are turned away.
    pub(crate) fn is_wanted(&self) -> bool {
        self.places.taken().get(&self.address) >= Some(&self.places.most_of_one)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        if let Some(of_one) = taken.get_mut(&self.address) {
            *of_one -= 1;
            if *of_one == 0 {
                taken.remove(&self.address);
            }
        }
        drop(taken);
        self.places.free.notify_waiters();
    }
}

/// The addresses of a subnet belong to one party: with IPv6 it has 2^64 of them.
fn whose(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_in_all_and_for_one_and_given_back() {
        let places = ConnectionLimits::new(3, 2);
        let [a, b] = ["10.0.0.1", "::1"].map(|text| text.parse::<IpAddr>().unwrap());
        let of_a = [places.take(a), places.take(a)];
        assert!(of_a.iter().all(Option::is_some) && places.take(a).is_none());
        let of_b = places.take(b);
        assert!(of_b.is_some() && places.take(b).is_none());
        drop(of_a);
        assert!(places.take(b).is_some());
    }

    #[test]
    fn one_subnet_of_version_6_is_one_party_and_a_mapped_address_is_of_version_4() {
        for (one, other, are_one) in [
            ("2001:db8::1", "2001:db8::ffff:0:1", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("::ffff:10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
        ] {
            let [one, other] = [one, other].map(|text| whose(text.parse().unwrap()));
            assert_eq!(one == other, are_one, "{one} {other}");
        }
    }
}
