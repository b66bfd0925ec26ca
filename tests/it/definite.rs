//! Which errors say for certain that nothing was executed, and which only sound so. "Unknown" is
//! never told as "no", and a gateway's words are not taken for Redis's.

use std::cell::Cell;
use std::rc::Rc;

use edgelock::{Bridge, Command, Error};
use testkit::stack::{self, RedisServer};
use tokio::net::TcpListener;

use crate::outcomes::{EXECUTED_PERHAPS, NOT_EXECUTED, acquire_at};
use crate::support::faulty::{forward, json, serve};
use crate::support::{Stack, alone, client, client_of, over, run};

alone! {
    what_a_gateway_says_of_itself_is_unknown_whatever_words_it_uses,
    a_redis_that_cannot_be_reached_is_known_to_have_executed_nothing,
    a_connection_that_was_refused_is_known_to_have_carried_nothing,
    a_refused_repeat_says_nothing_of_the_request_before_it,
}

over! {
    [spawn] {
        a_commit_whose_answer_a_busy_gateway_lost_is_unknown,
        a_key_of_another_type_says_nothing_of_the_commit_before_it,
    }
}

async fn check(cases: &[(u16, &'static str, &str, bool)]) {
    for &(status, body, code, executed_perhaps) in cases {
        let error = acquire_at(status, body).await.expect_err(body);
        assert_eq!(
            (error.code(), error.is_outcome_unknown()),
            (code, executed_perhaps),
            "{status} {body}: {error}"
        );
    }
}

async fn what_a_gateway_says_of_itself_is_unknown_whatever_words_it_uses() {
    for (status, body) in [
        (502, r#"{"error":"upstream too busy"}"#),
        (503, r#"{"error":"BUSY"}"#),
        (503, r#"{"error":"BUSY Redis is busy running a script."}"#),
        (503, r#"{"error":"service is LOADING"}"#),
        (503, r#"{"error":"readonly"}"#),
        (503, r#"{"error":"READONLY mode: nothing was executed"}"#),
        (503, r#"{"error":"ERR redis connection failed"}"#),
        (500, r#"{"error":"NOSCRIPT"}"#),
        (500, r#"{"error":"NOAUTH"}"#),
        (500, r#"{"error":"OOM killed"}"#),
        (500, r#"{"error":"WRONGTYPE"}"#),
        (
            500,
            r#"{"error":"Failed to execute Redis command: Connection is closed."}"#,
        ),
        (
            500,
            r#"{"error":"Failed to execute Redis command: socket BUSY"}"#,
        ),
    ] {
        check(&[(status, body, "unavailable", EXECUTED_PERHAPS)]).await;
    }
}

#[test]
fn a_code_counts_only_as_the_first_word_of_what_redis_said() {
    run(check(&[
        // Not Redis's words: these bridges say this of a connection that broke under the command.
        (
            400,
            r#"{"error":"deadline has elapsed"}"#,
            "refused",
            EXECUTED_PERHAPS,
        ),
        (
            400,
            r#"{"error":"broken pipe, server BUSY"}"#,
            "refused",
            EXECUTED_PERHAPS,
        ),
        (
            400,
            r#"{"error":"BUSYBODY came by"}"#,
            "refused",
            EXECUTED_PERHAPS,
        ),
        (400, r#"{"error":"busy"}"#, "refused", EXECUTED_PERHAPS),
        (
            200,
            r#"{"error":"Connection is closed."}"#,
            "refused",
            EXECUTED_PERHAPS,
        ),
        (400, r#"{"error":""}"#, "refused", EXECUTED_PERHAPS),
        // A code that is not the first word does not count.
        (
            400,
            r#"{"error":"ERR unknown option LOADING"}"#,
            "refused",
            NOT_EXECUTED,
        ),
        (
            400,
            r#"{"error":"ERR max BUSY quota"}"#,
            "refused",
            NOT_EXECUTED,
        ),
        // As Redis libraries in Rust write errors.
        (
            400,
            r#"{"error":"ResponseError: unknown command 'EVAL'"}"#,
            "refused",
            NOT_EXECUTED,
        ),
        (
            400,
            r#"{"error":"BusyLoadingError: Redis is loading"}"#,
            "unavailable",
            NOT_EXECUTED,
        ),
        (
            400,
            r#"{"error":"ReadOnly: You can't write against a read only replica."}"#,
            "unavailable",
            NOT_EXECUTED,
        ),
        (
            400,
            r#"{"error":"\"NOAUTH\": Authentication required."}"#,
            "unauthorized",
            NOT_EXECUTED,
        ),
        // The same behind words of another bridge.
        (
            500,
            r#"{"error":"Failed to execute Redis command: BUSY Redis is busy running a script."}"#,
            "unavailable",
            NOT_EXECUTED,
        ),
        (
            500,
            r#"{"error":"Failed to execute Redis command: ERR unknown command 'EVAL'"}"#,
            "refused",
            NOT_EXECUTED,
        ),
        // The script raised this error itself, so it was executed up to there.
        (
            400,
            r#"{"error":"ERR user_script:1: attempt to index a nil value"}"#,
            "refused",
            EXECUTED_PERHAPS,
        ),
        (
            400,
            r#"{"error":"ERR Error running script (call to f_0a1b): @user_script:1: @user_script: 1: -READONLY You can't write"}"#,
            "unavailable",
            EXECUTED_PERHAPS,
        ),
        (
            400,
            r#"{"error":"ERR Error running script: @user_script:2: WRONGTYPE Operation"}"#,
            "wrong_type",
            NOT_EXECUTED,
        ),
        (
            500,
            r#"{"error":"Failed to execute Redis command: ERR Wrong number of args, on @user_script:1."}"#,
            "refused",
            EXECUTED_PERHAPS,
        ),
    ]));
}

#[test]
fn a_bridge_that_says_in_a_member_of_its_own_that_nothing_was_executed_is_believed() {
    run(check(&[
        (
            503,
            r#"{"error":"away","executed":false}"#,
            "unavailable",
            NOT_EXECUTED,
        ),
        (503, r#"{"executed": false}"#, "unavailable", NOT_EXECUTED),
        (
            503,
            r#"{"error":"away","executed":true}"#,
            "unavailable",
            EXECUTED_PERHAPS,
        ),
        (
            503,
            r#"{"error":"away","executed":"false"}"#,
            "unavailable",
            EXECUTED_PERHAPS,
        ),
        (
            503,
            r#"{"error":"away","executed":0}"#,
            "unavailable",
            EXECUTED_PERHAPS,
        ),
        (
            503,
            r#"{"error":"away","executed":null}"#,
            "unavailable",
            EXECUTED_PERHAPS,
        ),
        (
            503,
            r#"{"error":"\"executed\":false"}"#,
            "unavailable",
            EXECUTED_PERHAPS,
        ),
        (
            503,
            r#"{"error":"away","executed":false"#,
            "unavailable",
            EXECUTED_PERHAPS,
        ),
        // `executed` counts only in a failure.
        (
            200,
            r#"{"result":false,"executed":false}"#,
            "unexpected_reply",
            EXECUTED_PERHAPS,
        ),
    ]));
}

async fn a_commit_whose_answer_a_busy_gateway_lost_is_unknown(mut stack: Stack) {
    let (bridge, executed) = (stack.url(), Rc::new(Cell::new(0)));
    let count = executed.clone();
    let url = serve(move |asked| {
        let (bridge, count) = (bridge.clone(), count.clone());
        async move {
            let answer = forward(&bridge, &asked).await;
            let is_commit = asked.body.contains("INCR");
            count.set(count.get() + u32::from(is_commit));
            let busy = json(503, r#"{"error":"upstream too busy"}"#);
            Some(if is_commit { busy } else { answer })
        }
    })
    .await;
    let client = client_of(stack.route_by(&url)).max_attempts(1);
    let lease = client.lock("a").try_acquire().await.unwrap();
    let incr = [Command::new("INCR").key("n")];
    assert!(lease.commit(&incr).await.unwrap_err().is_outcome_unknown());
    assert_eq!((executed.get(), stack.redis::<i64>("GET n")), (1, 1));
}

async fn a_redis_that_cannot_be_reached_is_known_to_have_executed_nothing() {
    let mut redis = RedisServer::start(&[]);
    let bridge = stack::Bridge::options().redis(redis.url()).start();
    let bridge = bridge.expect("a bridge");
    let client = client(bridge.url(), bridge.token()).max_attempts(1);
    let lease = client.lock("a").try_acquire().await.unwrap();
    redis.kill();
    let mut errors = Vec::new();
    // What was under way when Redis died may have been executed. After that, the bridge knows
    // that Redis is gone.
    for _ in 0..2 {
        errors.push(client.lock("b").try_acquire().await.unwrap_err());
    }
    errors.push(lease.renew().await.unwrap_err());
    errors.remove(0);
    for error in errors {
        assert_eq!(
            (error.code(), error.is_outcome_unknown()),
            ("unavailable", false)
        );
    }
    let _ = lease.into_token();
}

async fn a_connection_that_was_refused_is_known_to_have_carried_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = client_of(Bridge::upstash(&url, "credential").unwrap());
    let error = client.lock("a").try_acquire().await.unwrap_err();
    assert_eq!(
        (error.code(), error.is_outcome_unknown()),
        ("unavailable", false)
    );
}

async fn a_refused_repeat_says_nothing_of_the_request_before_it() {
    // The server accepts one connection, hangs up on it, and is gone.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::task::spawn_local(async move { drop(listener.accept().await) });
    let client = client_of(Bridge::upstash(&url, "credential").unwrap());
    let error = client.lock("a").try_acquire().await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    assert!(error.is_outcome_unknown());
}

async fn a_key_of_another_type_says_nothing_of_the_commit_before_it(mut stack: Stack) {
    let (bridge, commits) = (stack.url(), Rc::new(Cell::new(0)));
    let count = commits.clone();
    // The first commit is executed, and its answer is lost. The next finds what that stored.
    let url = serve(move |asked| {
        let (bridge, count) = (bridge.clone(), count.clone());
        async move {
            let is_commit = asked.body.contains("INCR");
            count.set(count.get() + u32::from(is_commit));
            match (is_commit, count.get()) {
                (true, 1) => {
                    forward(&bridge, &asked).await;
                    None
                }
                (true, _) => Some(json(
                    400,
                    r#"{"error":"WRONGTYPE Operation against a key"}"#,
                )),
                _ => Some(forward(&bridge, &asked).await),
            }
        }
    })
    .await;
    let lease = client_of(stack.route_by(&url))
        .lock("a")
        .try_acquire()
        .await
        .unwrap();
    let error = lease
        .commit(&[Command::new("INCR").key("n")])
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.is_outcome_unknown()),
        ("wrong_type", true),
        "{error}"
    );
    assert_eq!((commits.get() > 1, stack.redis::<i64>("GET n")), (true, 1));
}
