//! What the clients of a small world do. They go on whatever they are told, as hostile callers do.

mod calls;
mod copies;
mod orders;

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use edgelock::{Command, Error, OnceOutcome};

use super::desk::{self, SmallClient, SmallLease, SmallLock};
use super::plan::Plan;
use super::stage::{Seat, Stage, Stand};
use crate::check::{Asking, Hold, Invariant, Wanted, log};
use crate::workload::{Kind, Name};
use crate::world::Time;

/// What a client does with the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Write,
    Renew,
    /// Renews for twice the ttl.
    Prolong,
    Downgrade,
    /// Goes on in another handler, which knows only the token.
    Resume,
    Release,
    /// A write that releases.
    Commit,
    /// An order in a shared turn.
    Order,
    /// Two of them at once.
    Orders,
    /// Under the lock, without a turn, it takes one away.
    Take,
    /// Or brings one.
    Bring,
}

impl Act {
    /// Whether the lease is over after it.
    const fn ends(self) -> bool {
        matches!(self, Self::Commit | Self::Release)
    }
}

/// Longer than anybody holds the lock who stands still, and one more behind.
const WAIT: Duration = Duration::from_millis(8_000);

/// Until the servers, too, have forgotten the hold.
const REST: Duration = Duration::from_millis(2_050);

pub(super) fn begin(stage: &Rc<Stage>) {
    for (number, owner) in OWNERS.into_iter().enumerate().take(stage.plan.clients) {
        // Writes are numbered by client, so that it does not matter who writes first.
        let acts = stage.plan.acts_of(number);
        let writes = acts.iter().map(|_| stage.check.plan_write(stage.plan.lock)).collect();
        let client = Client {
            stage: stage.clone(),
            number,
            client: desk::client(stage, number),
            name: stage.plan.name_for(number),
            owner,
            writes,
            is_clean: Cell::new(true),
            reads: Cell::new(stage.plan.name_for(number).reads()),
        };
        let machine = stage.seats[number].machine.clone();
        stage.world.spawn(&machine, Box::pin(client.live()));
    }
}

/// The first two clients have the same owner.
const OWNERS: [&str; 4] = ["ann", "ann", "cid", "dan"];

struct Client {
    stage: Rc<Stage>,
    number: usize,
    client: SmallClient,
    name: Name,
    owner: &'static str,
    writes: Vec<usize>,
    /// Whether every call so far was told what became of it.
    is_clean: Cell<bool>,
    reads: Cell<bool>,
}

impl Client {
    fn seat(&self) -> &Seat {
        &self.stage.seats[self.number]
    }

    async fn live(self) {
        self.point().await;
        match self.name.kind {
            _ if let Some(pace) = self.stage.plan.pace => self.calls(pace).await,
            _ if self.stage.plan.forces == Some(self.number) => {
                let told = self.lock().force_release().await;
                self.stage.tell(|| format!("{} is told: {told:?}", self.seat().name));
            }
            Kind::Once => match self.stage.plan.copies {
                Some(copies) => self.have_copies(copies).await,
                None => self.have_executed().await,
            },
            _ if self.is_in_sale() => self.trade().await,
            _ => self.section().await,
        }
        self.seat().stand.set(Stand::Done);
        self.seat().forget_but("done");
    }

    /// A point at which the client may stand still.
    async fn point(&self) {
        let seat = self.seat();
        if !self.stage.faults.get().may(super::step::Fault::Expiry) {
            return;
        }
        let stand = seat.stand.replace(Stand::Undecided);
        let rests = seat.go.next().await;
        seat.stand.set(stand);
        if rests {
            self.stage.world.sleep(&seat.machine, REST).await;
        }
    }

