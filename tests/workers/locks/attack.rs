//! A crowd that may use locks, and hangs up: others that may keep at least half of what they have
//! alone, whether the crowd wants one name or ever another one, and a holder keeps its lock.

use std::time::Instant;

use serde_json::json;
use tokio::task::JoinSet;
use xtask::beside::must_keep_half;

use super::token;
use crate::attack::crowd::{Asked, COUNTED, crowd, files_of, nothing_stays};
use crate::attack::many;
use crate::support::caller::Caller;
use crate::support::{Stack, far};

const ROUTES: [(&str, Asked); 8] = [
    ("a lock that is held", |_| taken("held".to_owned(), 20_000)),
    ("one lock", |_| taken("one".to_owned(), 20_000)),
    ("any lock", |n| taken(format!("any{n}"), 20_000)),
    ("any lock, at once", |n| taken(format!("any{n}"), 0)),
    ("a renewal", |_| ("POST", "/locks/held/renew".to_owned(), stale())),
    ("a release", |_| ("POST", "/locks/held/release".to_owned(), stale())),
    ("a look", |_| ("GET", "/locks/held".to_owned(), String::new())),
    ("a look at any lock", |n| ("GET", format!("/locks/any{n}"), String::new())),
];

fn taken(name: String, wait_ms: u64) -> (&'static str, String, String) {
    let body = json!({"ttl_ms": 60_000, "wait_ms": wait_ms});
    ("POST", format!("/locks/{name}/acquire"), body.to_string())
}

fn stale() -> String {
    json!({"token": "AAAAAAAAAAAAAAAAAAAAAA"}).to_string()
}

#[tokio::test]
async fn beside_a_crowd_that_may_use_locks_others_keep_half_of_what_they_have_alone() {
    let mut stack = Stack::locks();
    let url = far::start(&stack.bridge).await;
    stack.config = stack.config.clone().bind("EDGELOCK_BRIDGE_URL", url);
    let (here, there) = (stack.start_worker(), stack.start_worker());
    let open_files = files_of(&stack);
    let held = here.acquire("held", 3_600_000, 0).await.answers(201);
    for (route, asked) in ROUTES {
        let alone = served(&here, &there).await;
        let crowd = crowd(&here, asked, "");
        let beside = served(&here, &there).await;
        let asked = crowd.leaves().await;
        println!("beside {asked} of {route}: {beside:?} turns of {alone:?}");
        for (beside, alone) in beside.into_iter().zip(alone) {
            must_keep_half(beside, alone);
        }
        nothing_stays(&stack, route, open_files).await;
    }
    here.release("held", &token(&held)).await.answers(200);
}

/// How many turns callers of other locks have here, and how many at another instance.
async fn served(here: &Caller, there: &Caller) -> [usize; 2] {
    let end = Instant::now() + many(1) * COUNTED;
    let turns = async |service: &Caller, place: &str| {
        let mut callers = JoinSet::new();
        for n in 0..4 {
            let (service, name) = (service.clone(), format!("{place}{n}"));
            callers.spawn(async move {
                let mut turns = 0;
                while Instant::now() < end {
                    let taken = service.acquire(&name, 10_000, 1_000).await.answers(201);
                    service.release(&name, &token(&taken)).await.answers(200);
                    turns += 1;
                }
                turns
            });
        }
        callers.join_all().await.into_iter().sum::<usize>()
    };
    tokio::join!(turns(here, "here"), turns(there, "there")).into()
}
