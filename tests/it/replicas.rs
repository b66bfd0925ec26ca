//! A real primary and a real replica: what a lock is worth when the primary dies and the replica
//! takes over.

use std::time::Duration;

use edgelock::{Bridge, Command, Error, Lease};
use testkit::stack::{self, RedisServer};
use tokio::task::spawn_local;

use crate::support::faulty::{Fault, Proxy, json, serve};
use crate::support::kinds::Kind;
use crate::support::watched::{abandons, watch};
use crate::support::{
    Http, Stack, TestLock, Tokio, alone, client, client_of, code, eventually, ms, run,
};

alone! {
    a_lock_that_a_replica_has_survives_the_loss_of_the_primary,
    without_replicas_a_fail_over_grants_a_lock_that_is_held,
    a_lock_that_too_few_replicas_have_is_given_back_and_not_granted_twice,
    a_primary_that_dies_before_its_replica_has_the_lock_has_granted_nothing,
    a_lease_that_too_few_replicas_have_renewed_is_as_it_was,
    a_downgrade_that_too_few_replicas_have_lets_readers_in_and_may_be_made_again,
    a_commit_that_too_few_replicas_have_has_run_and_says_so,
    a_commit_that_too_few_replicas_have_has_given_the_lock_back_as_observers_are_told,
    a_repeat_waits_for_what_the_first_request_wrote,
    a_wait_that_a_change_of_roles_ends_is_made_again,
    a_wait_at_a_server_that_is_a_replica_now_has_no_outcome_yet,
    a_waiter_that_is_handed_the_lock_asks_whether_the_replicas_have_it,
    scripts_may_be_cached_where_replicas_are_asked_for,
    webdis_waits_for_no_replicas_and_is_not_asked_to,
}

const LONG: Duration = Duration::from_secs(60);

/// Longer than a live replica ever needs, and no longer than the bridge allows.
const AMPLE: Duration = Duration::from_secs(4);
/// Short, for where there is no replica. A busy machine's replica may need longer, so no test waits
/// for a grant with it.
const BRIEF: Duration = Duration::from_millis(800);

/// Each with a bridge before it, as if one address had moved from the first to the second.
struct Pair {
    primary: RedisServer,
    replica: RedisServer,
    before_primary: stack::Bridge,
    before_replica: stack::Bridge,
}

impl Pair {
    fn start() -> Self {
        let primary = RedisServer::start(&[]);
        let replica = RedisServer::replica_of(&primary, &[]);
        let before = |redis: &RedisServer| {
            let bridge = stack::Bridge::options().redis(redis.url()).start();
            bridge.expect("a bridge")
        };
        Self {
            before_primary: before(&primary),
            before_replica: before(&replica),
            primary,
            replica,
        }
    }

    fn route(&self) -> Bridge {
        Bridge::upstash(self.before_primary.url(), self.before_primary.token()).unwrap()
    }

    /// A proxy before the primary's bridge.
    async fn proxy(&self) -> Proxy {
        let bridge = &self.before_primary;
        let route = |url: &str| Bridge::upstash(url, bridge.token()).unwrap();
        Proxy::to(bridge.url(), route, []).await
    }

    fn lock(&self) -> TestLock {
        client_of(self.route()).lock("a").ttl(LONG)
    }

    /// Waits until somebody waits for the replica.
    async fn somebody_waits(&self) {
        let clients = || self.primary.ask::<String>("INFO clients");
        eventually(|| clients().contains("blocked_clients:1")).await;
    }

    /// Makes the other one the primary's replica again.
    fn replicate(&self) {
        let port = self.primary.port();
        let _: () = self.replica.ask(&format!("REPLICAOF 127.0.0.1 {port}"));
    }

    /// A lock that is granted only once the replica has it.
    fn replicated(&self, within: Duration) -> TestLock {
        self.lock().wait_for_replicas(1, within)
    }

    /// Cuts the replica off from the primary.
    fn cut(&self) {
        let _: () = self.replica.ask("REPLICAOF 127.0.0.1 1");
        self.primary.wait_until("the replica is gone", |primary| {
            primary.ask::<String>("INFO replication").contains("connected_slaves:0")
        });
    }

