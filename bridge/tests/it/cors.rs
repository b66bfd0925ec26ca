//! What a browser lets a page of another site do.

use reqwest::{Method, RequestBuilder, Response};

use crate::support::{Bridge, command, ends, header, send};

const ORIGIN: &str = "https://app.example";

async fn with(origins: &str) -> Bridge {
    Bridge::with(["--allow-origin", origins]).await
}

/// Asks as a browser does before it sends a request that is not as simple as a form's.
async fn preflight(bridge: &Bridge, path: &str, origin: &str) -> Response {
    let asked = bridge.request(Method::OPTIONS, path);
    let headers = "authorization,content-type,upstash-encoding";
    let asked = asked
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", headers);
    from(origin, asked).await
}

async fn from(origin: &str, request: RequestBuilder) -> Response {
    send(request.header("origin", origin)).await
}

/// Its status, and which origin may read it.
fn told(response: &Response) -> (u16, Option<&str>) {
    let allowed = response.headers().get("access-control-allow-origin");
    let allowed = allowed.and_then(|origin| origin.to_str().ok());
    (response.status().as_u16(), allowed)
}

#[tokio::test]
async fn no_page_of_another_site_may_use_the_bridge_by_default() {
    let bridge = Bridge::spawn().await;
    let asked = preflight(&bridge, "/", ORIGIN).await;
    assert_eq!(told(&asked), (401, None));
    let answer = from(ORIGIN, bridge.post("/", r#"["PING"]"#)).await;
    assert_eq!(told(&answer), (200, None));
}

#[tokio::test]
async fn a_page_of_an_origin_that_is_allowed_may_send_commands_and_read_all_answers() {
    let bridge = with("https://other.example, https://app.example").await;
    for path in ["/", "/pipeline", "/multi-exec", "/subscribe/c", "/GET/k"] {
        let asked = preflight(&bridge, path, ORIGIN).await;
        assert_eq!(told(&asked), (200, Some(ORIGIN)));
        assert!(header(&asked, "access-control-allow-methods").contains("POST"));
        let headers = header(&asked, "access-control-allow-headers");
        assert_eq!(headers, "authorization,content-type,upstash-encoding");
        let remembered = header(&asked, "access-control-max-age").parse::<u32>();
        assert!(remembered.expect("seconds") > 600);
    }
    let refused = bridge.request(Method::POST, "/").body(r#"["PING"]"#);
    let resp2 = bridge.post("/pipeline", "[]");
    let resp2 = resp2.header("upstash-response-format", "resp2");
    for (request, status) in [
        (bridge.post("/", r#"["PING"]"#), 200),
        (bridge.post("/", r#"["NOSUCH"]"#), 400),
        (refused, 401),
        (bridge.request(Method::DELETE, "/").bearer_auth("x"), 401),
        (resp2, 400),
        (bridge.post("/subscribe/c", ""), 200),
        (bridge.request(Method::GET, "/health"), 200),
    ] {
        let answer = from(ORIGIN, request).await;
        assert_eq!(told(&answer), (status, Some(ORIGIN)));
        let exposed = header(&answer, "access-control-expose-headers");
        for name in ["retry-after", "x-edgelock-bridge", "upstash-sync-token"] {
            assert!(exposed.contains(name), "{exposed}");
        }
        assert!(header(&answer, "vary").contains("origin"));
    }
}

/// A browser shows its page no answer without the header.
#[tokio::test]
async fn a_page_of_any_other_origin_gets_nothing() {
    let bridge = with(ORIGIN).await;
    for origin in ["https://evil.example", "http://app.example", "null", "https://app.example:8443"]
    {
        let asked = preflight(&bridge, "/", origin).await;
        assert_ne!(told(&asked).1, Some(origin));
        let answer = from(origin, bridge.post("/", r#"["PING"]"#)).await;
        assert_ne!(told(&answer).1, Some(origin));
    }
}

#[tokio::test]
async fn all_origins_may_be_allowed() {
    let bridge = with("*").await;
    for origin in [ORIGIN, "null"] {
        assert_eq!(told(&preflight(&bridge, "/", origin).await).1, Some("*"));
        let answer = from(origin, bridge.post("/", r#"["PING"]"#)).await;
        assert_eq!(told(&answer).1, Some("*"));
    }
}

/// Otherwise a client in a browser could not tell a bridge that is full from one that is away.
#[tokio::test]
async fn a_page_that_is_turned_away_is_told_so() {
    let bridge = Bridge::with(["--max-connections", "1", "--allow-origin", ORIGIN]).await;
    let _only = send(bridge.post("/subscribe/c", "")).await;
    let asked = preflight(&bridge, "/", ORIGIN).await;
    assert_eq!(told(&asked), (200, Some(ORIGIN)));
    let answer = from(ORIGIN, bridge.post("/", r#"["PING"]"#)).await;
    assert_eq!(told(&answer), (503, Some(ORIGIN)));
}

#[tokio::test]
async fn what_is_no_origin_is_refused_at_the_start() {
    for wrong in [
        "app.example",
        "https://app.example/",
        "https://app.example/a",
        "HTTPS://app.example",
        "null",
        "",
        "https://u@app.example",
    ] {
        let said = ends(command(["--redis", "spawn", "--allow-origin", wrong])).await;
        assert!(said.contains("--allow-origin"), "{wrong}: {said}");
    }
}
