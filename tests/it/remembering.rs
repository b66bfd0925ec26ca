//! For how long Redis remembers what was locked.

use edgelock::Error;

use crate::support::kinds::Kind;
use crate::support::{Stack, TestClient, TestLock, alone, eventually, ms, over};

alone! {
    a_fence_of_each_kind_is_remembered_for_as_long_as_the_client_says,
    what_is_known_of_a_long_hold_outlasts_it_though_others_are_short,
}

over! {
    [spawn] {
        the_longest_life_counts_that_anybody_asked_for_who_locked_the_name_or_waits,
        a_waiter_keeps_its_place_behind_another_programs_lock_that_outlasts_the_record,
        fences_grow_though_the_last_one_is_forgotten,
        once_a_throttle_and_a_debounce_leave_nothing_for_longer_than_a_minute_behind_their_time,
    }
}

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const WEEK: u64 = 7 * 24 * HOUR;
/// The shortest and the longest ttl of these tests.
const SHORT: u64 = 10_000;
const LONG: u64 = HOUR;

impl Stack {
    fn client_for(&self, fence_life: u64) -> TestClient {
        self.client().fence_life(ms(fence_life))
    }

    /// What is left of the record outlasts the lock for so long.
    #[track_caller]
    fn remembers_for(&mut self, life: u64, what: &str) {
        let left: u64 = self.redis("PTTL {a}:fence");
        // It takes an eighth longer, and the test a while.
        let longest = life * 9 / 8 + SHORT;
        assert!((life..=longest).contains(&left), "{what}: {left}");
    }
}

async fn turn(lock: &TestLock) {
    lock.acquire().await.unwrap().release().await.unwrap();
}

async fn a_fence_of_each_kind_is_remembered_for_as_long_as_the_client_says() {
    for (kind, life) in Kind::ALL.iter().flat_map(|kind| [(kind, MINUTE), (kind, WEEK)]) {
        let mut stack = Stack::spawn();
        let lock = kind.lock(&stack.client_for(life), &["a", "b"], "me");
        turn(&lock).await;
        stack.remembers_for(life, &format!("{kind:?}"));
        let lease = lock.acquire().await.unwrap();
        let _: () = stack.redis("PEXPIRE {a}:fence 20000");
        lease.renew().await.unwrap();
        stack.remembers_for(life, &format!("{kind:?}, renewed"));
        lease.renew_for(ms(LONG)).await.unwrap();
        let left: u64 = stack.redis("PTTL {a}:fence");
        assert!(left > life + LONG - SHORT, "{kind:?}: {left}");
        lease.release().await.unwrap();
    }
}

async fn the_longest_life_counts_that_anybody_asked_for_who_locked_the_name_or_waits(
    mut stack: Stack,
) {
    let [short, long] = [MINUTE, WEEK].map(|life| stack.client_for(life).lock("a"));
    let lease = short.acquire().await.unwrap();
    let waiter = tokio::task::spawn_local({
        let long = long.clone();
        async move { turn(&long).await }
    });
    eventually(|| stack.waiters_for("a") == 1).await;
    lease.release().await.unwrap();
    waiter.await.unwrap();
    stack.remembers_for(WEEK, "it was handed over");
    turn(&short).await;
    stack.remembers_for(WEEK, "another asks for less");
    // Once it is forgotten, nobody has asked before.
    let _: () = stack.redis("DEL {a}:fence");
    turn(&short).await;
    stack.remembers_for(MINUTE, "it was forgotten");
}

async fn what_is_known_of_a_long_hold_outlasts_it_though_others_are_short() {
    for kind in [Kind::Semaphore, Kind::Reader] {
        let mut stack = Stack::spawn();
        let client = stack.client_for(MINUTE);
        let lock = match kind {
            Kind::Semaphore => client.semaphore("a", 2),
            _ => client.read_write("a").read(),
        };
        let long = lock.clone().ttl(ms(LONG)).acquire().await.unwrap();
        turn(&lock.clone().ttl(ms(SHORT))).await;
        let left: u64 = stack.redis("PTTL {a}:fence");
        assert!(left > LONG + MINUTE - SHORT, "{kind:?}: {left}");
        long.release().await.unwrap();
    }
}

async fn a_waiter_keeps_its_place_behind_another_programs_lock_that_outlasts_the_record(
    mut stack: Stack,
) {
    let _: () = stack.redis("SET a theirs");
    let lock = stack.client_for(MINUTE).lock("a");
    let waiter = tokio::task::spawn_local(async move { turn(&lock).await });
    eventually(|| stack.waiters_for("a") == 1).await;
    let _: () = stack.redis("PEXPIRE {a}:fence 20000");
    // It asks again within seconds.
    eventually(|| stack.redis::<u64>("PTTL {a}:fence") > MINUTE).await;
    let _: () = stack.redis("DEL a");
    waiter.await.unwrap();
}

async fn fences_grow_though_the_last_one_is_forgotten(mut stack: Stack) {
    let lock = stack.client_for(MINUTE).lock("a");
    let first = lock.acquire().await.unwrap();
    first.release().await.unwrap();
    let _: () = stack.redis("DEL {a}:fence");
    let second = lock.acquire().await.unwrap();
    assert!(second.fence() > first.fence());
    second.release().await.unwrap();
}

async fn once_a_throttle_and_a_debounce_leave_nothing_for_longer_than_a_minute_behind_their_time(
    mut stack: Stack,
) {
    let client = stack.client_for(WEEK);
    let once = client.once("a").keep(ms(SHORT)).ttl(ms(SHORT));
    once.run(async |_| Ok::<_, Error>(1)).await.unwrap();
    client.throttle("b", ms(SHORT)).try_pass().await.unwrap();
    let debounce = client.debounce("c", ms(20));
    debounce.run(async || Ok::<_, Error>(())).await.unwrap();
    let keys: Vec<String> = stack.redis("KEYS *");
    assert!(keys.len() >= 5, "{keys:?}");
    for key in keys {
        let left: u64 = stack.redis(&format!("PTTL {key}"));
        assert!(left <= MINUTE + SHORT, "{key}: {left}");
    }
}
