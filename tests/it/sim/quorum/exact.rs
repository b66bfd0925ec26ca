//! What takes how long where nothing goes wrong.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::faults::Net;
use crate::sabotage::Bent;
use crate::trace::Trace;
use crate::world::{MS, Machine, Time};

use super::place::{NAME, Place};
use super::{servers, wire};

/// Every server is so far away.
const WAY: Time = 50 * MS;

#[test]
fn a_free_lock_is_had_however_short_the_wait() {
    let redis = servers();
    for (seed, wait) in (0..).zip([0, 1, 50, 100, 200, 300, 500]) {
        let place = Place::new(seed, &redis, Bent::Straight, Trace::OFF);
        for node in &place.nodes {
            node.net.set(Net {
                least: WAY,
                latency: WAY,
                ..Net::QUIET
            });
        }
        let machine = Rc::new(Machine::new(0));
        let lock = wire::client(&place, &machine).lock(NAME).expect("a name");
        let lock = lock.wait(Duration::from_millis(wait));
        let had: Rc<Cell<Option<Time>>> = Rc::default();
        let (noted, world) = (had.clone(), place.world.clone());
        let task = async move {
            let lease = lock.acquire().await.expect("a lease");
            noted.set(Some(world.now()));
            lease.release().await.expect("held");
        };
        place.world.spawn(&machine, Box::pin(task));
        place.world.run(5_000 * MS, || had.get().is_some(), || {});
        // A vote and a fence, each there and back.
        assert_eq!(had.get(), Some(4 * WAY), "{wait}");
        place.world.end();
    }
}
