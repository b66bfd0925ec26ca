//! Locks on a Redis Cluster: three real primaries, whose slots move.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use edgelock::{Bridge, Command, Error};
use testkit::stack::{self, RedisCluster};
use tokio::task::{spawn_blocking, spawn_local};

use crate::support::kinds::Kind;
use crate::support::watched::{Seen, WatchedClient, watch};
use crate::support::{Section, TestClient, TestLock, alone, client, client_of, code, eventually};

alone! {
    a_lock_is_one_lock_whichever_node_has_it,
    several_names_of_one_hash_tag_are_locked_at_once_and_others_are_refused,
    scripts_are_cached_by_each_node_for_itself,
    a_waiter_is_handed_the_lock_whichever_node_has_it,
    a_lock_stays_its_holders_while_its_slot_moves,
    a_lock_whose_keys_are_in_two_places_is_unavailable_and_nothing_is_executed,
    a_contended_lock_never_has_two_holders_while_its_slot_moves,
    a_waiter_at_the_node_that_had_the_lock_is_not_told_and_finds_it_by_asking,
    a_lock_whose_node_is_dead_is_unavailable,
    a_replica_that_took_over_is_found,
    a_signal_list_in_another_slot_is_refused_before_the_lock_is_taken,
    a_replica_of_the_locks_node_is_waited_for,
}

const LONG: Duration = Duration::from_secs(60);

struct Stack {
    cluster: RedisCluster,
    bridge: stack::Bridge,
}

impl Stack {
    fn start() -> Self {
        let cluster = RedisCluster::start();
        let bridge = stack::Bridge::options().cluster(cluster.url()).start();
        let bridge = bridge.expect("a bridge");
        Self { cluster, bridge }
    }

    fn client(&self) -> TestClient {
        client_of(self.route())
    }

    fn route(&self) -> Bridge {
        Bridge::upstash(self.bridge.url(), self.bridge.token()).unwrap()
    }

    fn caching_client(&self) -> TestClient {
        client_of(self.route().script_cache(true))
    }

    fn watched(&self) -> (WatchedClient, Seen) {
        watch(self.route())
    }

    /// The slot of a key, the node that has it, and the node that it is to move to.
    fn road(&self, key: &str) -> (u16, usize, usize) {
        let slot = self.cluster.slot(key);
        let from = self.cluster.owner(slot);
        (slot, from, (from + 1) % 3)
    }

    /// How many channels of this node somebody listens to.
    fn listeners(&self, node: usize) -> usize {
        let channels: Vec<String> = self.cluster.nodes()[node].ask("PUBSUB CHANNELS *");
        channels.len()
    }
}

/// One name for each node.
const NAMES: [&str; 3] = ["c", "a", "b"];

async fn a_lock_is_one_lock_whichever_node_has_it() {
    let stack = Stack::start();
    let owners = NAMES.map(|name| stack.road(name).1);
    assert_eq!(BTreeSet::from(owners).len(), 3, "{owners:?}");
    for (name, owner) in NAMES.into_iter().zip(owners) {
        let lock = stack.client().lock(name);
        let read = [Command::new("GET").key(format!("{{{name}}}:n"))];
        let (lease, _) = lock.acquire_and_read(&read).await.unwrap();
        assert_eq!(code(lock.try_acquire().await), "held");
        let holder: String = stack.cluster.nodes()[owner].ask(&format!("GET {name}"));
        assert_eq!(holder, lease.token().expose());
        let write = Command::new("SET").key(format!("{{{name}}}:n")).arg(1);
        lease.exec(std::slice::from_ref(&write)).await.unwrap();
        lease.commit(&[write]).await.unwrap();
        assert!(lock.inspect().await.unwrap().holder.is_none());
        for kind in Kind::ALL {
            let names = ["a", "b"].map(|of| format!("{{{name}}}:{kind:?}:{of}"));
            let names = names.each_ref().map(String::as_str);
            let lease = kind.lock(&stack.client(), &names, "me").acquire().await;
            let lease = lease.unwrap();
            lease.renew().await.unwrap();
            if kind == Kind::Writer {
                lease.downgrade().await.unwrap();
            }
            let rival = kind.rival().lock(&stack.client(), &names, "you");
            assert_eq!(code(rival.try_acquire().await), "held");
            lease.release().await.unwrap();
            rival.try_acquire().await.unwrap().release().await.unwrap();
        }
    }
}

