//! One client at work.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use edgelock::{Command, Error, Reply};

use super::{Kind, Name, Role};
use crate::case::Case;
use crate::check::{Asking, Hold, Invariant, Watch, log};
use crate::host::{Settings, SimClient, SimLease, SimLock, within};
use crate::world::{MS, Machine};

/// Longer than any call takes.
const PATIENT: Duration = Duration::from_secs(600);

const TTLS: [u64; 4] = [60, 300, 1_000, 2_500];
const WAITS: [u64; 5] = [0, 80, 400, 1_500, 4_000];

pub(super) struct Client {
    pub(super) case: Rc<Case>,
    pub(super) machine: Rc<Machine>,
    pub(super) client: SimClient,
    pub(super) settings: Settings,
    /// For how many replicas it waits, and how long.
    pub(super) replicas: Option<(u32, Duration)>,
    pub(super) owner: &'static str,
    pub(super) names: Vec<Name>,
}

impl Client {
    pub(super) async fn live(self, rounds: u64) {
        for _ in 0..rounds {
            self.sleep(self.long(0, 120)).await;
            let name = self.case.rng.pick(&self.names).anew(&self.case.rng);
            let (ttl, wait) = (self.pick(&TTLS), self.pick(&WAITS));
            let lock = self.lock(name).wait_timeout(wait).ttl(ttl);
            let reads = Cell::new(name.reads());
            let asked = Asked { name, lock, wait, reads };
            match name.kind {
                Kind::Once if self.case.rng.chance(950) => {
                    self.have_executed(&asked, ttl, wait).await;
                }
                Kind::Once => drop(asked.lock.force_release().await),
                _ => self.round(asked).await,
            }
        }
    }

    fn lock(&self, name: Name) -> SimLock {
        let lock = name.lock(&self.client, self.owner);
        match self.replicas {
            Some((count, within)) => lock.wait_for_replicas(count, within),
            None => lock,
        }
    }

    async fn round(&self, asked: Asked) {
        match self.case.rng.between(0, 99) {
            0..=2 => {
                let _ = asked.lock.force_release().await;
            }
            3..=4 => {
                let _ = asked.lock.inspect().await;
            }
            5..=19 => self.run(&asked).await,
            20..=29 => {
                if let Some(lease) = self.acquire(&asked).await {
                    self.overdo(&asked, lease).await;
                }
            }
            _ => {
                if let Some(lease) = self.acquire(&asked).await {
                    self.section(&asked, lease).await;
                }
            }
        }
    }

    async fn acquire(&self, asked: &Asked) -> Option<SimLease> {
        let rng = &self.case.rng;
        let at_once = rng.chance(250);
        let reads = match rng.chance(200) {
            true => vec![Command::new("GET").key(log(asked.name.name))],
            false => vec![],
        };
        let limit = match at_once {
            true => Limit::Attempts,
            false => Limit::Wait(asked.wait),
        };
        let acquiring = async {
            let _in_time = self.in_time(limit, "an acquisition");
            match at_once {
                true if rng.chance(500) => self.try_and_read(asked).await,
                true => asked.lock.try_acquire().await.map(Some),
                false => asked.lock.acquire_and_read(&reads).await.map(|(lease, _)| Some(lease)),
            }
        };
        if rng.chance(150) {
            let patience = self.long(0, 1_000);
            within(self.sleep(patience), acquiring).await?.ok()?
        } else {
            acquiring.await.ok()?
        }
    }

    /// Tries to acquire, and reads what was written, whether it gets the lock or not.
    async fn try_and_read(&self, asked: &Asked) -> Result<Option<SimLease>, Error> {
        let name = asked.name.name;
        let asking = Asking::begin(name, self.case.world.now(), &self.case.redis.db());
        let read = Command::new("GET").key(log(name));
        let (lease, replies) = asked.lock.try_acquire_and_read(&[read]).await?;
        let granted = (lease.as_ref()).map(|lease| (self.who(asked, lease), lease.fence()));
        // Another entry of the same owner, or the holder of another permit, may write beside it.
        let granted =
            granted.filter(|_| matches!(asked.name.kind, Kind::Mutex | Kind::TakenOver(_)));
        let db = self.case.redis.db();
        self.case.check.found(&asking, &replies, granted.as_ref(), &db);
        Ok(lease)
    }

