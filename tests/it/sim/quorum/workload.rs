//! What the clients do: they wait or do not, work until the last millisecond, oversleep, and leave
//! without giving back.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use edgelock::Error;

use crate::check::Invariant;
use crate::sabotage::Bent;
use crate::workload::drift;
use crate::world::{MS, Machine, Time};

use super::place::{NAME, Place, QUARANTINE};
use super::wire::{self, QuorumClient};

/// The longest ttl that anybody asks for.
pub(super) const LONGEST_TTL: Duration = Duration::from_millis(2_000);

/// The clients of a case.
pub(super) struct Crowd {
    pub(super) machines: Vec<Rc<Machine>>,
    pub(super) at_work: Rc<Cell<usize>>,
    tasks: RefCell<Vec<usize>>,
}

pub(super) fn begin(place: &Rc<Place>) -> Crowd {
    let machines: Vec<_> = (0..place.rng.between(2, 4))
        .map(|_| Rc::new(Machine::new(place.bent.drift(drift(&place.rng)))))
        .collect();
    let at_work = Rc::new(Cell::new(machines.len()));
    let tasks = machines.iter().enumerate().map(|(number, machine)| {
        let worker = Worker {
            place: place.clone(),
            machine: machine.clone(),
            client: wire::client(place, machine).restart_quarantine(LONGEST_TTL),
            number,
        };
        let at_work = at_work.clone();
        let live = async move {
            for _ in 0..worker.place.rng.between(1, 5) {
                worker.section().await;
            }
            at_work.set(at_work.get() - 1);
        };
        place.world.spawn(machine, Box::pin(live))
    });
    let tasks = RefCell::new(tasks.collect());
    Crowd { machines, at_work, tasks }
}

impl Crowd {
    /// All clients drop what they are doing; some of them die.
    pub(super) fn leave(&self, place: &Rc<Place>) {
        for (number, (machine, task)) in self.machines.iter().zip(self.tasks.take()).enumerate() {
            if place.rng.chance(500) {
                place.world.kill(machine);
            }
            place.let_go(number);
            place.world.cancel(task);
        }
    }
}

struct Worker {
    place: Rc<Place>,
    machine: Rc<Machine>,
    client: QuorumClient,
    number: usize,
}

impl Worker {
    async fn sleep(&self, most: Time) {
        let time = Duration::from_nanos(self.place.rng.between(0, most));
        self.place.world.sleep(&self.machine, time).await;
    }

    async fn section(&self) {
        let rng = &self.place.rng;
        self.sleep(200 * MS).await;
        let ttl = Duration::from_millis(rng.pick(&[300, 1_000, 2_000]));
        let wait = Duration::from_millis(rng.pick(&[0, 500, 3_000]));
        let lock = self.client.lock(NAME);
        let lock = lock.ttl(ttl).wait_timeout(wait);
        let Ok(mut lease) = self.within(wait + ttl * 2, lock.acquire()).await else {
            return;
        };
        self.hold(lease.remaining(), Some(lease.fence()));
        let fence = lease.fence();
        for _ in 0..rng.between(0, 3) {
            self.sleep(ttl.as_nanos() as Time / 2).await;
            if rng.chance(200) {
                // The lease goes on in another handler, which is not told the ttl.
                let lock = self.client.lock(NAME);
                lease = lock.resume(lease.into_token()).expect("randomness");
            }
            // A resumed lease has no deadline that would bound its requests.
            let bound = if lease.remaining().is_zero() { Duration::from_secs(7) } else { ttl };
            match self.within(bound, lease.renew()).await {
                Ok(()) if lease.fence() != fence => {
                    let what = format!("{} is taken for {fence}", lease.fence());
                    self.place.fail(Invariant::FencesGrow, what);
                }
                Ok(()) if lease.remaining().is_zero() => {}
                Ok(()) => {
                    self.place.renewed(fence);
                    self.hold(lease.remaining(), None);
                }
                Err(Error::Lost { .. } | Error::Expired { .. }) => {
                    self.place.let_go(self.number);
                    break;
                }
                Err(_) => {}
            }
        }
        if rng.chance(300) {
            self.sleep(ttl.as_nanos() as Time).await;
        }
        match rng.between(0, 3) {
            0 => drop(lease.into_token()),
            1 => {
                self.place.let_go(self.number);
                drop(lease);
            }
            _ => {
                self.place.let_go(self.number);
                let before = lease.remaining();
                let told = self.within(Duration::from_secs(7), lease.release()).await;
                // If it surely failed, the lease goes on.
                let left = match told {
                    Err(_) if self.place.bent == Bent::Denying => before,
                    _ => lease.remaining(),
                };
                self.hold(left, None);
                self.sleep(ttl.as_nanos() as Time).await;
                self.place.let_go(self.number);
            }
        }
    }

    /// A client that stood still when the answer came may wake with a lease that is over.
    fn hold(&self, remaining: Duration, fence: Option<u64>) {
        if remaining.is_zero() {
            return self.place.let_go(self.number);
        }
        let until = self.place.world.now() + self.machine.lasts(remaining);
        self.place.hold(self.number, until, fence);
    }

    /// The outcome of `call`, which must come in time.
    async fn within<O>(&self, bound: Duration, call: impl Future<Output = O>) -> O {
        let (begun, paused) = (self.place.world.now(), self.machine.paused_for.get());
        let output = call.await;
        let paused = self.machine.paused_for.get() - paused;
        let took = self.place.world.now() - begun - paused.min(self.place.world.now() - begun);
        let bound = bound + Duration::from_millis(1_000);
        if took > self.machine.lasts(bound) {
            let what = format!("a call took {} ms", took / MS);
            self.place.fail(Invariant::EndsInTime, what);
        }
        output
    }
}

/// Once all is well, a new client gets the lock when the leases of dead clients and the quarantine
/// are over.
pub(super) fn is_had_again(place: &Rc<Place>) {
    let machine = Rc::new(Machine::new(0));
    let client = wire::client(place, &machine).restart_quarantine(LONGEST_TTL);
    let is_done = Rc::new(Cell::new(false));
    let had = {
        let (place, is_done) = (place.clone(), is_done.clone());
        async move {
            let lock = client.lock(NAME);
            let wait = Duration::from_nanos(QUARANTINE) + LONGEST_TTL;
            let lock = lock.ttl(LONGEST_TTL).wait_timeout(wait);
            match lock.acquire().await {
                Ok(lease) => is_done.set(lease.release().await == Ok(())),
                Err(error) => place.fail(Invariant::IsHadAgain, error.to_string()),
            }
        }
    };
    let longest = LONGEST_TTL.as_nanos() as Time;
    place.world.schedule(longest, || {});
    place.world.run(longest, || false, || {});
    place.world.spawn(&machine, Box::pin(had));
    let limit = 2 * QUARANTINE;
    let is_had = place.world.run(limit, || is_done.get(), || {});
    let is_free = is_had && place.world.run(500 * MS, || place.votes() == 0, || {});
    if !is_free {
        let what = format!("{} servers still have it", place.votes());
        place.fail(Invariant::IsHadAgain, what);
    }
}