    /// Kills the primary and promotes the replica. Returns another client's lock there.
    fn fail_over(&mut self) -> TestLock {
        self.primary.kill();
        let _: () = self.replica.ask("REPLICAOF NO ONE");
        let bridge = &self.before_replica;
        client(bridge.url(), bridge.token()).lock("a")
    }
}

fn is_not_replicated<O>(outcome: Result<O, Error>) {
    let few = outcome.err().expect("too few have it");
    let Error::NotReplicated { asked: 1, acknowledged: 0, .. } = few else {
        panic!("{few}");
    };
    assert!(few.lock().is_some_and(|lock| !lock.is_empty()));
    assert!(!few.is_outcome_unknown());
}

fn is_held<O>(outcome: Result<O, Error>) {
    assert_eq!(outcome.err().expect("another has it").code(), "held");
}

/// Leaves the lock as it is, as a process does that dies.
fn forget(lease: Lease<Http, Tokio>) {
    let _ = lease.into_token();
}

async fn a_lock_that_a_replica_has_survives_the_loss_of_the_primary() {
    let mut pair = Pair::start();
    let lease = pair.replicated(AMPLE).try_acquire().await.unwrap();
    let rival = pair.fail_over();
    is_held(rival.try_acquire().await);
    let token = lease.into_token();
    let lease = rival.resume(token).unwrap();
    lease.renew().await.unwrap();
    lease.release().await.unwrap();
}

/// What <https://redis.io/docs/latest/develop/use/patterns/distributed-locks/> warns of.
async fn without_replicas_a_fail_over_grants_a_lock_that_is_held() {
    let mut pair = Pair::start();
    pair.cut();
    let lease = pair.lock().try_acquire().await.unwrap();
    let rival = pair.fail_over().try_acquire().await.unwrap();
    assert!(lease.remaining() > ms(0) && rival.remaining() > ms(0));
    // Only the fence tells which of the two came later.
    assert!(rival.fence() > lease.fence());
    forget(lease);
}

async fn a_lock_that_too_few_replicas_have_is_given_back_and_not_granted_twice() {
    let mut pair = Pair::start();
    pair.cut();
    is_not_replicated(pair.replicated(ms(10)).try_acquire().await);
    eventually(|| !pair.primary.ask::<bool>("EXISTS a")).await;
    is_not_replicated(pair.replicated(ms(10)).acquire().await);
    eventually(|| !pair.primary.ask::<bool>("EXISTS a")).await;
    let rival = pair.fail_over().try_acquire().await.unwrap();
    rival.release().await.unwrap();
}

async fn a_primary_that_dies_before_its_replica_has_the_lock_has_granted_nothing() {
    let mut pair = Pair::start();
    pair.cut();
    let lock = pair.replicated(AMPLE);
    let asked = spawn_local(async move { lock.try_acquire().await });
    pair.somebody_waits().await;
    assert!(pair.primary.ask::<bool>("EXISTS a"));
    let rival = pair.fail_over();
    assert!(asked.await.unwrap().unwrap_err().is_outcome_unknown());
    let rival = rival.try_acquire().await.unwrap();
    rival.release().await.unwrap();
}

async fn a_lease_that_too_few_replicas_have_renewed_is_as_it_was() {
    let pair = Pair::start();
    let lease = pair.replicated(AMPLE).try_acquire().await.unwrap();
    lease.renew().await.unwrap();
    let write = [Command::new("INCR").key("{a}:n")];
    lease.exec(&write).await.unwrap();
    pair.cut();
    let before = lease.remaining();
    is_not_replicated(lease.renew().await);
    is_not_replicated(lease.exec(&write).await);
    assert!(lease.remaining() < before);
    // The commands ran once.
    assert_eq!(pair.primary.ask::<i64>("GET {a}:n"), 2);
    lease.release().await.unwrap();
}

async fn a_downgrade_that_too_few_replicas_have_lets_readers_in_and_may_be_made_again() {
    let stack = Stack::spawn();
    let lock = stack.client().read_write("a");
    let writer = lock.write().try_acquire().await.unwrap();
    // There is no replica.
    let replicated = lock.write().wait_for_replicas(1, ms(1));
    let lease = replicated.resume(writer.into_token()).unwrap();
    is_not_replicated(lease.downgrade().await);
    let reader = lock.read().try_acquire().await.unwrap();
    is_not_replicated(lease.downgrade().await);
    assert_eq!(code(lock.write().try_acquire().await), "held");
    reader.release().await.unwrap();
    lease.release().await.unwrap();
}

