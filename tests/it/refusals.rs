//! States in which a real Redis refuses to write. Each is told as what it is, and as not executed.

use edgelock::{Command, Error};
use testkit::stack::{self, RedisCluster, RedisServer};
use tokio::task::spawn_blocking;

use crate::support::kinds::Kind;
use crate::support::{TestClient, TestLock, alone, client, code};

alone! {
    a_redis_without_scripts_is_told_as_one_and_not_as_a_wrong_address,
    a_replica_is_passing_since_a_fail_over_may_be_under_way,
    a_replica_that_lost_its_primary_is_passing,
    a_primary_that_misses_its_replicas_is_passing,
    a_redis_that_is_full_grants_no_lock_and_takes_back_what_it_granted,
    a_redis_that_is_full_runs_the_commands_of_a_holder_as_a_whole,
    a_redis_that_is_full_keeps_the_result_of_work_that_is_done,
    a_redis_that_cannot_save_refuses,
    a_redis_that_loads_its_data_is_passing,
    a_redis_that_runs_somebody_elses_script_is_passing,
    a_cluster_without_an_owner_of_the_slot_is_passing,
    a_bridge_that_does_not_follow_a_cluster_is_told_from_one_that_is_away,
}

/// A bridge before `redis`, and a client whose calls ask once.
pub(crate) fn before(redis: &RedisServer) -> (stack::Bridge, TestClient) {
    let bridge = stack::Bridge::options().redis(redis.url()).start();
    let bridge = bridge.expect("a bridge");
    let client = client(bridge.url(), bridge.token()).max_attempts(1);
    (bridge, client)
}

#[track_caller]
fn is_passing(error: &Error, code: &str) {
    is_known(error, "unavailable", code);
}

#[track_caller]
fn is_final(error: &Error, code: &str) {
    is_known(error, "refused", code);
}

#[track_caller]
fn is_known(error: &Error, kind: &str, code: &str) {
    assert_eq!(error.code(), kind, "{error}");
    assert!(!error.is_outcome_unknown(), "{error}");
    assert!(error.to_string().contains(code), "{error}");
}

async fn refused(lock: &TestLock) -> Error {
    lock.try_acquire().await.expect_err("it is refused")
}

/// The same words may be about a path that a bridge takes for a command.
async fn a_redis_without_scripts_is_told_as_one_and_not_as_a_wrong_address() {
    let without = ["EVAL", "EVALSHA"].map(|name| ["--rename-command", name, ""]);
    let redis = RedisServer::start(without.as_flattened());
    let (bridge, client) = before(&redis);
    for error in
        [refused(&client.lock("a")).await, client.read(&[Command::new("TIME")]).await.unwrap_err()]
    {
        is_final(&error, "unknown command 'EVAL'");
        assert_eq!(error.reason(), Some("no_scripts"));
        assert!(error.advice().contains("rename-command"));
    }
    let astray = format!("{}/app", bridge.url());
    let error = refused(&crate::support::client(&astray, bridge.token()).lock("a")).await;
    assert_eq!(error.reason(), Some("path_is_command"), "{error}");
}

async fn a_replica_is_passing_since_a_fail_over_may_be_under_way() {
    let primary = RedisServer::start(&[]);
    let replica = RedisServer::replica_of(&primary, &[]);
    let (_bridge, client) = before(&replica);
    is_passing(&refused(&client.lock("a")).await, "READONLY");
    // Once the replica is promoted, it grants the lock.
    let _: () = replica.ask("REPLICAOF NO ONE");
    let lease = client.lock("a").try_acquire().await.unwrap();
    // It becomes a replica again. What it holds will be replaced by the primary's data, but not
    // within this test.
    let _: () = primary.ask("CONFIG SET repl-diskless-sync-delay 60");
    let _: () = replica.ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    is_passing(&lease.renew().await.unwrap_err(), "READONLY");
    is_passing(&lease.release().await.unwrap_err(), "READONLY");
    let _ = lease.into_token();
}

async fn a_replica_that_lost_its_primary_is_passing() {
    let mut primary = RedisServer::start(&[]);
    let stale = ["--replica-serve-stale-data", "no"];
    let replica = RedisServer::replica_of(&primary, &stale);
    let (_bridge, client) = before(&replica);
    primary.kill();
    replica.wait_until("it notices", |replica| {
        let info: String = replica.ask("INFO replication");
        info.contains("master_link_status:down")
    });
    is_passing(&refused(&client.lock("a")).await, "MASTERDOWN");
}