    /// Works while it holds the lock.
    async fn section(&self, asked: &Asked, mut lease: SimLease) {
        let rng = &self.case.rng;
        let fence = lease.fence();
        let mut is_known = true;
        for _ in 0..rng.between(1, 3) {
            if asked.name.kind == Kind::ReadWrite(Role::Writes) && rng.chance(250) {
                self.downgrade(asked, &lease).await;
            }
            let held = self.hold(asked, &lease, fence);
            match rng.between(0, 9) {
                // Works until the last millisecond.
                0..=2 => self.sleep(lease.remaining().saturating_sub(self.ms(0, 2))).await,
                // Works for too long.
                3 => self.sleep(lease.remaining() + self.ms(0, 40)).await,
                4 => self.sleep(self.ms(0, 30)).await,
                5..=6 => {
                    let _in_time = self.in_time(Limit::of(&lease), "a renewal");
                    let renewed = lease.renew().await;
                    self.tell(asked, &lease, renewed.err().as_ref(), "a renewal");
                }
                7 => {
                    let patience = rng.pick(&[Duration::from_millis(20), PATIENT, PATIENT]);
                    is_known &= self.write(asked, &lease, patience, false).await;
                }
                _ => {
                    is_known &= self.write(asked, &lease, PATIENT, false).await;
                    // A lease is handed on only if its calls all told how they ended.
                    if is_known {
                        lease = self.resumed(asked, lease);
                        if lease.renew().await.is_ok() {
                            drop(self.hold(asked, &lease, lease.fence()));
                        }
                        is_known &= self.write(asked, &lease, PATIENT, false).await;
                    }
                }
            }
            drop(held);
        }
        match rng.between(0, 11) {
            0..=4 => {
                let in_time = self.in_time(Limit::Attempts, "a release");
                let released = lease.release().await;
                drop(in_time);
                if released.is_ok() {
                    self.confirm_again(asked, &lease).await;
                }
            }
            5..=7 => {
                if self.write(asked, &lease, PATIENT, true).await {
                    self.confirm_again(asked, &lease).await;
                }
            }
            8 => drop(lease),
            9 => drop(lease.into_token()),
            _ => {
                match rng.between(0, 2) {
                    0 => drop(lease.release().await),
                    1 if is_known => {
                        lease = asked.lock.resume(lease.into_token()).expect("randomness");
                    }
                    _ => {}
                }
                self.keep(asked, &lease, fence).await;
            }
        }
    }

    /// Another handler confirms a reservation that is over.
    async fn confirm_again(&self, asked: &Asked, lease: &SimLease) {
        if matches!(asked.name.kind, Kind::Units(..)) && self.case.rng.chance(500) {
            let token = lease.token().clone();
            let again = asked.lock.resume(token).expect("randomness");
            self.write(asked, &again, PATIENT, true).await;
        }
    }

    /// Lets others read beside it. Unless that was surely not done, the client can no longer count
    /// on writing alone.
    async fn downgrade(&self, asked: &Asked, lease: &SimLease) {
        let _in_time = self.in_time(Limit::of(lease), "a downgrade");
        asked.reads.set(true);
        let patience = self.case.rng.pick(&[Duration::from_millis(20), PATIENT]);
        let downgraded = within(self.sleep(patience), lease.downgrade()).await;
        let error = downgraded.and_then(Result::err);
        self.tell(asked, lease, error.as_ref(), "a downgrade");
    }

    /// The same lease in another handler, which may know the ttl or not.
    fn resumed(&self, asked: &Asked, lease: SimLease) -> SimLease {
        let rng = &self.case.rng;
        let lock = self.lock(asked.name);
        let lock = match rng.chance(500) {
            true => lock.ttl(self.pick(&TTLS)),
            false => lock,
        };
        lock.resume(lease.into_token()).expect("randomness")
    }

    /// Writes under the lock. Returns whether the client learned what came of it.
    async fn write(
        &self,
        asked: &Asked,
        lease: &SimLease,
        patience: Duration,
        is_last: bool,
    ) -> bool {
        let id = self.begin_write(asked, lease);
        let writing = self.apply(asked, lease, id, is_last);
        let Some(outcome) = within(self.sleep(patience), writing).await else {
            return false;
        };
        self.case.check.told(id, &outcome);
        let (name, token) = (asked.name.name, lease.token().expose());
        let error = outcome.as_ref().err();
        self.case.check.told_of_units(name, token, error);
        if outcome.is_ok() && self.case.is_replicated.get() {
            self.case.check.told_safe(id, &self.case.redis.db());
        }
        !outcome.is_err_and(|error| error.is_outcome_unknown())
    }

    fn begin_write(&self, asked: &Asked, lease: &SimLease) -> usize {
        let who = self.who(asked, lease);
        self.case.check.begin_write(asked.name.name, &who, self.case.world.now())
    }

    async fn apply(
        &self,
        asked: &Asked,
        lease: &SimLease,
        id: usize,
        is_last: bool,
    ) -> Result<Vec<Reply>, Error> {
        let key = log(asked.name.name);
        let mut commands = vec![Command::new("APPEND").key(&key).arg(format!("{id};"))];
        if self.case.rng.chance(100) {
            // This command fails.
            commands.push(Command::new("HINCRBY").key(&key).arg("field").arg(1));
        }
        let _in_time = self.in_time(Limit::of(lease), "a write");
        match is_last {
            true => lease.commit(&commands).await,
            false => lease.exec(&commands).await,
        }
    }

    /// Keeps the lease while work runs, whatever has become of it.
    async fn keep(&self, asked: &Asked, lease: &SimLease, fence: u64) {
        let (time, max_hold) = (self.long(0, 1_500), self.long(200, 3_000));
        let work = async {
            if lease.remaining().is_zero() {
                let who = self.who(asked, lease);
                let what = format!("{who} begins work without {}", asked.name.name);
                self.case.check.fail(Invariant::OneHolder, what);
            }
            for _ in 0..20 {
                let _held = self.hold(asked, lease, fence);
                self.sleep(time / 20).await;
            }
            Ok::<_, Error>(())
        };
        let _ = lease.run(Some(max_hold), work).await;
    }

