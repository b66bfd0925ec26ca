//! Semaphores of which one holder has several permits: all of them or none.

use edgelock::{Error, Lease, Runtime, Transport};

use crate::support::{Stack, TestLock, code, ms, over};
use crate::waiting::{LONG, meanwhile};

over! {
    [upstash, webdis, on_redis_6_2, on_valkey_9] {
        a_holder_has_all_its_permits_or_none,
        a_heavy_waiter_gets_its_permits_when_enough_are_released,
        a_fair_heavy_waiter_is_not_starved_by_light_ones,
        heavy_and_light_holders_beyond_those_of_the_record_are_counted,
        who_is_refused_is_told_when_enough_permits_end,
        nobody_gets_a_permit_beside_holders_whose_weights_redis_forgot,
    }
}

impl Stack {
    fn weighing(&self, permits: u32, weight: u32) -> TestLock {
        self.client().semaphore("a", permits).weight(weight)
    }

    async fn free_of(&self, permits: u32) -> u64 {
        let found = self.weighing(permits, 1).inspect().await.unwrap();
        let held: u64 = found.holders.iter().map(|holder| holder.count).sum();
        assert_eq!(held + found.free.unwrap(), u64::from(permits));
        found.free.unwrap()
    }
}

async fn release<T: Transport, R: Runtime>(leases: impl IntoIterator<Item = Lease<T, R>>) {
    for lease in leases {
        lease.release().await.unwrap();
    }
}

async fn a_holder_has_all_its_permits_or_none(mut stack: Stack) {
    let heavy = stack.weighing(5, 3).try_acquire().await.unwrap();
    assert_eq!(stack.free_of(5).await, 2);
    assert_eq!(code(stack.weighing(5, 3).try_acquire().await), "held");
    let light = stack.weighing(5, 2).try_acquire().await.unwrap();
    assert_eq!(code(stack.weighing(5, 1).try_acquire().await), "held");
    heavy.renew().await.unwrap();
    assert_eq!(stack.free_of(5).await, 0);
    let resumed = stack.weighing(5, 1).resume(heavy.into_token()).unwrap();
    resumed.release().await.unwrap();
    assert_eq!(stack.free_of(5).await, 3);
    release([light]).await;
    assert!(!stack.redis::<bool>("EXISTS a {a}:holds"));
    // All at once is one holder.
    let all = stack.weighing(5, 5).try_acquire().await.unwrap();
    assert!(stack.weighing(5, 1).force_release().await.unwrap());
    assert_eq!(code(all.release().await), "lost");
    assert_eq!(stack.free_of(5).await, 5);
}

async fn a_heavy_waiter_gets_its_permits_when_enough_are_released(mut stack: Stack) {
    let one = stack.weighing(3, 1).try_acquire().await.unwrap();
    let other = stack.weighing(3, 1).try_acquire().await.unwrap();
    let waiting = stack.weighing(3, 3).wait_timeout(LONG);
    let waiter = meanwhile(async move { waiting.acquire().await });
    stack.has_waiters(1).await;
    one.release().await.unwrap();
    assert_eq!(stack.waiters(), 1);
    other.release().await.unwrap();
    let heavy = waiter.await.unwrap().unwrap();
    assert_eq!(stack.free_of(3).await, 0);
    release([heavy]).await;
}

async fn a_fair_heavy_waiter_is_not_starved_by_light_ones(mut stack: Stack) {
    let held = stack.weighing(2, 1).try_acquire().await.unwrap();
    let waiting = stack.weighing(2, 2).fair(true).wait_timeout(LONG);
    let waiter = meanwhile(async move { waiting.acquire().await });
    stack.has_waiters(1).await;
    // One permit is free, and it is not the turn of whoever comes later.
    let light = stack.weighing(2, 1).fair(true);
    assert_eq!(code(light.try_acquire().await), "held");
    held.release().await.unwrap();
    let heavy = waiter.await.unwrap().unwrap();
    assert_eq!(code(light.try_acquire().await), "held");
    release([heavy]).await;
}

async fn heavy_and_light_holders_beyond_those_of_the_record_are_counted(mut stack: Stack) {
    let (mut leases, mut held) = (Vec::new(), 0);
    for place in 0..30 {
        let weight = [1, 4, 2][place % 3];
        let lease = stack.weighing(100, weight).try_acquire().await.unwrap();
        leases.push((lease, weight));
        held += u64::from(weight);
        assert_eq!(stack.free_of(100).await, 100 - held);
    }
    assert_eq!(code(stack.weighing(100, 31).try_acquire().await), "held");
    // The oldest are no longer in the record.
    for (lease, weight) in leases {
        lease.renew().await.unwrap();
        lease.release().await.unwrap();
        held -= u64::from(weight);
        assert_eq!(stack.free_of(100).await, 100 - held);
        let rest = stack.weighing(100, (100 - held) as u32);
        release([rest.try_acquire().await.unwrap()]).await;
    }
    assert!(!stack.redis::<bool>("EXISTS a {a}:holds"));
}

async fn who_is_refused_is_told_when_enough_permits_end(stack: Stack) {
    let mut leases = Vec::new();
    for (weight, seconds) in [(2, 20), (1, 40), (1, 60)] {
        let lock = stack.weighing(4, weight).ttl(ms(seconds * 1_000));
        leases.push(lock.try_acquire().await.unwrap());
    }
    for (weight, seconds) in [(1, 20), (2, 20), (3, 40), (4, 60)] {
        let held = stack.weighing(4, weight).try_acquire().await.unwrap_err();
        let Error::Held { remaining, .. } = held else { panic!("{held:?}") };
        let left = remaining.unwrap();
        assert!(left <= ms(seconds * 1_000) && left > ms(seconds * 1_000 - 15_000));
    }
    release(leases).await;
}

/// A Redis that evicts keys may evict the record alone. It has the weights of the latest holders,
/// and the others are still known.
async fn nobody_gets_a_permit_beside_holders_whose_weights_redis_forgot(mut stack: Stack) {
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(stack.weighing(40, 2).try_acquire().await.unwrap());
    }
    let _: () = stack.redis("DEL {a}:fence");
    assert_eq!(code(stack.weighing(40, 1).try_acquire().await), "wrong_type");
    release(held).await;
    assert_eq!(stack.free_of(40).await, 40);
}