    async fn section(&self) {
        let stage = &self.stage;
        let Some(mut lease) = self.acquire().await else {
            return;
        };
        let mut held = Some(self.hold(&lease));
        self.settled(&lease, 0);
        for (at, act) in self.stage.plan.acts_of(self.number).iter().enumerate() {
            self.point().await;
            stage.tell(|| format!("{} begins: {act:?}", self.seat().name));
            let is_last = act.ends();
            // After a release or a downgrade was begun, the client can no longer count on the lock.
            if is_last || *act == Act::Downgrade {
                drop(held.take());
            }
            let write = self.writes[at];
            let told = match act {
                Act::Renew => lease.renew().await,
                Act::Prolong => lease.renew_for(2 * self.ttl()).await,
                Act::Release => lease.release().await,
                Act::Resume => {
                    drop(held.take());
                    lease = (self.lock().resume(lease.into_token())).expect("randomness");
                    Ok(())
                }
                Act::Downgrade => {
                    self.reads.set(true);
                    lease.downgrade().await
                }
                Act::Order | Act::Orders | Act::Take | Act::Bring => {
                    unreachable!("they are of sales")
                }
                Act::Write | Act::Commit => self.write(&lease, write, *act == Act::Commit).await,
            };
            stage.tell(|| format!("{} is told of {act:?}: {told:?}", self.seat().name));
            self.judge(&lease, *act, &told);
            let is_undone = |error: &Error| !error.is_outcome_unknown();
            if !is_last || told.as_ref().is_err_and(is_undone) {
                drop(held.take());
                held = (!lease.remaining().is_zero()).then(|| self.hold(&lease));
            }
            self.settled(&lease, at + 1);
        }
        if held.is_some() {
            // It surely has the lock yet, and counts on it to the end.
            let rest = lease.remaining();
            stage.world.sleep(&self.seat().machine, rest).await;
        }
    }

    async fn acquire(&self) -> Option<SmallLease> {
        let (stage, seat) = (&self.stage, self.seat());
        let lock = self.lock().ttl(self.ttl());
        seat.stand.set(Stand::Asking);
        let told = match stage.plan.waits {
            true => lock.wait_timeout(WAIT).acquire().await.map(Some),
            false if stage.plan.looks => self.try_and_read(&lock).await,
            false => lock.try_acquire().await.map(Some),
        };
        seat.stand.set(Stand::Working);
        let said = (told.as_ref()).map(|lease| lease.as_ref().map(SmallLease::fence));
        stage.tell(|| format!("{} is told of its acquisition: {said:?}", seat.name));
        let may_have_it = match &told {
            Ok(lease) => lease.is_some(),
            Err(error) => error.is_outcome_unknown(),
        };
        seat.may_have_it.set(may_have_it);
        if matches!(told, Err(Error::Held { .. }))
            && stage.plan.waits
            && stage.is_free_for(self.number)
        {
            let what = format!("{} waited in vain for what is free", seat.name);
            stage.check.fail(Invariant::NextWaiterHolds, what);
        }
        if let Err(Error::Held { remaining, .. }) = &told
            && remaining.is_none_or(|left| left > stage.plan.longest())
        {
            let what = format!("{} is told of a holder with {remaining:?}", seat.name);
            stage.check.fail(Invariant::NextWaiterHolds, what);
        }
        told.ok().flatten()
    }

    /// Tries to acquire, and reads what was written, whether it gets the lock or not.
    async fn try_and_read(&self, lock: &SmallLock) -> Result<Option<SmallLease>, Error> {
        let (stage, name) = (&self.stage, self.name.name);
        let asking = Asking::begin(name, stage.world.now(), &stage.db(0));
        let read = Command::new("GET").key(log(name));
        let (lease, replies) = lock.try_acquire_and_read(&[read]).await?;
        let granted = (lease.as_ref()).map(|lease| (self.who(lease), lease.fence()));
        (stage.check).found(&asking, &replies, granted.as_ref(), &stage.db(0));
        Ok(lease)
    }

    async fn write(&self, lease: &SmallLease, id: usize, is_last: bool) -> Result<(), Error> {
        let check = &self.stage.check;
        let key = log(self.name.name);
        check.set_out(id, &self.who(lease), self.stage.world.now());
        let commands = [Command::new("APPEND").key(&key).arg(format!("{id};"))];
        let told = match is_last {
            true => lease.commit(&commands).await,
            false => lease.exec(&commands).await,
        };
        check.told(id, &told);
        told.map(drop)
    }

    fn judge(&self, lease: &SmallLease, act: Act, told: &Result<(), Error>) {
        let (check, lock, token) = (&self.stage.check, self.name.name, lease.token().expose());
        if told.as_ref().is_err_and(|error| error.code() == "lost") {
            check.told_lost(lock, token, &format!("{act:?}"));
        }
        check.told_of_units(lock, token, told.as_ref().err());
        match told {
            Ok(()) if act.ends() => self.seat().may_have_it.set(false),
            Ok(()) if act == Act::Renew && lease.remaining() > self.ttl() => {
                let what = format!("{} is renewed for longer than asked for", self.who(lease));
                check.fail(Invariant::NextWaiterHolds, what);
            }
            Ok(()) => {}
            Err(_) => self.is_clean.set(false),
        }
    }

