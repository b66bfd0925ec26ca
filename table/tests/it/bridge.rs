//! The table as a bridge.

use edgelock_table::{Table, channel};

#[test]
fn a_command_and_several_are_answered_as_a_bridge_of_upstashs_dialect_does() {
    let mut table = Table::default();
    for (path, body, status, answer) in [
        ("/", r#"["SET","k","é\n"]"#, 200, r#"{"result":"OK"}"#),
        ("", r#"["GET","k"]"#, 200, r#"{"result":"é\n"}"#),
        ("/", r#"["INCRBY","n",7]"#, 200, r#"{"result":7}"#),
        ("/", r#"["INCR","k"]"#, 400, r#"{"error":"ERR value is not an integer or out of range"}"#),
        (
            "/pipeline",
            r#"[["GET","none"],["MGET","n","k"]]"#,
            200,
            r#"[{"result":null},{"result":["7","é\n"]}]"#,
        ),
        (
            "/multi-exec",
            r#"[["GET"]]"#,
            200,
            r#"[{"error":"ERR wrong number of arguments for 'get' command"}]"#,
        ),
        ("/", "[", 400, r#"{"error":"ERR the body is not JSON"}"#),
        ("/", "[[]]", 400, r#"{"error":"ERR the body is not an array of strings and numbers"}"#),
        ("/", "[]", 400, r#"{"error":"ERR empty command"}"#),
        (
            "/get/k",
            "[]",
            404,
            r#"{"error":"ERR the table answers /, /pipeline, /multi-exec and /subscribe"}"#,
        ),
    ] {
        assert_eq!(table.answer(0, path, body), (status, answer.to_owned()), "{body}");
    }
}

#[test]
fn a_subscription_names_its_channel() {
    assert_eq!(channel("/subscribe/%7Ba%7D:x"), Some(b"{a}:x".to_vec()));
    for odd in ["/", "/subscribe/%7", "/subscribe/%zz"] {
        assert_eq!(channel(odd), None);
    }
}
