//! Scripts that keep Redis busy, so that it serves nobody.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use testkit::beside::must_keep_half;
use testkit::stack::{LatencyProxy, RedisServer};
use tokio::time::{sleep, timeout};

use super::{HonestClient, executed_nothing, many};
use crate::support::{Bridge, connect, refused_for_now, says, until};

/// A script that runs for so many milliseconds.
fn lasting(ms: u32) -> String {
    let clock =
        "local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end";
    let script =
        format!("{clock} local start = now() while now() < start + {ms} do end return 'done'");
    serde_json::to_string(&["EVAL", &script, "0"]).expect("text")
}

/// Everybody learns what became of their command.
#[tokio::test]
async fn a_script_without_an_end_is_ended_and_everybody_told() {
    let bridge = Bridge::spawn().await;
    let beside = HonestClient::of(&bridge).await;
    let told = bridge.run(r#"["EVAL","while true do end",0]"#).await;
    says(told, 400, "killed by user");
    beside.got_all_or_was_told().await;
    assert!(bridge.log().contains("was ended"), "{}", bridge.log());
    assert_eq!(bridge.health().await.0, 200);
}

/// Redis is busy all the while, so only the answers show that another script runs.
#[tokio::test]
async fn a_script_without_an_end_is_ended_right_behind_another_too() {
    let bridge = Bridge::spawn().await;
    // One that has written is not ended, and lasts longer than it takes Redis to say "busy".
    let first = lasting(2000).replace("local start", "redis.call('SET','k',1) local start");
    let mut direct = connect(&bridge.redis_url()).await;
    let behind = async {
        until("the first one runs", async || {
            let ping = redis::cmd("PING");
            let pong = ping.exec_async(&mut direct);
            timeout(Duration::from_millis(50), pong).await.is_err()
        })
        .await;
        bridge.run(r#"["EVAL","while true do end",0]"#).await
    };
    let (first, (status, body)) = tokio::join!(bridge.run(&first), behind);
    assert_eq!(first.0, 200, "{}", first.1);
    assert!(status == 400 && body.contains("killed by user"), "{body}");
}

/// Only `SHUTDOWN NOSAVE` would end it, and that would lose what was written since the last save.
/// People must decide that.
#[tokio::test]
async fn a_script_that_has_written_is_not_ended_and_the_operator_is_told() {
    let bridge = Bridge::with(["--timeout", "3000"]).await;
    let endless = r#"["EVAL","redis.call('SET','k',1) while true do end",0]"#;
    says(bridge.run(endless).await, 504, "unknown");
    bridge.until_logs("cannot be ended").await;
    let health = bridge.health().await;
    let busy = r#"{"error":"ERR a script keeps Redis busy"}"#;
    assert_eq!(health, (503, busy.to_owned()));
    refused_for_now(bridge.post("/", r#"["GET","k"]"#)).await;
    // It is logged once, not four times a second.
    assert_eq!(bridge.log().matches("cannot be ended").count(), 1);
}

/// Other clients are served between two of them, and so are scripts that are known to be quick.
#[tokio::test]
async fn scripts_that_last_take_turns_and_the_others_are_served_between_them() {
    let bridge = Bridge::with(["--timeout", "1000"]).await;
    let quick = r#"["EVAL","return redis.call('GET',KEYS[1])",1,"beside"]"#;
    assert_eq!(bridge.run(quick).await.0, 200);
    let beside = [HonestClient::of(&bridge).await, HonestClient::asking(&bridge, quick).await];
    let scripts = (0..many(40)).map(|_| {
        let script = lasting(100);
        let bridge = &bridge;
        async move { bridge.run(&script).await }
    });
    let (answers, health) = tokio::join!(join_all(scripts), async {
        let mut health = Vec::new();
        for _ in 0..20 {
            health.push(bridge.health().await.0);
        }
        health
    });
    for beside in beside {
        beside.got_all().await;
    }
    assert_eq!(health, [200; 20]);
    let done = answers.iter().filter(|answer| answer.0 == 200).count();
    assert!(done > 0);
    let is_told = |answer: &&_| executed_nothing(answer);
    let refused = answers.iter().filter(is_told).count();
    assert_eq!(done + refused, answers.len(), "{answers:?}");
}

/// Sixty loops of scripts that Redis never saw, and once another program that keeps it busy for so
/// long that the bridge doubts whoever asked meanwhile.
#[tokio::test]
async fn a_crowd_of_scripts_that_last_leaves_others_half_of_what_they_have_alone() {
    const TIME: Duration = Duration::from_secs(3);
    let bridge = Bridge::spawn().await;
    let locks = r#"["EVAL","return redis.call('GET',KEYS[1])",1,"k"]"#;
    let honest = async || {
        // As far away as most are.
        let (client, since, mut served) = (bridge.another_client(), Instant::now(), 0);
        while since.elapsed() < TIME {
            served += usize::from(client.run(locks).await.0 == 200);
            sleep(Duration::from_millis(10)).await;
        }
        served
    };
    let alone = honest().await;
    let new = std::sync::atomic::AtomicUsize::new(0);
    let crowd = join_all((0..60).map(|_| async {
        loop {
            let number = new.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let script = lasting(100).replace("return 'done'", &format!("return {number}"));
            bridge.run(&script).await;
        }
    }));
    let mut direct = connect(&bridge.redis_url()).await;
    let doubts = async {
        sleep(Duration::from_millis(500)).await;
        let slow: Vec<String> = serde_json::from_str(&lasting(300)).expect("words");
        let mut command = redis::cmd("EVAL");
        let _ = command.arg(&slow[1..]).exec_async(&mut direct).await;
        std::future::pending::<()>().await;
    };
    let beside = tokio::select! {
        beside = honest() => beside,
        _ = crowd => unreachable!("it goes on"),
        () = doubts => unreachable!("it is done"),
    };
    println!("beside a crowd of scripts that last: {beside} answers, alone {alone}");
    must_keep_half(beside, alone);
}

/// The same holds for scripts in transactions, and before or after a `WAIT`.
#[tokio::test]
async fn no_way_to_run_a_script_lets_two_that_last_follow_each_other() {
    let bridge = Bridge::with(["--timeout", "1000"]).await;
    let beside = HonestClient::of(&bridge).await;
    let script = lasting(100);
    for (path, body) in [
        ("/multi-exec", format!("[{script}]")),
        ("/pipeline", format!(r#"[{script},["WAIT",0,1]]"#)),
        ("/pipeline", format!(r#"[["WAIT",0,1],{script}]"#)),
        ("/pipeline", format!(r#"[["PING"],{script}]"#)),
    ] {
        let asked = (0..many(20)).map(|_| bridge.ask(path, body.clone()));
        for answer in join_all(asked).await {
            // `WAIT` was executed, and then there was no time for the script.
            let is_partly_executed =
                [503, 504].contains(&answer.0) && body.starts_with(r#"[["WAIT""#);
            assert!(
                answer.0 == 200 || executed_nothing(&answer) || is_partly_executed,
                "{path}: {answer:?}"
            );
        }
    }
    beside.got_all().await;
}

/// The bridge learns which scripts take long, and lets them wait apart. If that counted scripts
/// that were sent together, a client could slow down another's script by sending it with a slow
/// one.
#[tokio::test]
async fn a_script_stays_quick_though_others_send_it_together_with_one_that_lasts() {
    let bridge = Bridge::spawn().await;
    let quick = r#"["EVAL","return redis.call('GET',KEYS[1])",1,"beside"]"#;
    assert_eq!(bridge.run(quick).await.0, 200);
    let shared = bridge.connection(r#"["PING"]"#).await;
    assert_eq!(bridge.connection(quick).await, shared);
    assert_ne!(bridge.connection(&lasting(20)).await, shared);
    let both = format!("[{quick},{}]", lasting(20));
    assert_eq!(bridge.ask("/pipeline", both).await.0, 200);
    assert_eq!(bridge.connection(quick).await, shared);
}

/// How long a script takes depends on its arguments, so it may change.
#[tokio::test]
async fn a_script_that_was_quick_goes_apart_once_it_lasts_until_it_is_quick_again() {
    let bridge = Bridge::with(["--timeout", "1000"]).await;
    let lasting = |ms: u32| {
        let clock = "local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end";
        let script = format!("{clock} local start = now() while now() < start + ARGV[1] do end");
        serde_json::to_string(&["EVAL", &script, "0", &ms.to_string()]).expect("text")
    };
    let shared = bridge.connection(r#"["PING"]"#).await;
    bridge.connection(&lasting(0)).await;
    assert_eq!(bridge.connection(&lasting(0)).await, shared);
    // The bridge cannot know yet that the script takes long this time.
    assert_eq!(bridge.connection(&lasting(400)).await, shared);
    let beside = HonestClient::of(&bridge).await;
    assert_ne!(bridge.connection(&lasting(300)).await, shared);
    let all = join_all((0..many(14)).map(|_| async { bridge.run(&lasting(300)).await }));
    let (done, refused): (Vec<_>, Vec<_>) = all.await.into_iter().partition(|told| told.0 == 200);
    assert!(!done.is_empty() && refused.iter().all(executed_nothing), "{refused:?}");
    beside.got_all().await;
    bridge.connection(&lasting(0)).await;
    assert_eq!(bridge.connection(&lasting(0)).await, shared);
}

/// Otherwise each script would wait apart with all others there.
#[tokio::test]
async fn a_redis_that_is_far_away_makes_no_script_one_that_lasts() {
    let redis = RedisServer::start(&[]);
    let far = LatencyProxy::open(redis.address(), Duration::from_millis(200)).expect("a port");
    let url = format!("redis://{}", far.address());
    let bridge = Bridge::start(["--redis", &url]).await;
    let (ping, script) = (r#"["PING"]"#, r#"["EVAL","return 1",0]"#);
    let shared = bridge.connection(ping).await;
    assert_ne!(bridge.connection(script).await, shared);
    for _ in 0..3 {
        assert_eq!(bridge.connection(script).await, shared);
    }
}

#[tokio::test]
async fn a_script_without_an_end_is_ended_when_its_client_is_gone() {
    let bridge = Bridge::spawn().await;
    let endless = r#"["EVAL","while true do end",0]"#;
    let asked = bridge.post("/", endless).timeout(Duration::from_millis(300));
    assert!(asked.send().await.is_err());
    bridge.until_logs("was ended").await;
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
}

/// Another program's script may take long on purpose, and the bridge does not know that.
#[tokio::test]
async fn a_script_of_somebody_elses_is_not_ended() {
    let redis = RedisServer::start(&["--lua-time-limit", "10"]);
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    assert_eq!(bridge.run(r#"["EVAL","return 1",0]"#).await.0, 200);
    let mut other = connect(&redis.url()).await;
    let theirs = tokio::spawn(async move {
        let mut theirs = redis::cmd("EVAL");
        theirs.arg("while true do end").arg(0);
        // The client stops waiting before that, and the script goes on.
        let _ = theirs.exec_async(&mut other).await;
    });
    bridge.until_ping(503).await;
    // Some requests run a script that Redis knows, and some one that is new.
    let began = Instant::now();
    let mut number = 0;
    while began.elapsed() < Duration::from_secs(1) {
        let script = format!(r#"["EVAL","return {}",0]"#, number % 2 * number);
        let refused = bridge.run(&script).await;
        assert!(executed_nothing(&refused), "{refused:?}");
        number += 1;
    }
    // It still runs.
    redis.ask::<()>("SCRIPT KILL");
    theirs.await.expect("no panic");
}
