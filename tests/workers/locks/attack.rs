//! A crowd that may use locks, and hangs up: others that may keep at least half of what they have
//! alone, whether the crowd wants one name or ever another one, and a holder keeps its lock.

use std::time::Instant;

use tokio::task::JoinSet;

use super::token;
use crate::attack::crowd::{COUNTED, Requests, far, must_hold};
use crate::attack::many;
use crate::support::caller::Caller;
use crate::support::{BRIDGE_URL, Stack};

const ROUTES: [Requests; 8] = [
    &[r#"POST /locks/held/acquire {"ttl_ms":60000,"wait_ms":20000}"#],
    &[r#"POST /locks/one/acquire {"ttl_ms":60000,"wait_ms":20000}"#],
    &[r#"POST /locks/any{n}/acquire {"ttl_ms":60000,"wait_ms":20000}"#],
    &[r#"POST /locks/any{n}/acquire {"ttl_ms":60000,"wait_ms":0}"#],
    &[r#"POST /locks/held/renew {"token":"AAAAAAAAAAAAAAAAAAAAAA"}"#],
    &[r#"POST /locks/held/release {"token":"AAAAAAAAAAAAAAAAAAAAAA"}"#],
    &["GET /locks/held"],
    &["GET /locks/any{n}"],
];

#[tokio::test]
async fn beside_a_crowd_that_may_use_locks_others_keep_half_of_what_they_have_alone() {
    let mut stack = Stack::of("lock-service");
    let config = stack.config.clone().bind(BRIDGE_URL, far(&stack));
    let (here, there) = (stack.start_with(config.clone()), stack.start_with(config));
    let held = here.acquire("held", 3_600_000, 0).await.answers(201);
    // As many as the honest: nobody divides the isolate's CPU among those with the credential.
    must_hold(&stack, &ROUTES, 4, |_| here.clone(), async || served(&here, &there).await).await;
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