    async fn run(&self, asked: &Asked) {
        let rng = &self.case.rng;
        let (time, rest) = (self.long(0, 1_500), self.long(0, 1_500));
        let lock = asked.lock.clone().max_hold(self.long(200, 3_000));
        let under_way = Cell::new(None);
        let outcome = lock
            .run(async |lease| {
                for _ in 0..20 {
                    let _held = self.hold(asked, lease, lease.fence());
                    self.sleep(time / 20).await;
                }
                if rng.chance(600) {
                    let id = self.begin_write(asked, lease);
                    under_way.set(Some(id));
                    let written = self.apply(asked, lease, id, rng.chance(500)).await;
                    self.case.check.told(id, &written);
                    under_way.set(None);
                    self.sleep(rest).await;
                }
                Ok::<_, Error>(())
            })
            .await;
        // Work that was stopped in the middle of a write is told only this.
        if let Some(id) = under_way.get() {
            self.case.check.told(id, &outcome);
        }
    }

    /// From now on the client believes that it has the lock, until the deadline or until the
    /// returned value is dropped.
    pub(super) fn hold(&self, asked: &Asked, lease: &SimLease, fence: u64) -> Held {
        let clock = self.machine.clock(self.case.world.now());
        let names = asked.name.all();
        let hold = |name: &&'static str| Hold {
            machine: self.machine.clone(),
            lock: (*name).to_owned(),
            who: self.who(asked, lease),
            fence,
            reads: asked.reads.get(),
            weight: asked.name.weight_of(name) as usize,
            others: names.clone(),
            until: clock + lease.remaining().as_nanos() as u64,
        };
        let holds = names.iter().map(hold);
        let holds = holds.map(|hold| self.case.check.hold(hold)).collect();
        Held(self.case.clone(), holds)
    }

    /// The holder of the lease, as Redis stores it.
    fn who(&self, asked: &Asked, lease: &SimLease) -> String {
        asked.name.who(self.owner, lease)
    }

    fn in_time(&self, limit: Limit, what: &str) -> impl Drop + use<> {
        let (limit, paused_before) = match limit {
            Limit::Clock(limit) => (limit, None),
            Limit::Attempts => (self.attempts(), Some(self.machine.paused_for.get())),
            Limit::Wait(wait) => {
                let all = self.attempts().max(wait) + self.request();
                (all, Some(self.machine.paused_for.get()))
            }
        };
        self.case.watch(Watch {
            invariant: Invariant::WaitsEnd,
            machine: Some(self.machine.clone()),
            by: self.case.world.now() + self.machine.lasts(limit),
            paused_before,
            what: what.to_owned(),
        })
    }

    fn attempts(&self) -> Duration {
        let pauses = Duration::from_millis(150);
        // A bridge that is busy may be left alone for up to a time-out.
        let is_shed = self.case.net.get().shed > 0;
        let alone = if is_shed { self.settings.timeout } else { Duration::ZERO };
        self.request() * self.settings.attempts + pauses + alone
    }

    /// A request that waits for replicas takes longer by that wait.
    fn request(&self) -> Duration {
        let within = (self.replicas).map_or(Duration::ZERO, |(_, within)| within);
        self.settings.timeout + within
    }

    pub(super) async fn sleep(&self, duration: Duration) {
        self.case.world.sleep(&self.machine, duration).await;
    }

    /// A time that is longer in a slow world.
    pub(super) fn long(&self, low: u64, high: u64) -> Duration {
        self.case.slowly(self.ms(low, high))
    }

    fn pick(&self, ms: &[u64]) -> Duration {
        self.case.slowly(Duration::from_millis(self.case.rng.pick(ms)))
    }

    pub(super) fn ms(&self, low: u64, high: u64) -> Duration {
        Duration::from_nanos(self.case.rng.between(low * MS, high * MS))
    }
}

/// A lock, and how it is asked for.
pub(super) struct Asked {
    pub(super) name: Name,
    lock: SimLock,
    wait: Duration,
    /// Whether others may read beside the holder.
    reads: Cell<bool>,
}

/// How long a call may take.
#[derive(Clone, Copy)]
enum Limit {
    Clock(Duration),
    /// As long as all attempts and the pauses between them take.
    Attempts,
    /// The same, or so long if that is longer, and one request more.
    Wait(Duration),
}

impl Limit {
    /// The limit of a call under `lease`. A resumed lease has no deadline until it was renewed.
    fn of(lease: &SimLease) -> Self {
        match lease.remaining() {
            Duration::ZERO => Self::Attempts,
            remaining => Self::Clock(remaining),
        }
    }
}

pub(super) struct Held(Rc<Case>, Vec<u64>);

impl Drop for Held {
    fn drop(&mut self) {
        for hold in &self.1 {
            self.0.check.end_hold(*hold);
        }
    }
}