async fn a_primary_that_misses_its_replicas_is_passing() {
    let redis = RedisServer::start(&[]);
    let (_bridge, client) = before(&redis);
    let lock = client.lock("a");
    let lease = lock.try_acquire().await.unwrap();
    let _: () = redis.ask("CONFIG SET min-replicas-to-write 1");
    is_passing(&refused(&client.lock("b")).await, "NOREPLICAS");
    is_passing(&lease.renew().await.unwrap_err(), "NOREPLICAS");
    let write = [Command::new("SET").key("{a}:n").arg(1)];
    is_passing(&lease.exec(&write).await.unwrap_err(), "NOREPLICAS");
    is_passing(&lease.commit(&write).await.unwrap_err(), "NOREPLICAS");
    assert!(!redis.ask::<bool>("EXISTS {a}:n"));
    let _: () = redis.ask("CONFIG SET min-replicas-to-write 0");
    lease.commit(&write).await.unwrap();
}

async fn a_redis_that_is_full_grants_no_lock_and_takes_back_what_it_granted() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let (_bridge, client) = before(&redis);
    for kind in Kind::ALL {
        let lock = kind.lock(&client, &["a", "b"], "me");
        let lease = lock.try_acquire().await.unwrap();
        let _: () = redis.ask("CONFIG SET maxmemory 1");
        is_final(&refused(&client.lock("c")).await, "OOM");
        // Also to one that would wait.
        let waiting = kind.lock(&client, &["c", "d"], "me").acquire().await;
        is_final(&waiting.unwrap_err(), "OOM");
        lease.renew().await.unwrap();
        lease.release().await.unwrap();
        let _: () = redis.ask("CONFIG SET maxmemory 0");
        let lease = lock.try_acquire().await.unwrap();
        let _: () = redis.ask("CONFIG SET maxmemory 1");
        assert!(lock.force_release().await.unwrap());
        assert_eq!(code(lease.release().await), "lost");
        let _: () = redis.ask("CONFIG SET maxmemory 0");
        assert!(lock.inspect().await.unwrap().holder.is_none());
    }
    assert!(!redis.ask::<bool>("EXISTS c"));
}

/// If a script did not write at first, Redis would refuse the first command, and run those behind
/// one that needs no memory.
async fn a_redis_that_is_full_runs_the_commands_of_a_holder_as_a_whole() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let (_bridge, client) = before(&redis);
    for kind in Kind::ALL {
        let lock = kind.lock(&client, &["{a}a", "{a}b"], "me");
        let set = |key: &str| Command::new("SET").key(key).arg("1");
        let expire = Command::new("PEXPIRE").key("{a}x").arg(100_000);
        let commands = [set("{a}x"), expire, set("{a}y")];
        let exec = lock.try_acquire().await.unwrap();
        let commit = lock.resume(exec.token().clone()).unwrap();
        let _: () = redis.ask("CONFIG SET maxmemory 1");
        exec.exec(&commands).await.unwrap();
        assert_eq!(redis.ask::<u64>("DEL {a}x {a}y"), 2);
        exec.into_token();
        commit.commit(&commands).await.unwrap();
        let _: () = redis.ask("CONFIG SET maxmemory 0");
        assert_eq!(redis.ask::<u64>("DEL {a}x {a}y"), 2);
        assert!(lock.inspect().await.unwrap().holder.is_none());
    }
}

async fn a_redis_that_is_full_keeps_the_result_of_work_that_is_done() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let (_bridge, client) = before(&redis);
    let once = client.once("a");
    let work = once.run(async |_| {
        let _: () = redis.ask("CONFIG SET maxmemory 1");
        Ok::<_, Error>(7)
    });
    assert_eq!(work.await.unwrap(), edgelock::OnceOutcome::Executed(7));
    assert!(redis.ask::<bool>("EXISTS {a}:result") && !redis.ask::<bool>("EXISTS a"));
    let again = once.run(async |_| Ok::<_, Error>(8)).await.unwrap();
    assert_eq!(again, edgelock::OnceOutcome::Replayed(7));
}