async fn several_names_of_one_hash_tag_are_locked_at_once_and_others_are_refused() {
    let stack = Stack::start();
    let client = stack.client();
    let names = ["{cart:7}:a", "{cart:7}:b", "{cart:7}:c"];
    let cart = client.lock_all(names);
    let lease = cart.try_acquire().await.unwrap();
    let held = client.lock(names[1]).try_acquire().await;
    assert_eq!(held.unwrap_err().code(), "held");
    let waiting = cart.clone().wait_timeout(LONG);
    let next = spawn_local(async move { waiting.acquire().await });
    let (_, node, _) = stack.road(names[0]);
    eventually(|| {
        stack.cluster.nodes()[node]
            .ask::<Option<String>>("GET {cart:7}:a:fence")
            .is_some_and(|kept| kept.matches(',').count() == 2)
    })
    .await;
    lease.release().await.unwrap();
    next.await.unwrap().unwrap().release().await.unwrap();
    let apart = client.lock_all(NAMES).try_acquire().await.unwrap_err();
    assert_eq!(apart.code(), "refused", "{apart}");
    assert!(apart.to_string().contains("CROSSSLOT"), "{apart}");
    assert!(!apart.is_outcome_unknown());
    for name in NAMES {
        drop(client.lock(name).try_acquire().await.unwrap());
    }
}

async fn scripts_are_cached_by_each_node_for_itself() {
    let stack = Stack::start();
    let client = stack.caching_client();
    for name in NAMES.into_iter().chain(NAMES) {
        let lock = client.lock(name);
        lock.try_acquire().await.unwrap().release().await.unwrap();
    }
}

async fn a_waiter_is_handed_the_lock_whichever_node_has_it() {
    let stack = Stack::start();
    for name in NAMES {
        let holder = stack.client().lock(name).acquire().await.unwrap();
        let (client, seen) = stack.watched();
        let lock = client.lock(name).wait_timeout(LONG);
        let waiter = spawn_local(async move { lock.acquire().await });
        eventually(|| seen.waits_quietly(3)).await;
        assert_eq!(stack.listeners(stack.road(name).1), 1, "at the lock's node");
        holder.release().await.unwrap();
        let lease = waiter.await.unwrap().unwrap();
        assert_eq!(seen.requests_of_grants(), [3]);
        lease.release().await.unwrap();
    }
}

async fn a_lock_stays_its_holders_while_its_slot_moves() {
    let stack = Stack::start();
    let lock = stack.client().lock("a").ttl(LONG);
    let lease = lock.acquire().await.unwrap();
    let (slot, from, to) = stack.road("a");
    stack.cluster.migrate(slot, from, to);
    assert_eq!(code(lock.try_acquire().await), "held");
    lease.renew().await.unwrap();
    let write = [Command::new("INCR").key("{a}:n")];
    assert_eq!(lease.exec(&write).await.unwrap()[0].as_i64(), Some(1));
    // Moves the slot back, before a bridge that remembers where it was.
    stack.cluster.migrate(slot, to, from);
    assert_eq!(lease.commit(&write).await.unwrap()[0].as_i64(), Some(2));
    let next = lock.try_acquire().await.unwrap();
    assert!(next.fence() > lease.fence());
}

async fn a_lock_whose_keys_are_in_two_places_is_unavailable_and_nothing_is_executed() {
    let stack = Stack::start();
    let client = stack.client().max_attempts(1);
    let lock = client.lock("a").ttl(LONG);
    let lease = lock.acquire().await.unwrap();
    let (slot, from, to) = stack.road("a");
    stack.cluster.begin_migration(slot, from, to);
    assert!(stack.cluster.migrate_one(slot, from, to));
    for error in [lock.try_acquire().await.unwrap_err(), lease.renew().await.unwrap_err()] {
        assert_eq!(error.code(), "unavailable", "{error}");
        assert!(!error.is_outcome_unknown(), "{error}");
    }
    while stack.cluster.migrate_one(slot, from, to) {}
    stack.cluster.end_migration(slot, to);
    lease.renew().await.unwrap();
    lease.release().await.unwrap();
}

async fn a_contended_lock_never_has_two_holders_while_its_slot_moves() {
    let Stack { cluster, bridge } = Stack::start();
    let section = Rc::new(Section::default());
    let is_over = Rc::new(Cell::new(false));
    let begin = |_| {
        let lock = client(bridge.url(), bridge.token()).lock("a");
        spawn_local(work(lock.wait_timeout(LONG), section.clone(), is_over.clone()))
    };
    let workers: Vec<_> = (0..8).map(begin).collect();
    let mut cluster = cluster;
    for _ in 0..6 {
        let before = section.entered();
        eventually(|| section.entered() > before + 10).await;
        cluster = spawn_blocking(move || {
            let slot = cluster.slot("a");
            let from = cluster.owner(slot);
            cluster.migrate(slot, from, (from + 1) % 3);
            cluster
        })
        .await
        .unwrap();
    }
    let before = section.entered();
    eventually(|| section.entered() > before + 10).await;
    is_over.set(true);
    for worker in workers {
        worker.await.unwrap();
    }
}

