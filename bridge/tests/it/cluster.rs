//! A bridge before a Redis Cluster.
use testkit::stack::RedisCluster;

use crate::support::{Bridge, command, ends, says, until};

/// One key for each node.
const KEYS: [&str; 3] = ["b", "c", "a"];

async fn before(cluster: &RedisCluster) -> Bridge {
    Bridge::start(["--cluster", "--redis", &cluster.url()]).await
}

fn ok(body: &str) -> (u16, String) {
    (200, body.to_owned())
}

#[tokio::test]
async fn a_command_is_answered_by_the_node_that_has_its_key() {
    let cluster = RedisCluster::start();
    let bridge = before(&cluster).await;
    for key in KEYS {
        let set = format!(r#"["SET","{key}","1"]"#);
        assert_eq!(bridge.run(&set).await, ok(r#"{"result":"OK"}"#));
        let owner = &cluster.nodes()[cluster.owner(cluster.slot(key))];
        assert_eq!(owner.ask::<String>(&format!("GET {key}")), "1");
        // The key is not the first argument here. The bridge asks a node where it is.
        let encoding = bridge.run(&format!(r#"["OBJECT","ENCODING","{key}"]"#)).await;
        assert_eq!(encoding, ok(r#"{"result":"int"}"#));
        let script = format!(r#"["EVAL","return redis.call('INCR',KEYS[1])","1","{key}"]"#);
        assert_eq!(bridge.run(&script).await, ok(r#"{"result":2}"#));
    }
}

#[tokio::test]
async fn a_pipeline_goes_to_all_its_nodes_in_order() {
    let cluster = RedisCluster::start();
    let bridge = before(&cluster).await;
    let body =
        r#"[["INCR","a"],["INCR","b"],["NOSUCH"],["INCR","c"],["INCR","a"],["GET","b"],["PING"]]"#;
    let (status, answers) = bridge.ask("/pipeline", body).await;
    assert_eq!(status, 200);
    let expected = [
        r#"[{"result":1},{"result":1},{"error":"ERR unknown command 'NOSUCH'"#,
        r#"},{"result":1},{"result":2},{"result":"1"},{"result":"PONG"}]"#,
    ];
    assert!(answers.starts_with(expected[0]), "{answers}");
    assert!(answers.ends_with(expected[1]), "{answers}");
}

/// Each command goes to Redis for itself.
#[tokio::test]
async fn a_pipeline_has_the_time_and_the_room_of_one_request() {
    let cluster = RedisCluster::start();
    let options = ["--timeout", "1000", "--cluster", "--redis", &cluster.url()];
    let bridge = Bridge::start(options).await;
    let clock =
        "local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end";
    let script = format!("{clock} local start = now() while now() < start + 400 do end return 1");
    let lasting = vec![format!(r#"["EVAL","{script}",1,"a"]"#); 5].join(",");
    let told = bridge.ask("/pipeline", format!("[{lasting}]")).await;
    says(told, 504, "unknown");

    let bridge = before(&cluster).await;
    bridge.set("large", &"x".repeat(1 << 20)).await;
    let before = bridge.memory();
    let gets = vec![r#"["GET","large"]"#; 300].join(",");
    let (status, body) = bridge.ask("/pipeline", format!("[{gets}]")).await;
    assert_eq!(status, 200);
    assert_eq!(body.matches("TOOLARGE").count(), 291);
    let grown = bridge.memory().saturating_sub(before);
    assert!(grown < 80 << 20, "{grown}");
}

#[tokio::test]
async fn a_transaction_is_about_one_slot() {
    let cluster = RedisCluster::start();
    let bridge = before(&cluster).await;
    for key in KEYS {
        let body = format!(
            r#"[["INCR","{{{key}}}1"],["INCR","{{{key}}}2"],["MGET","{{{key}}}1","{{{key}}}2"]]"#
        );
        let expected = r#"[{"result":1},{"result":1},{"result":["1","1"]}]"#;
        assert_eq!(bridge.ask("/multi-exec", body).await, ok(expected));
    }
    for body in [r#"[["INCR","a"],["INCR","b"]]"#, r#"[["INCR","a"],["INCR","b"],["INCR","c"]]"#] {
        says(bridge.ask("/multi-exec", body).await, 400, "CROSSSLOT");
    }
    for key in KEYS {
        assert_eq!(bridge.run(&format!(r#"["EXISTS","{key}"]"#)).await, ok(r#"{"result":0}"#));
    }
    says(bridge.run(r#"["MGET","a","b"]"#).await, 400, "CROSSSLOT");
}

/// A stranger would be told Redis's password.
#[tokio::test]
async fn a_script_cannot_send_the_bridge_to_a_stranger() {
    let cluster = RedisCluster::start();
    let bridge = before(&cluster).await;
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap();
    for word in ["MOVED", "ASK"] {
        let script = format!("return redis.error_reply('{word} 1 {address}')");
        let (status, answer) = bridge.run(&format!(r#"["EVAL","{script}","1","a"]"#)).await;
        assert_eq!(status, 400);
        assert!(answer.contains(&address.to_string()), "{answer}");
    }
    stranger.set_nonblocking(true).unwrap();
    assert!(stranger.accept().is_err());
}

/// The answer of one node would be taken for that of all.
#[tokio::test]
async fn what_is_about_all_nodes_is_refused() {
    let cluster = RedisCluster::start();
    let bridge = before(&cluster).await;
    for command in [
        r#"["KEYS","*"]"#,
        r#"["SCAN","0"]"#,
        r#"["DBSIZE"]"#,
        r#"["FLUSHALL"]"#,
        r#"["SCRIPT","LOAD","return 1"]"#,
        r#"["WAIT","1","100"]"#,
    ] {
        says(bridge.run(command).await, 400, "cluster");
    }
    // After a write, `WAIT` counts the replicas of that write's node.
    for key in KEYS {
        let body = format!(r#"[["SET","{key}","1"],["WAIT","1","10"],["GET","{key}"]]"#);
        let expected = r#"[{"result":"OK"},{"result":0},{"result":"1"}]"#;
        assert_eq!(bridge.ask("/pipeline", body).await, ok(expected));
    }
}

#[tokio::test]
async fn a_slot_that_moves_is_followed_by_all_kinds_of_requests() {
    let cluster = RedisCluster::start();
    let bridge = before(&cluster).await;
    let slot = cluster.slot("a");
    let from = cluster.owner(slot);
    let to = (from + 1) % 3;
    assert_eq!(bridge.run(r#"["SET","a","1"]"#).await.0, 200);
    cluster.begin_migration(slot, from, to);
    assert_eq!(bridge.run(r#"["GET","a"]"#).await, ok(r#"{"result":"1"}"#));
    while cluster.migrate_one(slot, from, to) {}
    // The slot still belongs to the old node, which redirects each request to the new one.
    assert_eq!(bridge.run(r#"["GET","a"]"#).await, ok(r#"{"result":"1"}"#));
    let waits = r#"[["INCR","a"],["WAIT","1","10"]]"#;
    assert_eq!(bridge.ask("/pipeline", waits).await, ok(r#"[{"result":2},{"result":0}]"#));
    assert_eq!(cluster.nodes()[from].ask::<usize>("DBSIZE"), 0);
    let told = bridge.ask("/multi-exec", r#"[["INCR","a"]]"#).await;
    says(told, 400, "ASK");

    cluster.end_migration(slot, to);
    assert_eq!(bridge.ask("/multi-exec", r#"[["INCR","a"]]"#).await, ok(r#"[{"result":3}]"#));
    assert_eq!(bridge.run(r#"["GET","a"]"#).await, ok(r#"{"result":"3"}"#));
}

/// The old node redirects to the new one, which lacks a key that is nowhere.
#[tokio::test]
async fn a_command_whose_keys_are_only_half_there_is_told_to_come_back() {
    let cluster = RedisCluster::start();
    let bridge = before(&cluster).await;
    let slot = cluster.slot("a");
    let from = cluster.owner(slot);
    let to = (from + 1) % 3;
    assert_eq!(bridge.run(r#"["SET","{a}1","1"]"#).await.0, 200);
    cluster.begin_migration(slot, from, to);
    while cluster.migrate_one(slot, from, to) {}
    let told = bridge.run(r#"["MGET","{a}1","{a}2"]"#).await;
    says(told, 400, "TRYAGAIN");
}

#[tokio::test]
async fn the_loss_of_the_node_that_was_named_is_not_the_loss_of_the_others() {
    let mut cluster = RedisCluster::start();
    for node in cluster.nodes() {
        let _: () = node.ask("CONFIG SET cluster-require-full-coverage no");
    }
    let bridge = before(&cluster).await;
    cluster.nodes()[0].wait_until("the bridge learns who else there is", |node| {
        let stats: String = node.ask("INFO commandstats");
        stats.contains("cmdstat_cluster|nodes")
    });
    let lost = KEYS.map(|key| cluster.owner(cluster.slot(key)) == 0);
    cluster.nodes_mut()[0].kill();
    for (key, is_lost) in KEYS.into_iter().zip(lost) {
        until("it is found, or known to be lost", async || {
            let (status, answer) = bridge.run(&format!(r#"["GET","{key}"]"#)).await;
            match is_lost {
                true => answer.contains("nothing was executed"),
                false => status == 200,
            }
        })
        .await;
    }
}

/// As a container does whose disk is empty at its start.
#[tokio::test]
async fn a_node_that_comes_back_without_its_cluster_is_asked_no_more() {
    let mut cluster = RedisCluster::start();
    let bridge = before(&cluster).await;
    for key in KEYS {
        bridge.set(key, "1").await;
    }
    let replica = cluster.add_replica_of(0);
    cluster.nodes_mut()[0].come_back_empty().unwrap();
    let _: () = replica.ask("CLUSTER FAILOVER TAKEOVER");
    for key in KEYS {
        let get = format!(r#"["GET","{key}"]"#);
        until("it is found at the others", async || {
            bridge.run(&get).await == ok(r#"{"result":"1"}"#)
        })
        .await;
    }
}

#[tokio::test]
async fn a_cluster_is_neither_spawned_nor_on_a_unix_socket() {
    for redis in ["spawn", "unix:///tmp/redis.sock"] {
        let said = ends(command(["--cluster", "--redis", redis])).await;
        assert!(said.contains("cluster"), "{said}");
    }
}
