//! After faults have stopped, every unit that is not confirmed can be reserved again in time.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::{DELAY, ONE_RETRY, SET_BACK, TIMEOUT};
use crate::case::Case;
use crate::check::{Invariant, confirmed};
use crate::host::{self, Settings};
use crate::workload::{Crowd, Kind, drift};
use crate::world::{MS, Machine};

pub(crate) fn hold(case: &Rc<Case>, crowd: &Crowd) {
    // Until then, whatever was reserved before falls back.
    let longest = Crowd::longest_ttl(case) + Duration::from_nanos(SET_BACK + DELAY + ONE_RETRY);
    let codes = Rc::new(RefCell::new(Vec::new()));
    for name in &crowd.names {
        let Kind::Units(units, _) = name.kind else {
            continue;
        };
        let machine = Rc::new(Machine::new(case.bent.drift(drift(&case.rng))));
        let settings = Settings { script_cache: false, push: false, attempts: 3, timeout: TIMEOUT };
        let client = host::client(case, &machine, settings);
        let (name, told) = (name.name, codes.clone());
        let (world, on) = (case.clone(), machine.clone());
        let asks = async move {
            world.world.sleep(&on, longest * 51 / 50).await;
            let sold = confirmed(name, &world.redis.db());
            let left = u64::from(units).saturating_sub(sold);
            let units = client.reservations(name, units).ttl(Duration::from_secs(2));
            let asked = units.weight(left.max(1) as u32).try_acquire().await;
            let code = asked.as_ref().map_or_else(|error| error.code(), |_| "had");
            told.borrow_mut().push((name, left, code));
            if let Ok(lease) = asked {
                let _ = lease.release().await;
            }
        };
        case.world.spawn(&machine, Box::pin(asks));
    }
    let count = crowd.names.len();
    case.pass(60_000 * MS, || codes.borrow().len() == count);
    for (name, left, code) in codes.take() {
        let expected = if left > 0 { "had" } else { "sold_out" };
        if code != expected {
            let what = format!("{left} units of {name} are left, and it is {code}");
            case.check.fail(Invariant::NextWaiterHolds, what);
        }
    }
}