    /// If all calls of a lease ended well, nothing else of the past matters for what follows.
    fn settled(&self, lease: &SmallLease, at: usize) {
        let seat = self.seat();
        let until = self.until(lease);
        let all = (at, lease.fence(), until);
        match self.is_clean.get() {
            true => seat.forget_but(all),
            false => seat.note(all),
        }
    }

    fn lock(&self) -> SmallLock {
        self.name.lock(&self.client, self.owner)
    }

    fn ttl(&self) -> Duration {
        self.stage.plan.ttl_of(self.number)
    }

    fn until(&self, lease: &SmallLease) -> Time {
        self.stage.world.now() + lease.remaining().as_nanos() as Time
    }

    fn who(&self, lease: &SmallLease) -> String {
        self.name.who(self.owner, lease)
    }

    /// From now on the client believes that it has the lock, until the deadline or until the
    /// returned value is dropped.
    fn hold(&self, lease: &SmallLease) -> Held {
        let (check, names) = (&self.stage.check, self.name.all());
        let hold = |name: &&'static str| {
            let hold = Hold {
                machine: self.seat().machine.clone(),
                lock: (*name).to_owned(),
                others: names.clone(),
                who: self.who(lease),
                fence: lease.fence(),
                reads: self.reads.get(),
                weight: self.name.weight_of(name) as usize,
                until: self.until(lease),
            };
            if self.stage.plan.servers > 1 {
                check.won(&hold);
            }
            check.hold(hold)
        };
        Held(self.stage.clone(), names.iter().map(hold).collect())
    }

    async fn have_executed(&self) {
        let (stage, key, seat) = (&self.stage, self.name.name, self.seat());
        let mut once = self.client.once(key).ttl(self.ttl()).wait_timeout(WAIT);
        let print = stage.plan.print_of(self.number);
        if let Some(print) = print {
            once = once.fingerprint(print);
        }
        let begun = stage.world.now();
        stage.check.want(key, print);
        let own = format!("{} {}", self.number, print.unwrap_or_default());
        let is_done = Cell::new(false);
        seat.stand.set(Stand::Asking);
        let work = async |lease: &SmallLease| {
            seat.stand.set(Stand::Working);
            let _held = self.hold(lease);
            self.point().await;
            if stage.plan.fails {
                return Err(Error::example("invalid_argument", "").expect("a code"));
            }
            is_done.set(true);
            Ok::<_, Error>(own.clone())
        };
        let told: Result<OnceOutcome<String>, Error> = once.run_text(work).await;
        seat.stand.set(Stand::Working);
        stage.tell(|| format!("{} is told: {told:?}", seat.name));
        let wanted = Wanted { key, print, begun, is_done: is_done.get(), own: own.clone() };
        stage.check.told_result(&wanted, &told);
    }
}

pub(super) struct Held(Rc<Stage>, Vec<u64>);

impl Drop for Held {
    fn drop(&mut self) {
        for hold in &self.1 {
            self.0.check.end_hold(*hold);
        }
    }
}

/// Runs all scripts once that a client may need, so that the servers know them.
pub(super) fn rehearse(stage: &Rc<Stage>, number: usize) {
    let client = desk::client(stage, number);
    let (plan, machine) = (stage.plan, stage.seats[number].machine.clone());
    let work = async move {
        match plan.pace {
            Some(pace) => calls::rehearse(&client, &plan, pace).await,
            None if plan.stock.is_some() => orders::rehearse(&client, &plan, number).await,
            None => rehearse_section(&client, &plan, number).await,
        }
    };
    stage.world.spawn(&machine, Box::pin(work));
}

/// What is dropped here is abandoned in the background.
async fn rehearse_section(client: &SmallClient, plan: &Plan, number: usize) {
    let lock = plan.name_for(number).lock(client, "rehearsal");
    let lock = lock.ttl(plan.ttl_of(number));
    begun(lock.acquire()).await;
    if let Ok(lease) = lock.try_acquire().await {
        drop((
            lease.renew().await,
            lease.downgrade().await,
            lease.release().await,
            lock.force_release().await,
        ));
    }
}

/// Polls `work` once, and drops it.
async fn begun(work: impl Future) {
    let mut work = pin!(work);
    poll_fn(|context| {
        let _ = work.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}