async fn work(lock: TestLock, section: Rc<Section>, is_over: Rc<Cell<bool>>) {
    while !is_over.get() {
        match lock.acquire().await {
            Ok(lease) => {
                section.enter(lease.fence()).await;
                // While the slot moves, the lock is given back by its ttl or by the next try.
                while let Err(Error::Unavailable { .. }) = lease.release().await {}
            }
            Err(Error::Unavailable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// On a cluster a waiter hears what is published at any node, but counts as a listener only at the
/// node that it listens at.
async fn a_waiter_at_the_node_that_had_the_lock_is_not_told_and_finds_it_by_asking() {
    let stack = Stack::start();
    let holder = stack.client().lock("a").ttl(LONG);
    let holder = holder.acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let lock = client.lock("a").wait_timeout(LONG);
    let waiter = spawn_local(async move { lock.acquire().await });
    eventually(|| seen.waits_quietly(3)).await;
    let (slot, from, to) = stack.road("a");
    stack.cluster.migrate(slot, from, to);
    assert_eq!(stack.listeners(from), 1);
    let before = seen.sent();
    holder.release().await.unwrap();
    // The lock is free: the release did not hand it to a waiter that it could not count.
    let rival = stack.client().lock("a");
    let rival = rival.try_acquire().await.unwrap();
    rival.release().await.unwrap();
    let lease = waiter.await.unwrap().unwrap();
    assert!(seen.sent() > before && lease.fence() > rival.fence());
}

async fn a_lock_whose_node_is_dead_is_unavailable() {
    let mut stack = Stack::start();
    let client = stack.client().max_attempts(1);
    let lock = client.lock("a");
    lock.try_acquire().await.unwrap().release().await.unwrap();
    let (_, owner, other) = stack.road("a");
    stack.cluster.give_up_after(Duration::from_secs(1));
    stack.cluster.nodes_mut()[owner].kill();
    stack.cluster.nodes()[other].wait_until("the cluster is down", |node| {
        node.ask::<String>("CLUSTER INFO").contains("cluster_state:fail")
    });
    // The first request may learn of the death by a broken connection.
    let _ = lock.try_acquire().await;
    for name in NAMES {
        let lock = client.lock(name);
        let error = lock.try_acquire().await.unwrap_err();
        assert_eq!(error.code(), "unavailable", "{error}");
        assert!(!error.is_outcome_unknown(), "{error}");
    }
}

async fn a_replica_that_took_over_is_found() {
    let mut stack = Stack::start();
    let lock = stack.caching_client().lock("a").ttl(LONG);
    let lease = lock.acquire().await.unwrap();
    let owner = stack.road("a").1;
    let replica = stack.cluster.add_replica_of(owner);
    stack.cluster.nodes_mut()[owner].kill();
    let _: () = replica.ask("CLUSTER FAILOVER TAKEOVER");
    let others = stack.cluster.nodes().iter().enumerate();
    for (_, node) in others.filter(|(index, _)| *index != owner) {
        node.wait_until("it knows who took over", |node| {
            let primary = |line: &str| {
                line.contains(&format!(":{}@", replica.port())) && line.contains(" master ")
            };
            node.ask::<String>("CLUSTER NODES").lines().any(primary)
        });
    }
    assert_eq!(code(lock.try_acquire().await), "held");
    lease.release().await.unwrap();
    // The new primary does not know the cached scripts.
    lock.try_acquire().await.unwrap().release().await.unwrap();
}

async fn a_signal_list_in_another_slot_is_refused_before_the_lock_is_taken() {
    let stack = Stack::start();
    let lock = |list: &str| stack.client().lock("{a}:b").signal_list(list);
    let refused = lock("signal").try_acquire().await.unwrap_err();
    assert!(!refused.is_outcome_unknown() && refused.code() != "held", "{refused}");
    let lease = lock("{a}:signal").try_acquire().await.unwrap();
    lease.release().await.unwrap();
}

async fn a_replica_of_the_locks_node_is_waited_for() {
    let stack = Stack::start();
    let replica = stack.cluster.add_replica_of(stack.road("a").1);
    let lock = stack.client().lock("a");
    let lock = lock.wait_for_replicas(1, Duration::from_secs(4));
    let lease = lock.try_acquire().await.unwrap();
    // A replica answers reads only on a connection that said `READONLY`.
    let direct = redis::Client::open(replica.url()).unwrap();
    let mut direct = direct.get_connection().unwrap();
    redis::cmd("READONLY").exec(&mut direct).unwrap();
    let copy: String = redis::cmd("GET").arg("a").query(&mut direct).unwrap();
    assert_eq!(copy, lease.token().expose());
    // The other nodes have no replica.
    let other = stack.client().lock("b");
    let other = other.wait_for_replicas(1, Duration::from_millis(10));
    assert_eq!(code(other.try_acquire().await), "not_replicated");
    lease.release().await.unwrap();
}
