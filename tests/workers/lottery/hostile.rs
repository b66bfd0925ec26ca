//! What the lottery refuses, whoever sends it.

use crate::attack::many;
use crate::hostile::{Route, id, refuses_all};
use crate::support::{Stack, at_once};

#[tokio::test]
async fn what_is_hostile_is_refused_by_the_lottery() {
    let stack = Stack::of("lottery");
    let path = "/lottery/2026-11-21/entrants";
    let others = vec![(String::new(), None)];
    Route { path, fields: vec![id("entrant")], others }.refuses_what_is_wrong(&stack).await;
    let requests = [
        ("GET", "/lottery", 404, "no_such_route"),
        ("GET", "/lottery/2026-11-21/winners", 404, "no_such_route"),
        ("GET", "/lottery/%FF", 422, "invalid_input"),
        ("DELETE", "/lottery/2026-11-21", 405, "method_not_allowed"),
        ("GET", "/lottery/2026-02-30", 422, "invalid_input"),
        ("POST", "/lottery/today/entrants", 422, "invalid_input"),
    ];
    refuses_all(&stack, &requests).await;
}

/// An anonymous caller must not fill Redis.
#[tokio::test]
async fn entries_for_days_that_are_not_open_leave_nothing_in_redis() {
    let stack = Stack::of("lottery");
    let ask = |n: u32| {
        let lottery = stack.caller();
        async move {
            let entrant = format!("b{n}");
            lottery.enter("1970-01-01", &entrant).await.refuses(410, "lottery_closed");
            lottery.enter("9999-01-01", &entrant).await.refuses(422, "invalid_input");
        }
    };
    for round in 0..many(10) {
        at_once((0..20).map(|n| ask(20 * round + n))).await;
    }
    assert_eq!(stack.redis().dump(), []);
}
