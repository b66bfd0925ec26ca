//! How the bridge starts, spawns a Redis, and ends.

use testkit::stack::RedisServer;
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::support::{
    Bridge, READ_ONLY_TOKEN, TOKEN, command, connect, ends, is, until, until_blocked,
};

async fn runs(id: u32) -> bool {
    let asked =
        Command::new("sh").args(["-c", &format!("kill -0 {id} 2>/dev/null")]).status().await;
    asked.expect("a shell").success()
}

#[tokio::test]
async fn the_private_redis_ends_with_the_bridge_however_that_ends() {
    for (signal, clean) in [("TERM", true), ("INT", true), ("KILL", false)] {
        let mut bridge = Bridge::spawn().await;
        let id = bridge.redis_id().await;
        let folder = bridge.folder().to_owned();
        assert!(runs(id).await && folder.exists());
        bridge.signal(signal).await;
        assert_eq!(bridge.exit().await.success(), clean, "{signal}: {}", bridge.log());
        until("redis has ended, and left nothing behind", async || {
            !runs(id).await && !folder.exists()
        })
        .await;
    }
}

#[tokio::test]
async fn the_private_redis_is_nobody_elses() {
    use std::os::unix::fs::PermissionsExt as _;
    let bridge = Bridge::spawn().await;
    let folder = bridge.folder();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o077, 0);
    let mut direct = connect(&bridge.redis_url()).await;
    for (name, value) in [("port", "0"), ("save", ""), ("appendonly", "no")] {
        let set: Vec<String> =
            redis::cmd("CONFIG").arg("GET").arg(name).query_async(&mut direct).await.unwrap();
        assert_eq!(set, [name, value]);
    }
}

#[tokio::test]
async fn the_bridge_ends_with_its_private_redis_and_says_so() {
    let mut bridge = Bridge::spawn().await;
    crate::support::signal(bridge.redis_id().await, "KILL").await;
    assert!(!bridge.exit().await.success());
    bridge.until_logs("the private redis-server ended").await;
}