async fn a_commit_that_too_few_replicas_have_has_run_and_says_so() {
    let pair = Pair::start();
    let write = [Command::new("INCR").key("{a}:n")];
    let lease = pair.replicated(AMPLE).try_acquire().await.unwrap();
    lease.commit(&write).await.unwrap();
    assert_eq!(pair.replica.ask::<i64>("GET {a}:n"), 1);
    let lease = pair.replicated(AMPLE).try_acquire().await.unwrap();
    pair.cut();
    is_not_replicated(lease.commit(&write).await);
    // The commands ran once, and the lock is free.
    assert_eq!(pair.primary.ask::<i64>("GET {a}:n"), 2);
    assert_eq!(code(lease.renew().await), "released");
    let lease = pair.lock().try_acquire().await.unwrap();
    lease.release().await.unwrap();
}

async fn a_commit_that_too_few_replicas_have_has_given_the_lock_back_as_observers_are_told() {
    let stack = Stack::spawn();
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let lease = lock.try_acquire().await.unwrap();
    // There is no replica.
    let replicated = lock.wait_for_replicas(1, ms(1));
    let lease = replicated.resume(lease.into_token()).unwrap();
    is_not_replicated(lease.commit(&[]).await);
    assert_eq!(seen.events(), ["acquired", "released"]);
}

/// `WAIT` counts what its own connection wrote. So a repeat that only reads would find everything
/// replicated.
async fn a_repeat_waits_for_what_the_first_request_wrote() {
    let pair = Pair::start();
    let proxy = pair.proxy().await;
    for kind in Kind::ALL {
        // What the last one did not get is given back meanwhile.
        let names = [format!("{kind:?}"), format!("{kind:?}, too")];
        let lock = kind.lock(&proxy.client, &names.each_ref().map(String::as_str), "me");
        let ample = lock.clone().wait_for_replicas(1, AMPLE);
        let granted = ample.try_acquire().await.unwrap();
        pair.cut();
        let lock = lock.wait_for_replicas(1, BRIEF);
        let lease = lock.resume(granted.into_token()).unwrap();
        for write in [vec![], vec![Command::new("INCR").key("n")]] {
            proxy.next(Fault::LoseReply);
            is_not_replicated(lease.exec(&write).await);
        }
        proxy.next(Fault::LoseReply);
        is_not_replicated(lease.commit(&[Command::new("INCR").key("n")]).await);
        proxy.next(Fault::LoseReply);
        is_not_replicated(lock.try_acquire().await);
        pair.replicate();
        pair.replica.wait_until_in_step();
    }
}

/// Redis ends the waits of a primary that becomes a replica.
async fn a_wait_that_a_change_of_roles_ends_is_made_again() {
    let pair = Pair::start();
    for verb in ["acquire", "renew", "exec", "commit"] {
        pair.cut();
        let lease = pair.lock().try_acquire().await.unwrap();
        let lock = pair.replicated(AMPLE);
        if verb == "acquire" {
            lease.release().await.unwrap();
        }
        let lease = lock.resume(lease.into_token()).unwrap();
        let asked = spawn_local(async move {
            let write = [Command::new("INCR").key("{a}:n")];
            match verb {
                "acquire" => return lock.try_acquire().await.map(forget),
                "renew" => lease.renew().await?,
                "exec" => drop(lease.exec(&write).await?),
                _ => drop(lease.commit(&write).await?),
            }
            forget(lease);
            Ok(())
        });
        pair.somebody_waits().await;
        let _: () = pair.primary.ask("REPLICAOF 127.0.0.1 1");
        let _: () = pair.primary.ask("REPLICAOF NO ONE");
        pair.replicate();
        asked.await.unwrap().expect(verb);
        pair.replica.wait_until_in_step();
        let _: () = pair.primary.ask("DEL a");
    }
    // Each command ran once.
    assert_eq!(pair.primary.ask::<i64>("GET {a}:n"), 2);
}