async fn a_redis_that_cannot_save_refuses() {
    let redis = RedisServer::start(&[]);
    let (_bridge, client) = before(&redis);
    let lock = client.lock("a");
    let lease = lock.try_acquire().await.unwrap();
    std::fs::remove_dir_all(redis.folder()).unwrap();
    let saves: redis::RedisResult<()> = redis.try_ask(&["CONFIG", "SET", "save", "3600 1"]);
    saves.unwrap();
    let _: () = redis.ask("BGSAVE");
    redis.wait_until("it failed", |redis| {
        redis.ask::<String>("INFO persistence").contains("rdb_last_bgsave_status:err")
    });
    is_final(&refused(&client.lock("b")).await, "MISCONF");
    is_final(&lease.release().await.unwrap_err(), "MISCONF");
    let _: () = redis.ask("CONFIG SET stop-writes-on-bgsave-error no");
    lease.release().await.unwrap();
}

async fn a_redis_that_loads_its_data_is_passing() {
    let redis = RedisServer::start(&[
        "--enable-debug-command",
        "yes",
        "--loading-process-events-interval-bytes",
        "1024",
    ]);
    let (_bridge, client) = before(&redis);
    let lock = client.lock("a");
    let lease = lock.try_acquire().await.unwrap();
    let _: () = redis.ask("DEBUG POPULATE 2000 key 2048");
    // 10 ms for each key make 20 s, unless the delay is taken away.
    let _: () = redis.ask("CONFIG SET key-load-delay 10000");
    let loading = redis::Client::open(redis.url()).unwrap();
    let loading = spawn_blocking(move || {
        let mut connection = loading.get_connection().unwrap();
        redis::cmd("DEBUG").arg("RELOAD").exec(&mut connection)
    });
    redis.wait_until("it loads", |redis| {
        let pong: redis::RedisResult<String> = redis.try_ask(&["PING"]);
        pong.is_err_and(|error| error.code() == Some("LOADING"))
    });
    is_passing(&refused(&lock).await, "LOADING");
    is_passing(&lease.renew().await.unwrap_err(), "LOADING");
    let _: () = redis.ask("CONFIG SET key-load-delay 0");
    loading.await.unwrap().unwrap();
    lease.release().await.unwrap();
}

async fn a_redis_that_runs_somebody_elses_script_is_passing() {
    let redis = RedisServer::start(&["--busy-reply-threshold", "10"]);
    let (_bridge, client) = before(&redis);
    let busy = redis::Client::open(redis.url()).unwrap();
    let busy = spawn_blocking(move || {
        let mut connection = busy.get_connection().unwrap();
        redis::cmd("EVAL").arg("while true do end").arg(0).exec(&mut connection)
    });
    redis.wait_until("it is busy", |redis| {
        let pong: redis::RedisResult<String> = redis.try_ask(&["PING"]);
        pong.is_err_and(|error| error.code() == Some("BUSY"))
    });
    let lock = client.lock("a");
    is_passing(&refused(&lock).await, "BUSY");
    let _: () = redis.ask("SCRIPT KILL");
    assert!(busy.await.unwrap().is_err());
    lock.try_acquire().await.unwrap().release().await.unwrap();
}

async fn a_cluster_without_an_owner_of_the_slot_is_passing() {
    let redis = RedisServer::start(&["--cluster-enabled", "yes"]);
    let (_bridge, client) = before(&redis);
    let lock = client.lock("a");
    is_passing(&refused(&lock).await, "CLUSTERDOWN");
    let _: () = redis.ask("CLUSTER ADDSLOTSRANGE 0 16383");
    redis.wait_until("it has them all", |redis| {
        redis.ask::<String>("CLUSTER INFO").contains("cluster_state:ok")
    });
    lock.try_acquire().await.unwrap().release().await.unwrap();
}

async fn a_bridge_that_does_not_follow_a_cluster_is_told_from_one_that_is_away() {
    let cluster = RedisCluster::start();
    let named = &cluster.nodes()[0];
    let (_bridge, client) = before(named);
    let elsewhere = |name: &&str| cluster.owner(cluster.slot(name)) != 0;
    let name = ["a", "b", "c"].into_iter().find(elsewhere).unwrap();
    is_final(&refused(&client.lock(name)).await, "MOVED");
}