#[tokio::test]
async fn a_request_under_way_is_answered_before_the_end() {
    let redis = RedisServer::start(&[]);
    let mut bridge = Bridge::start(["--redis", &redis.url()]).await;
    let asked = tokio::spawn(bridge.ask("/pipeline", r#"[["SET","k","v"],["WAIT",1,1000]]"#));
    let mut direct = connect(&redis.url()).await;
    until_blocked(&mut direct).await;
    bridge.signal("TERM").await;
    is(asked.await.unwrap(), 200, r#"[{"result":"OK"},{"result":0}]"#);
    assert!(bridge.exit().await.success());
}

/// The bridge does not wait for a client that keeps its connection open, or never finishes its
/// request.
#[tokio::test]
async fn an_idle_connection_does_not_delay_the_end() {
    use tokio::io::AsyncWriteExt as _;
    let mut bridge = Bridge::with(["--timeout", "500"]).await;
    let _idle = tokio::net::TcpStream::connect(bridge.address()).await.unwrap();
    let mut half = tokio::net::TcpStream::connect(bridge.address()).await.unwrap();
    half.write_all(b"POST / HTTP/1.1\r\nHost").await.unwrap();
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
    bridge.signal("TERM").await;
    assert!(bridge.exit().await.success());
}

#[tokio::test]
async fn options_may_come_from_the_environment() {
    let redis = RedisServer::start(&[]);
    let mut bridge = command::<&str>([]);
    bridge.env("EDGELOCK_BRIDGE_REDIS", redis.url());
    bridge.env("EDGELOCK_BRIDGE_MAX_REPLY", "nonsense");
    assert!(ends(bridge).await.contains("'nonsense' for '--max-reply"));
}

#[tokio::test]
async fn an_unusable_option_is_told_without_secrets() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let taken = format!("--listen={taken}");
    let make_one = "characters or more, without blanks; make one with: openssl rand -hex 32";
    let (url, write) = ("--redis is not a usable URL", "write redis://HOST:PORT");
    let short = "--credential (EDGELOCK_BRIDGE_CREDENTIAL) must be 16 ASCII ";
    for (args, reason) in [
        ("--redis=redis://u:sesame@", url),
        ("--redis=sesame", url),
        ("--redis=http://u:sesame@h", url),
        ("--redis=redis://:sesame@h/x", url),
        ("--redis=redis://u:sesame#x@h", "write a # in a password as %23"),
        ("--redis=localhost", write),
        ("--redis=redis://h?user=u&pass=sesame", "only unix:///PATH has a query"),
        ("--redis=redis://h/?db=3", "only unix:///PATH has a query"),
        ("--redis=unix:///s?username=u&password=sesame", "of db, user and pass"),
        ("--redis=u:sesame@h:6379", write),
        ("--redis=rediss://:sesame@h/#insecure", "TLS without a check"),
        ("--redis=spawn:/nowhere", "/nowhere did not start"),
        ("--credential=sesame", &format!("{short}{make_one}")),
        ("--credential=           sesame     ", short),
        ("--credential= ", short),
        ("--credential=sesame, open yourself", short),
        ("--read-only-credential=", "(EDGELOCK_BRIDGE_READ_ONLY_CREDENTIAL) must be 16"),
        ("--metrics-credential=sesame", "(EDGELOCK_BRIDGE_METRICS_CREDENTIAL) must be 16"),
        ("--metrics-credential|--sesame", "(EDGELOCK_BRIDGE_METRICS_CREDENTIAL) must be 16"),
        ("--credential|--sesame", short),
        ("--read-only-credential|--sesame", "(EDGELOCK_BRIDGE_READ_ONLY_CREDENTIAL) must be 16"),
        (
            "--credential=sesame-open-yourself|--read-only-credential=sesame-open-yourself",
            "--credential and --read-only-credential must differ",
        ),
        (
            "--credential=sesame-open-yourself|--metrics-credential=sesame-open-yourself",
            "--credential and --metrics-credential must differ",
        ),
        ("--max-reply=0", "0 is not in 1.."),
        ("--max-connections=0", "0 is not in 1.."),
        ("--timeout=0", "--timeout"),
        ("--listen=nowhere", "; write HOST:PORT"),
        (&taken, "; end the program that listens there"),
        ("--log=loud", "--log"),
    ] {
        let mut command = command::<&str>([]);
        // The harness already passes one `--listen`.
        if args.starts_with("--listen") {
            command = Command::new(env!("CARGO_BIN_EXE_edgelock-bridge"));
            command.env("EDGELOCK_BRIDGE_CREDENTIAL", TOKEN);
        }
        command.args(args.split('|'));
        let said = ends(command).await;
        let tells = ["sesame", TOKEN].iter().any(|secret| said.contains(secret));
        assert!(said.contains(reason) && !tells, "{args:?}: {said}");
    }
}

#[tokio::test]
async fn the_bridge_listens_for_its_own_machine_only_unless_told_otherwise() {
    let help = command(["--help"]).output().await.unwrap();
    assert!(String::from_utf8_lossy(&help.stdout).contains("[default: 127.0.0.1:8079]"));
}

#[tokio::test]
async fn a_bridge_without_a_token_does_not_start() {
    let mut bridge = command::<&str>([]);
    bridge.env_remove("EDGELOCK_BRIDGE_CREDENTIAL");
    assert_eq!(
        ends(bridge).await.trim(),
        "edgelock-bridge: which credential do clients send? Set EDGELOCK_BRIDGE_CREDENTIAL to 16 ASCII characters or more, without blanks; make one with: openssl rand -hex 32"
    );
}

#[tokio::test]
async fn a_number_that_is_far_too_large_is_told_and_breaks_nothing() {
    for option in ["--max-reply", "--max-connections", "--timeout"] {
        for number in [u64::MAX, i64::MAX as u64, u64::MAX / 8 + 1] {
            let said = ends(command(["--redis", "spawn", option, &number.to_string()])).await;
            let is_told = said.contains(option) && !said.contains("panicked");
            assert!(is_told, "{said}");
        }
    }
}

#[tokio::test]
async fn help_names_every_option_and_no_secret() {
    let redis = "redis://user:sesame@host";
    let help = command(["--help"]).env("EDGELOCK_BRIDGE_REDIS", redis).output().await.unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for option in [
        "listen",
        "redis",
        "credential",
        "read-only-credential",
        "metrics-credential",
        "allow-origin",
        "max-reply",
        "max-connections",
        "timeout",
        "log",
    ] {
        let variable = format!("EDGELOCK_BRIDGE_{}", option.replace('-', "_").to_uppercase());
        assert!(
            help.contains(&format!("--{option} <")) && help.contains(&variable),
            "{option}: {help}"
        );
    }
    assert!(
        ![TOKEN, READ_ONLY_TOKEN, "sesame"].iter().any(|secret| help.contains(secret)),
        "{help}"
    );
}
