//! Which errors say for certain that nothing was executed, and which only sound so. "Unknown" is
//! never told as "no", and a gateway's words are not taken for Redis's.

use std::cell::Cell;
use std::rc::Rc;

use edgelock::{Bridge, Command, Error};
use testkit::stack::{self, RedisServer};
use tokio::net::TcpListener;

use crate::outcomes::check;
use crate::support::faulty::{forward, json, serve};
use crate::support::{Stack, alone, client, client_of, over};

alone! {
    a_redis_that_cannot_be_reached_is_known_to_have_executed_nothing,
    a_refused_repeat_says_nothing_of_the_request_before_it,
}

over! {
    [spawn] {
        a_key_of_another_type_says_nothing_of_the_commit_before_it,
    }
}

#[test]
fn what_a_gateway_says_of_itself_is_unknown_whatever_words_it_uses() {
    check(
        r##"502 unavailable maybe {"error":"upstream too busy"}
503 unavailable maybe {"error":"BUSY"}
503 unavailable maybe {"error":"BUSY Redis is busy running a script."}
503 unavailable maybe {"error":"service is LOADING"}
503 unavailable maybe {"error":"readonly"}
503 unavailable maybe {"error":"READONLY mode: nothing was executed"}
503 unavailable maybe {"error":"ERR redis connection failed"}
500 unavailable maybe {"error":"NOSCRIPT"}
500 unavailable maybe {"error":"NOAUTH"}
500 unavailable maybe {"error":"OOM killed"}
500 unavailable maybe {"error":"WRONGTYPE"}
500 unavailable maybe {"error":"Failed to execute Redis command: Connection is closed."}
500 unavailable maybe {"error":"Failed to execute Redis command: socket BUSY"}"##,
    );
}

#[test]
fn a_code_counts_only_as_the_first_word_of_what_redis_said() {
    check(
        r##"# Not Redis's words: these bridges say this of a connection that broke under the command.
400 refused maybe {"error":"deadline has elapsed"}
400 refused maybe {"error":"broken pipe, server BUSY"}
400 refused maybe {"error":"BUSYBODY came by"}
400 refused maybe {"error":"busy"}
200 refused maybe {"error":"Connection is closed."}
400 refused maybe {"error":""}
# A code that is not the first word does not count.
400 refused no {"error":"ERR unknown option LOADING"}
400 refused no {"error":"ERR max BUSY quota"}
# As Redis libraries in Rust write errors.
400 refused no {"error":"ResponseError: unknown command 'EVAL'"}
400 unavailable no {"error":"BusyLoadingError: Redis is loading"}
400 unavailable no {"error":"ReadOnly: You can't write against a read only replica."}
400 unauthorized no {"error":"\"NOAUTH\": Authentication required."}
# A large command that came before AUTH.
400 unauthorized no {"error":"ERR Protocol error: unauthenticated multibulk length"}
# The same behind words of another bridge.
500 unavailable no {"error":"Failed to execute Redis command: BUSY Redis is busy running a script."}
500 refused no {"error":"Failed to execute Redis command: ERR unknown command 'EVAL'"}
# The script raised this error itself, so it was executed up to there.
400 refused maybe {"error":"ERR user_script:1: attempt to index a nil value"}
400 unavailable maybe {"error":"ERR Error running script (call to f_0a1b): @user_script:1: @user_script: 1: -READONLY You can't write"}
400 wrong_type no {"error":"ERR Error running script: @user_script:2: WRONGTYPE Operation"}
500 refused maybe {"error":"Failed to execute Redis command: ERR Wrong number of args, on @user_script:1."}"##,
    );
}

#[test]
fn a_bridge_that_says_in_a_member_of_its_own_that_nothing_was_executed_is_believed() {
    check(
        r##"503 unavailable no {"error":"away","executed":false}
503 unavailable no {"executed": false}
503 unavailable maybe {"error":"away","executed":true}
503 unavailable maybe {"error":"away","executed":"false"}
503 unavailable maybe {"error":"away","executed":0}
503 unavailable maybe {"error":"away","executed":null}
503 unavailable maybe {"error":"\"executed\":false"}
503 unavailable maybe {"error":"away","executed":false
# `executed` counts only in a failure.
200 unexpected_reply maybe {"result":false,"executed":false}"##,
    );
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
        assert_eq!(error.code(), "unavailable");
        assert!(!error.is_outcome_unknown(), "{error}");
    }
    let _ = lease.into_token();
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
                (true, _) => Some(json(400, r#"{"error":"WRONGTYPE Operation against a key"}"#)),
                _ => Some(forward(&bridge, &asked).await),
            }
        }
    })
    .await;
    let client = client_of(stack.route_by(&url));
    let lease = client.lock("a").try_acquire().await.unwrap();
    let incr = [Command::new("INCR").key("n")];
    let error = lease.commit(&incr).await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error}");
    assert_eq!(error.code(), "wrong_type");
    assert_eq!((commits.get() > 1, stack.redis::<i64>("GET n")), (true, 1));
}