/// The repeat of a write finds its receipt there, and the wait behind it is refused.
async fn a_wait_at_a_server_that_is_a_replica_now_has_no_outcome_yet() {
    let pair = Pair::start();
    let proxy = pair.proxy().await;
    let lock = proxy.client.lock("a").wait_for_replicas(1, BRIEF);
    let lease = pair.lock().try_acquire().await.unwrap();
    let lease = lock.resume(lease.into_token()).unwrap();
    proxy.next(Fault::Withhold);
    let asked = spawn_local(async move { lease.commit(&[]).await });
    eventually(|| !pair.primary.ask::<bool>("EXISTS a")).await;
    let _: () = pair.primary.ask("REPLICAOF 127.0.0.1 1");
    let unknown = asked.await.unwrap().unwrap_err();
    assert_eq!(unknown.code(), "unavailable", "{unknown}");
    assert!(unknown.is_outcome_unknown());
}

async fn a_waiter_that_is_handed_the_lock_asks_whether_the_replicas_have_it() {
    let pair = Pair::start();
    let holder = pair.lock().acquire().await.unwrap();
    let (client, seen) = watch(pair.route());
    let lock = client.lock("a").wait_for_replicas(1, AMPLE);
    let waiter = spawn_local(async move { lock.wait_timeout(LONG).acquire().await });
    eventually(|| seen.waits_quietly(3)).await;
    holder.release().await.unwrap();
    let lease = waiter.await.unwrap().unwrap();
    assert_eq!(seen.requests_of_grants(), [4]);
    lease.release().await.unwrap();
}

async fn scripts_may_be_cached_where_replicas_are_asked_for() {
    let pair = Pair::start();
    let client = client_of(pair.route().script_cache(true));
    for _ in 0..2 {
        let lock = client.lock("a").wait_for_replicas(1, AMPLE);
        let lease = lock.try_acquire().await.unwrap();
        lease.renew().await.unwrap();
        lease.release().await.unwrap();
    }
}

async fn webdis_waits_for_no_replicas_and_is_not_asked_to() {
    let webdis = Bridge::webdis("http://127.0.0.1:1", "user", "password").unwrap();
    let lock = client_of(webdis).lock("a").wait_for_replicas(1, AMPLE);
    assert_eq!(code(lock.try_acquire().await), "invalid_argument");
}

/// What a bridge answers to a script and the `WAIT` behind it, and what that means: the status, the
/// code of the error, whether the script was executed, and the body. `GRANTED` stands for a grant.
const ANSWERS: &str = r#"200 granted no [GRANTED,{"result":1}]
200 granted no [GRANTED,{"result":2}]
200 unexpected_reply maybe [GRANTED,{"result":-1}]
200 unexpected_reply maybe [GRANTED,{"result":[]}]
200 unexpected_reply maybe [GRANTED,{"result":"1"}]
200 unexpected_reply maybe [GRANTED,{"result":null}]
200 refused maybe [GRANTED,{"error":"NOPERM no WAIT"}]
200 unexpected_reply maybe [GRANTED]
200 unexpected_reply maybe GRANTED
200 truncated maybe [GRANTED
200 refused no [{"error":"OOM full"},{"result":0}]
200 held no [{"result":[0,"NONCE",5000,0,1,""]},{"result":0}]
404 refused no {"error":"no such route"}
503 unavailable maybe {"error":"away"}
400 unavailable no {"error":"LOADING data"}"#;

#[test]
fn every_answer_to_a_wait_has_its_outcome() {
    const GRANTED: &str = r#"{"result":[1,"NONCE",7,""]}"#;
    run(async {
        for row in ANSWERS.lines() {
            let cells: Vec<_> = row.splitn(4, ' ').collect();
            let (status, code, executed) = (cells[0].parse().unwrap(), cells[1], cells[2]);
            let body = cells[3].replace("GRANTED", GRANTED);
            let url = serve(move |asked| {
                assert!(asked.head.starts_with("POST /pipeline ") || abandons(&asked.body));
                let body = body.replace("NONCE", &asked.nonce());
                std::future::ready(Some(json(status, &body)))
            })
            .await;
            let client = client(&url, "credential").max_attempts(1);
            let lock = client.lock("a").wait_for_replicas(1, ms(10));
            match lock.try_acquire().await {
                Ok(_) => assert_eq!(code, "granted", "{row}"),
                Err(error) => {
                    let outcome = (error.code(), error.is_outcome_unknown());
                    assert_eq!(outcome, (code, executed == "maybe"), "{row}");
                }
            }
        }
    });
}
