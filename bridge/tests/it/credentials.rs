//! Which credential may do what.

use reqwest::Method;

use crate::support::{Bridge, TOKEN, answer, is, says};

const WRONG: &str = r#"{"error":"WRONGPASS invalid auth token"}"#;
const MISSING: &str =
    r#"{"error":"WRONGPASS missing auth token: send it as `Authorization: Bearer <token>`"}"#;

#[tokio::test]
async fn without_a_right_credential_nothing_else_is_looked_at() {
    let bridge = Bridge::spawn().await;
    let longer = format!("Bearer {TOKEN}x");
    let shorter = format!("Bearer {}", &TOKEN[1..]);
    let basic = format!("Basic {TOKEN}");
    let attached = format!("Bearer{TOKEN}");
    let refused = [
        ("", MISSING),
        ("Bearer", MISSING),
        ("Bearer ", MISSING),
        (&longer, WRONG),
        (&shorter, WRONG),
        (&basic, MISSING),
        (&attached, MISSING),
        (TOKEN, MISSING),
        ("Bearer \u{fc}", WRONG),
    ];
    for (authorization, told) in refused {
        for (method, path) in [
            (Method::POST, "/"),
            (Method::POST, "/pipeline"),
            (Method::POST, "/multi-exec"),
            (Method::GET, "/get/k"),
            (Method::GET, "/subscribe/c"),
            (Method::DELETE, "/"),
        ] {
            let request =
                bridge.request(method, path).header("authorization", authorization.as_bytes());
            let request = request.header("Upstash-Response-Format", "nonsense").body("nonsense");
            is(answer(request).await, 401, told);
        }
    }
    let request = bridge.request(Method::POST, "/").body(r#"["PING"]"#);
    assert_eq!(answer(request).await, (401, MISSING.to_owned()));
}

#[tokio::test]
async fn the_scheme_has_no_case_and_the_credential_may_stand_in_the_query() {
    let bridge = Bridge::spawn().await;
    let lower =
        bridge.request(Method::GET, "/ping").header("authorization", format!("bearer {TOKEN}"));
    assert_eq!(answer(lower).await.0, 200);
    let escaped = TOKEN.replace('-', "%2D");
    for (path, status) in [
        (format!("/echo/v?_token={TOKEN}"), 200),
        (format!("/echo/v?_token={escaped}"), 200),
        (format!("/echo/v?_token={TOKEN}x"), 401),
        (format!("/echo/v?x_token={TOKEN}"), 401),
    ] {
        assert_eq!(answer(bridge.request(Method::GET, &path)).await.0, status, "{path}");
    }
    // The credential in the query is no part of the command. A header takes precedence over it.
    let query = bridge.request(Method::GET, &format!("/set/k/v?_token={TOKEN}&EX=9"));
    assert_eq!(answer(query).await.1, r#"{"result":"OK"}"#);
    let both = bridge.request(Method::GET, &format!("/ping?_token={TOKEN}")).bearer_auth("wrong");
    assert_eq!(answer(both).await.0, 401);
}

#[tokio::test]
async fn the_read_only_credential_reads_and_nothing_more() {
    let bridge = Bridge::spawn().await;
    bridge.run(r#"["SET","k","v"]"#).await;
    for _ in 0..2 {
        let (_, body) = bridge.read_only("/", r#"["get","k"]"#).await;
        assert_eq!(body, r#"{"result":"v"}"#);
        for (name, rest) in [
            ("set", r#","k","w""#),
            ("eval", r#","return 1",0"#),
            ("flushall", ""),
            ("publish", r#","c","m""#),
            ("keys", r#","*""#),
            ("scan", ",0"),
            ("nosuch", ""),
            ("", ""),
        ] {
            let error = format!(
                "NOPERM this user has no permissions to run the '{name}' command or its subcommand"
            );
            let expected = (400, format!("{{\"error\":\"{error}\"}}"));
            let command = format!("[\"{name}\"{rest}]");
            assert_eq!(bridge.read_only("/", command).await, expected);
        }
    }
    let mixed = bridge.read_only("/pipeline", r#"[["GET","k"],["DEL","k"]]"#).await;
    assert!(mixed.1.starts_with(r#"[{"result":"v"},{"error":"NOPERM "#), "{mixed:?}");
    for (path, body) in [
        ("/multi-exec", r#"[["GET","k"],["DEL","k"]]"#),
        ("/subscribe/c", ""),
        ("/psubscribe/*", ""),
    ] {
        let (_, body) = bridge.read_only(path, body).await;
        assert!(body.starts_with(r#"{"error":"NOPERM "#), "{body}");
    }
    assert_eq!(bridge.run(r#"["GET","k"]"#).await.1, r#"{"result":"v"}"#);
}

/// Redis flags only what stands behind such a name.
#[tokio::test]
async fn the_read_only_credential_reads_by_commands_of_two_words() {
    let bridge = Bridge::spawn().await;
    bridge.run(r#"["XADD","s","*","f","v"]"#).await;
    for (command, expected) in [
        (r#"["OBJECT","ENCODING","s"]"#, 200),
        (r#"["xinfo","stream","s"]"#, 200),
        (r#"["MEMORY","USAGE","s"]"#, 200),
        (r#"["MEMORY","DOCTOR"]"#, 400),
        (r#"["XGROUP","DESTROY","s","g"]"#, 400),
        (r#"["CLIENT","ID"]"#, 400),
        (r#"["OBJECT"]"#, 400),
        (r#"["DEL","ENCODING"]"#, 400),
        (r#"["SET","s","w"]"#, 400),
    ] {
        for _ in 0..2 {
            let (status, body) = bridge.read_only("/", command).await;
            assert_eq!(status, expected, "{command}: {body}");
            assert!(status == 200 || body.contains("NOPERM"), "{body}");
        }
    }
}

/// While a script runs, Redis does nothing else.
#[tokio::test]
async fn the_read_only_credential_runs_no_scripts() {
    let bridge = Bridge::with(["--dangerous-commands"]).await;
    let loaded = r##"["FUNCTION","LOAD","#!lua name=l\nredis.register_function{function_name='f',callback=function() return 1 end,flags={'no-writes'}}"]"##;
    assert_eq!(bridge.run(loaded).await.0, 200);
    for (name, rest) in [
        ("eval_ro", r#""return 1",0"#),
        ("evalsha_ro", r#""e0e1f9fabfc9d4800c877a703b823ac0578ff8db",0"#),
        ("fcall_ro", r#""f",0"#),
    ] {
        let told = bridge.read_only("/", format!(r#"["{name}",{rest}]"#)).await;
        says(told, 400, "NOPERM");
    }
}

#[tokio::test]
async fn white_space_around_a_configured_credential_does_not_count() {
    let padded = format!(" {TOKEN}\n");
    let bridge = Bridge::with(["--credential", &padded]).await;
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
}
