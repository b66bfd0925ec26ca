//! The metrics for Prometheus.

use reqwest::{Method, RequestBuilder};
use testkit::stack::RedisServer;

use crate::support::{Bridge, READ_ONLY_TOKEN, TOKEN, answer, header, is, says, until};

const READER: &str = "the-secret-of-prometheus";
const OTHERS: &str = "/metrics takes that of --metrics-credential, and no other";

async fn bridge_in_front_of<const N: usize>(redis: &str, options: [&str; N]) -> Bridge {
    let args = ["--redis", redis, "--metrics-credential", READER];
    Bridge::start(args.into_iter().chain(options)).await
}

fn asked(bridge: &Bridge, method: Method, credential: &str) -> RequestBuilder {
    bridge.request(method, "/metrics").bearer_auth(credential)
}

async fn page(bridge: &Bridge) -> String {
    let (status, page) = answer(asked(bridge, Method::GET, READER)).await;
    assert_eq!(status, 200, "{page}");
    page
}

/// The value of a metric, which is named with its labels.
fn value(page: &str, metric: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| {
        let value = line.strip_prefix("edgelock_bridge_")?.strip_prefix(metric)?;
        value.strip_prefix(' ')
    });
    line.map(|value| value.parse().expect("a number"))
}

#[tokio::test]
async fn metrics_count_requests_by_route_and_outcome_and_say_how_long_they_took() {
    let bridge = bridge_in_front_of("spawn", []).await;
    for command in [r#"["PING"]"#, r#"["SET","a","b"]"#, r#"["NONSENSE"]"#] {
        bridge.run(command).await;
    }
    bridge.ask("/pipeline", r#"[["PING"]]"#).await;
    bridge.ask("/get/the-key-of-somebody", "").await;
    answer(bridge.request(Method::POST, "/").body(r#"["PING"]"#)).await;
    let response = asked(&bridge, Method::GET, READER).send().await.unwrap();
    assert!(header(&response, "content-type").starts_with("application/openmetrics-text"));
    let page = response.text().await.unwrap();
    for (metric, count) in [
        (r#"requests_total{route="/",status="200"}"#, 2.0),
        (r#"requests_total{route="/",status="400"}"#, 1.0),
        (r#"requests_total{route="/",status="401"}"#, 1.0),
        (r#"requests_total{route="/pipeline",status="200"}"#, 1.0),
        (r#"requests_total{route="command in path",status="200"}"#, 1.0),
        (r#"request_duration_seconds_count{route="/"}"#, 4.0),
        (r#"request_duration_seconds_bucket{le="+Inf",route="/"}"#, 4.0),
        ("redis_up", 1.0),
        ("streams", 0.0),
        ("in_flight_bytes", 0.0),
    ] {
        assert_eq!(value(&page, metric), Some(count), "{metric} in {page}");
    }
    assert!(value(&page, "connections") >= Some(1.0), "{page}");
    let is_whole = page.ends_with("# EOF\n");
    assert!(is_whole && !page.contains("somebody"), "{page}");
}

#[tokio::test]
async fn metrics_count_streams_for_as_long_as_they_are_open() {
    let bridge = bridge_in_front_of("spawn", []).await;
    let open = bridge.post("/subscribe/c", "").send().await.unwrap();
    assert_eq!(value(&page(&bridge).await, "streams"), Some(1.0));
    drop(open);
    until("the stream is gone", async || value(&page(&bridge).await, "streams") == Some(0.0)).await;
}

#[tokio::test]
async fn metrics_say_when_redis_is_away() {
    let mut redis = RedisServer::start(&[]);
    let bridge = bridge_in_front_of(&redis.url(), []).await;
    assert_eq!(value(&page(&bridge).await, "redis_up"), Some(1.0));
    redis.kill();
    until("the loss is noticed", async || value(&page(&bridge).await, "redis_up") == Some(0.0))
        .await;
}

#[tokio::test]
async fn metrics_have_a_credential_of_their_own_that_opens_nothing_else() {
    let bridge = bridge_in_front_of("spawn", []).await;
    for wrong in [TOKEN, READ_ONLY_TOKEN, "nonsense"] {
        let told = answer(asked(&bridge, Method::GET, wrong)).await;
        says(told, 401, &format!("invalid auth token; {OTHERS}"));
    }
    let told = answer(bridge.request(Method::GET, "/metrics")).await;
    says(told, 401, &format!("Bearer <token>`; {OTHERS}"));
    for path in ["/", "/pipeline", "/get/a", "/subscribe/c"] {
        let request = bridge.request(Method::POST, path).bearer_auth(READER);
        assert_eq!(answer(request.body(r#"["PING"]"#)).await.0, 401, "{path}");
    }
    let posted = asked(&bridge, Method::POST, READER).send().await.unwrap();
    assert_eq!(posted.status(), 405);
    assert_eq!(header(&posted, "allow"), "GET, HEAD");
    is(answer(asked(&bridge, Method::HEAD, READER)).await, 200, "");
}

#[tokio::test]
async fn without_that_credential_there_are_no_metrics() {
    let bridge = Bridge::spawn().await;
    let told = answer(asked(&bridge, Method::GET, TOKEN)).await;
    says(told, 404, "--metrics-credential");
}

/// Metrics are needed most when the bridge is full.
#[tokio::test]
async fn a_full_bridge_still_says_its_metrics() {
    let bridge = bridge_in_front_of("spawn", ["--max-connections", "1"]).await;
    let _held = bridge.post("/subscribe/c", "").send().await.unwrap();
    let metrics = page(&bridge).await;
    assert_eq!(value(&metrics, "connections"), Some(1.0), "{metrics}");
    assert_eq!(bridge.another_client().run(r#"["PING"]"#).await.0, 503);
    until("who was turned away is counted", async || {
        let turned_away = r#"requests_total{route="/",status="503"}"#;
        value(&page(&bridge).await, turned_away) == Some(1.0)
    })
    .await;
}
