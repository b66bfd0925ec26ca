//! Shows the lock of a sale to everybody, without its token. An isolate looks at a lock once a
//! second at most, however many ask.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use edgelock::{Inspection, Instant, Runtime};
use serde_json::json;
use shared::body::Id;
use shared::call::{self, Answer, Call};
use shared::problem::{Problem, millis};

use crate::isolate::{LABEL, ask};
use crate::ledger::Ledger;

/// How long others get what one request found.
const KEPT: Duration = Duration::from_secs(1);

thread_local! {
    static LOOKS: Looks = Looks::default();
}

/// It comes to its end whether its caller stays or not, since others wait for what it sees.
pub async fn show(call: Call, sku: Id) -> Answer {
    let runtime = call.client.runtime();
    let look = match LOOKS.with(|looks| looks.begin(&sku, runtime.now()))? {
        Some(look) => look,
        None => {
            let _place = ask(&call).await?;
            let found = call.client.lock(&Ledger::of(&sku).lock_name()).inspect().await;
            let look = Look::of(found.map_err(Problem::of)?, runtime.now());
            LOOKS.with(|looks| looks.remember(&sku, look))
        }
    };
    let shown = json!({
        "sku": sku, "held": look.held, "holder": look.holder,
        "remaining_ms": look.remaining.map(millis), "waiting": look.waiting, "fence": look.fence,
        // How long ago this was so.
        "age_ms": millis(runtime.now().since(look.at)),
    });
    call::json(200, &shown)
}

/// What all requests to one isolate saw of the locks of sales.
#[derive(Default)]
struct Looks(RefCell<BTreeMap<Id, Looked>>);

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
    /// 429 if the first look has no answer yet.
    fn begin(&self, sku: &Id, now: Instant) -> Result<Option<Look>, Problem> {
        let mut looks = self.0.borrow_mut();
        if let Some(looked) = looks.get_mut(sku) {
            if now.since(looked.asked_at) < KEPT {
                return looked.look.clone().map(Some).ok_or_else(look_later);
            }
            looked.asked_at = now;
            return Ok(None);
        }
        looks.retain(|_, looked| now.since(looked.asked_at) < KEPT);
        let (asked_at, look) = (now, None);
        looks.insert(sku.clone(), Looked { asked_at, look });
        Ok(None)
    }

    fn remember(&self, sku: &Id, look: Look) -> Look {
        if let Some(looked) = self.0.borrow_mut().get_mut(sku) {
            looked.look = Some(look.clone());
        }
        look
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

/// The lock was not looked at, to spare the bridge.
fn look_later() -> Problem {
    let told = "this lock is looked at once a second; come back";
    Problem::new(429, "look_later", told).retry_after(KEPT)
}
