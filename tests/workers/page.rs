//! The page of a sale in a real browser, and what it shows of the lock.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::paths;
use tokio::process::Command;

use crate::support::{Stack, until};

/// A browser that shows nothing ends itself before this.
const BROWSER_LIMIT: Duration = Duration::from_secs(180);

#[tokio::test]
async fn a_sale_is_watched_and_bought_out_on_the_page_in_a_browser() {
    let stack = Stack::start();
    // Other tests with a browser unpack it here too, but not at the same time.
    let unpacked = paths::target().join("chromium");
    fs::create_dir_all(&unpacked).expect("a folder");
    let script = paths::root().join("tests/workers/page.mjs");
    let browser = Command::new("node")
        .arg(script)
        .env("WORKER_URL", stack.workers[0].url())
        .env("ADMIN_CREDENTIAL", stack.config.admin_token())
        .env("TMPDIR", unpacked)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let browser = tokio::time::timeout(BROWSER_LIMIT, browser).await;
    let browser = browser.expect("in time").expect("Node");
    let told = String::from_utf8_lossy(&browser.stderr);
    assert!(browser.status.success(), "{told}");

    let mut redis = stack.redis();
    assert_eq!(redis.run::<u64>("HLEN sale:{lamp}:orders"), 150);
    assert_eq!(redis.run::<u64>("HGET sale:{lamp} remaining"), 0);
}

#[tokio::test]
async fn the_page_is_a_page_with_a_policy_of_its_own() {
    let stack = Stack::start();
    let url = stack.workers[0].url();
    let ask = async || {
        let answer = reqwest::get(&url).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        let headers = answer.headers().clone();
        assert_eq!(headers["content-type"], "text/html; charset=utf-8");
        assert_eq!(headers["cache-control"], "no-store");
        let policy = headers["content-security-policy"].to_str().expect("text");
        (policy.to_owned(), answer.text().await.expect("text"))
    };
    let (policy, page) = ask().await;
    assert!(page.starts_with("<!doctype html>"), "{page}");
    let nonce = policy.split('\'').find_map(|word| word.strip_prefix("nonce-"));
    assert!(page.contains(nonce.expect("a nonce")), "{policy}");
    assert_ne!(ask().await.0, policy, "the nonce is another each time");
    assert_eq!(stack.redis().scripts_run(), 0);
}

#[tokio::test]
async fn all_see_the_lock_of_a_sale_without_its_token_at_a_request_a_second() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    let look = async || shop.send("GET", "/sales/42/lock", None, "").await;
    shop.open("42", 2, 1).await.answers(201);
    shop.order("42", "o1", "ann", 1).await.answers(201);
    stack.until_released("42").await;
    let (before, start) = (redis.scripts_run(), Instant::now());
    let free = look().await.answers(200);
    assert_eq!(free.json["held"], false, "{free:?}");
    assert_eq!(free.number("fence"), redis.last_fence("sale:{42}:lock"));
    for _ in 0..20 {
        look().await.answers(200);
    }
    let requests = redis.scripts_run() - before;
    let most = 2 + start.elapsed().as_secs();
    assert!((1..=most).contains(&requests), "{requests} of {most}");

    redis.run::<()>("SET sale:{42}:lock s3cret PX 60000");
    until("the hold is seen", || async {
        let held = look().await.answers(200);
        assert!(!held.text.contains("s3cret"), "{held:?}");
        held.json["held"] == true && held.number("remaining_ms") > 1_000
    })
    .await;
}

/// The label is stored as docs/protocol.md says.
#[tokio::test]
async fn a_holder_is_shown_by_the_label_of_an_instance_and_by_no_other() {
    for (label, shown) in
        [("isolate%200abc", Value::from("isolate 0abc")), ("db-7.internal", Value::Null)]
    {
        let stack = Stack::start();
        let mut redis = stack.redis();
        redis.run::<()>("SET sale:{42}:lock s3cret PX 60000");
        let hold = format!("v1 7 604800000 s3cret 7 60000 0 {label};,");
        let mut fence = redis::cmd("SET");
        fence.arg("sale:{42}:lock:fence").arg(hold);
        redis.query::<()>(&fence);
        let caller = stack.caller();
        let seen = caller.send("GET", "/sales/42/lock", None, "").await;
        let seen = seen.answers(200);
        assert_eq!(seen.json["held"], true);
        assert_eq!(seen.json["holder"], shown, "{seen:?}");
    }
}
