//! Shows the lock of a sale to everybody, without its token. An isolate looks at a lock once a
//! second at most, however many ask.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use edgelock::{Inspection, Instant, Runtime, Transport};
use serde::Serialize;

use crate::http::Response;
use crate::input::Id;
use crate::ledger::Ledger;
use crate::problem::{Problem, millis};
use crate::shop::{LABEL, Shop};

/// How long others get what one request found.
const KEPT: Duration = Duration::from_secs(1);
/// More locks than these are not looked at in the same second.
const MOST_SALES: usize = 16;

impl<T: Transport, R: Runtime> Shop<T, R> {
    pub(crate) async fn show_lock(&self, sku: &Id) -> Result<Response, Problem> {
        let now = self.client.runtime().now();
        let looks = &self.isolate.looks;
        let look = match looks.begin(sku, now)? {
            Some(look) => look,
            None => {
                let lock = self.client.lock(&Ledger::of(sku).lock_name());
                let found = lock.inspect().await.map_err(Problem::of)?;
                looks.remember(sku, Look::of(found, self.client.runtime().now()))
            }
        };
        let age = self.client.runtime().now().since(look.at);
        Ok(Response::json(200, &Shown::of(sku, &look, age)))
    }
}

/// What all requests to one isolate saw of the locks of sales.
#[derive(Clone, Default)]
pub(crate) struct Looks(Arc<Mutex<BTreeMap<Id, Looked>>>);

struct Looked {
    asked_at: Instant,
    /// `None` until the first answer.
    look: Option<Look>,
}

/// What is shown of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Look {
    at: Instant,
    held: bool,
    holder: Option<String>,
    remaining: Option<Duration>,
    waiting: u64,
    fence: Option<u64>,
}

impl Looks {
    /// The last look, if it is fresh or somebody renews it. `None` if the caller is to look.
    ///
    /// # Errors
    /// 429 if the first look has no answer yet, or if too many locks are looked at.
    fn begin(&self, sku: &Id, now: Instant) -> Result<Option<Look>, Problem> {
        let mut looks = self.looks();
        if let Some(looked) = looks.get_mut(sku) {
            if now.since(looked.asked_at) < KEPT {
                return looked
                    .look
                    .clone()
                    .map(Some)
                    .ok_or_else(Problem::look_later);
            }
            looked.asked_at = now;
            return Ok(None);
        }
        looks.retain(|_, looked| now.since(looked.asked_at) < KEPT);
        if looks.len() >= MOST_SALES {
            return Err(Problem::look_later());
        }
        let (asked_at, look) = (now, None);
        looks.insert(sku.clone(), Looked { asked_at, look });
        Ok(None)
    }

    fn remember(&self, sku: &Id, look: Look) -> Look {
        if let Some(looked) = self.looks().get_mut(sku) {
            looked.look = Some(look.clone());
        }
        look
    }

    /// No change is left half done under this mutex.
    fn looks(&self) -> MutexGuard<'_, BTreeMap<Id, Looked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Look {
    fn of(found: Inspection, at: Instant) -> Self {
        let holder = found.holder.as_ref();
        // Any other label was set by an operator's own program, and is not for the public.
        let label = holder.and_then(|holder| holder.label.clone());
        Self {
            at,
            held: holder.is_some(),
            remaining: holder.and_then(|holder| holder.remaining),
            holder: label.filter(|label| label.starts_with(LABEL)),
            waiting: found.waiters,
            fence: found.fence,
        }
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    sku: &'a Id,
    held: bool,
    holder: Option<&'a str>,
    remaining_ms: Option<u64>,
    waiting: u64,
    fence: Option<u64>,
    /// How long ago this was so.
    age_ms: u64,
}

impl<'a> Shown<'a> {
    fn of(sku: &'a Id, look: &'a Look, age: Duration) -> Self {
        Self {
            sku,
            held: look.held,
            holder: look.holder.as_deref(),
            remaining_ms: look.remaining.map(millis),
            waiting: look.waiting,
            fence: look.fence,
            age_ms: millis(age),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(ms))
    }

    fn sku(text: &str) -> Id {
        Id::parse(text).expect("a sku")
    }

    fn look(ms: u64) -> Look {
        Look {
            at: at(ms),
            held: false,
            holder: None,
            remaining: None,
            waiting: 0,
            fence: None,
        }
    }

    #[test]
    fn one_request_a_second_looks_and_the_others_get_what_it_saw() {
        let looks = Looks::default();
        assert!(matches!(looks.begin(&sku("a"), at(0)), Ok(None)));
        assert!(
            looks.begin(&sku("a"), at(1)).is_err(),
            "nothing was seen yet"
        );
        looks.remember(&sku("a"), look(5));
        let seen = |ms| looks.begin(&sku("a"), at(ms)).ok().flatten();
        assert_eq!(seen(999), Some(look(5)));
        assert_eq!(seen(1_000), None, "it is time to look again");
        assert_eq!(seen(1_001), Some(look(5)), "another one looks");
        assert_eq!(seen(2_000), None, "that one never answered");
    }

    #[test]
    fn an_isolate_looks_at_sixteen_locks_a_second_at_most() {
        let looks = Looks::default();
        let asks = |sku: &Id, ms| matches!(looks.begin(sku, at(ms)), Ok(None));
        let skus: Vec<_> = (0..1_000).map(|n| sku(&format!("s{n}"))).collect();
        assert_eq!(skus.iter().filter(|sku| asks(sku, 0)).count(), MOST_SALES);
        assert_eq!(skus.iter().filter(|sku| asks(sku, 999)).count(), 0);
        assert!(asks(&skus[999], 1_000));
        assert_eq!(looks.looks().len(), 1);
    }
}
