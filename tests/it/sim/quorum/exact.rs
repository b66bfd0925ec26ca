//! How long things take with several servers, where nothing goes wrong.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::faults::Net;
use crate::sabotage::Bent;
use crate::script::{Script, script_of};
use crate::trace::Trace;
use crate::world::{MS, Machine, Time};

use super::place::{NAME, Place};
use super::{servers, wire};

/// How long the way to each server takes.
const WAY: Time = 50 * MS;

#[test]
fn a_free_lock_is_had_however_short_the_wait() {
    let redis = servers();
    for (seed, wait) in (0..).zip([0, 1, 50, 100, 200, 300, 500]) {
        let place = Place::new(seed, &redis, Bent::Straight, Trace::OFF);
        for node in &place.nodes {
            node.net.set(Net { least: WAY, latency: WAY, ..Net::QUIET });
        }
        let machine = Rc::new(Machine::new(0));
        let lock = wire::client(&place, &machine).lock(NAME);
        let lock = lock.wait_timeout(Duration::from_millis(wait));
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

#[test]
fn a_wait_goes_on_past_a_quarantine_or_is_over_at_once() {
    let redis = servers();
    // A ttl of 2 s and one second more, since a server counts whole seconds.
    const QUARANTINE: Time = 3_000 * MS;
    for (wait, is_had) in [(4_000, true), (2_900, false)] {
        // The first case that has three servers.
        let place = (0..).map(|seed| Place::new(seed, &redis, Bent::Straight, Trace::OFF));
        let place = { place }.find(|place| place.nodes.len() == 3);
        let place = place.expect("one of three");
        for at in 0..2 {
            place.come_back_empty(at);
        }
        for node in &place.nodes {
            node.net.set(Net { least: WAY, latency: WAY, ..Net::QUIET });
        }
        let machine = Rc::new(Machine::new(0));
        let lock = wire::client(&place, &machine).lock(NAME);
        let lock = lock.ttl(Duration::from_secs(2));
        let lock = lock.wait_timeout(Duration::from_millis(wait));
        let done: Rc<Cell<Option<(bool, Time)>>> = Rc::default();
        let (noted, world) = (done.clone(), place.world.clone());
        let task = async move {
            let had = lock.acquire().await;
            noted.set(Some((had.is_ok(), world.now())));
            match had {
                Ok(lease) => lease.release().await.expect("held"),
                Err(error) => {
                    assert_eq!(error.code(), "quarantined");
                    assert_eq!(error.retry_after(), Some(Duration::from_nanos(QUARANTINE)));
                }
            }
        };
        place.world.spawn(&machine, Box::pin(task));
        place.world.run(9_000 * MS, || done.get().is_some(), || {});
        let (had, at) = done.get().expect("it ended");
        assert_eq!(had, is_had);
        // First it asks all of them. After the quarantine it asks one of them, and then all for a
        // vote and a fence.
        let ways = if is_had { QUARANTINE + 8 * WAY } else { 2 * WAY };
        assert_eq!(at / MS, ways / MS);
        place.world.run(1_000 * MS, || place.votes() == 0, || {});
        assert_eq!(place.votes(), 0);
        place.world.end();
    }
}

/// The hold ran out at one server, and a late copy of the vote takes it again. The server still
/// knows the fence, so a resumed lease learns it there.
#[test]
fn a_vote_that_comes_late_forgets_no_fence_that_its_hold_was_raised_to() {
    let redis = servers();
    let place = Place::new(0, &redis, Bent::Straight, Trace::OFF);
    let asked = place.nodes[0].redis.clone();
    let machine = Rc::new(Machine::new(0));
    let lock = wire::client(&place, &machine).lock(NAME);
    let is_done = Rc::new(Cell::new(false));
    let (noted, place_of) = (is_done.clone(), place.clone());
    let task = async move {
        let lease = lock.acquire().await.expect("a lease");
        let texts = asked.texts();
        let vote = texts.values().find(|text| script_of(text) == Some(Script::Vote));
        let fence_key = format!("{{{NAME}}}:fence");
        let fence_of_hold = || {
            let kept = asked.execute(&[b"GET", fence_key.as_bytes()]).to_string();
            kept.split(' ').nth(4).map(str::to_owned)
        };
        assert_eq!(fence_of_hold(), Some(lease.fence().to_string()));
        asked.execute(&[b"DEL", NAME.as_bytes()]);
        let keys = [NAME, "receipt", "gone", &fence_key];
        let args = ["late.0", lease.token().expose(), "2000", "", "", "", "", "0", "60000"];
        let mut words = vec!["EVAL", vote.expect("it has voted"), "4"];
        words.extend(keys.iter().chain(&args));
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        place_of.serve(0, &words);
        assert_eq!(fence_of_hold(), Some(lease.fence().to_string()));
        noted.set(true);
        lease.release().await.expect("held");
    };
    place.world.spawn(&machine, Box::pin(task));
    place.world.run(9_000 * MS, || is_done.get(), || {});
    assert!(is_done.get());
    place.world.end();
}
