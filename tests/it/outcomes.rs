//! What each misbehaviour of a bridge means. It is never "not acquired", and no outcome is said to
//! be known when it is not.

use std::cell::Cell;
use std::rc::Rc;

use edgelock::{BadResponse, Bridge, Client, Error};
use tokio::time::sleep;

use crate::support::faulty::{Asked, json, serve};
use crate::support::watched::abandons;
use crate::support::{Http, Tokio, alone, client, code, eventually, ms, run};

alone! {
    a_redirect_is_not_followed,
    an_answer_that_breaks_off_is_truncated,
    an_answer_over_1_mib_is_refused,
    a_request_without_an_answer_is_aborted_at_its_time_out,
    requests_have_the_one_shape_that_every_bridge_takes,
    a_bridge_that_says_back_what_it_was_sent_puts_no_secret_into_an_error,
    what_a_bridge_says_stays_within_the_line_of_an_error,
    webdis_is_shown_a_user_and_a_password_that_no_error_and_no_debug_shows,
    debug_shows_no_secret,
    behind_ten_thousand_waiters_nobody_waits,
}

/// A response to `asked`; `NONCE` in `body` stands for the nonce of that request.
fn respond(asked: &Asked, status: u16, body: &str) -> Vec<u8> {
    json(status, &body.replace("NONCE", &asked.nonce()))
}

/// The outcome of one try to acquire, at a bridge that answers with `status` and `body`.
async fn acquire_at(status: u16, body: &'static str) -> Result<u64, Error> {
    acquire_raw(move |asked| Some(respond(asked, status, body))).await
}

async fn acquire_raw(answer: impl Fn(&Asked) -> Option<Vec<u8>> + 'static) -> Result<u64, Error> {
    let url = serve(move |asked| {
        let abandoned = abandons(&asked.body);
        let bytes = if abandoned {
            Some(respond(&asked, 200, r#"{"result":[0,"NONCE"]}"#))
        } else {
            answer(&asked)
        };
        std::future::ready(bytes)
    })
    .await;
    let client =
        client(&url, "credential-of-the-bridge").max_attempts(1).request_timeout(ms(5_000));
    let lease = client.lock("a").try_acquire().await?;
    Ok(lease.fence())
}

/// Checks what becomes of answers, each as its status, the code of the error, whether the script
/// was executed, and its body.
pub(crate) fn check(answers: &'static str) {
    run(async move {
        for row in answers.lines().filter(|row| !row.starts_with('#')) {
            let mut cells = row.splitn(4, ' ');
            let mut next = || cells.next().unwrap_or_default();
            let (status, code, executed, body) = (next(), next(), next(), next());
            let status = status.parse().expect("a status");
            let error = acquire_at(status, body).await.expect_err(body);
            let outcome = (error.code(), error.is_outcome_unknown());
            assert_eq!(outcome, (code, executed == "maybe"), "{row}: {error}");
            assert_eq!(error.lock(), Some("a"), "{row}: {error}");
        }
    });
}

const ANSWERS: &str = r##"# Replies of the shape that we expect.
200 held no {"result":[0,"NONCE",5000,3,"1700000000000000",""]}
200 held no {"result":["0","NONCE","-1","3","1700000000000000","w%207"]}
# Redis refuses before it executes anything.
400 refused no {"error":"NOSCRIPT No matching script. Please use EVAL."}
400 refused no {"error":"ERR unknown command 'EVAL'"}
200 refused no {"error":"ERR wrong number of arguments for 'eval' command"}
400 refused no {"error":"ERR Error compiling script (new function): user_script:1: '=' expected"}
400 refused no {"error":"ERR max requests limit exceeded. Limit: 500000, Usage: 500000."}
429 unavailable no {"error":"ERR max daily request limit exceeded"}
400 refused no {"error":"ERR DB capacity quota exceeded"}
400 refused no {"error":"MISCONF Redis is configured to save RDB snapshots"}
400 unavailable no {"error":"READONLY You can't write against a read only replica."}
400 refused no {"error":"OOM command not allowed when used memory > 'maxmemory'."}
400 unavailable no {"error":"LOADING Redis is loading the dataset in memory"}
400 unavailable no {"error":"BUSY Redis is busy running a script."}
400 unavailable no {"error":"CLUSTERDOWN The cluster is down"}
400 unavailable no {"error":"TRYAGAIN Multiple keys request during rehashing of slot"}
400 refused no {"error":"MOVED 15495 10.0.0.2:6379"}
400 unauthorized no {"error":"NOAUTH Authentication required."}
400 unauthorized no {"error":"NOPERM this user has no permissions to run the 'eval' command"}
# The same, in the words of other bridges.
500 refused no {"error":"Failed to execute Redis command: NOSCRIPT No matching script."}
400 refused no {"error":"NoScript: No matching script. Please use EVAL."}
400 wrong_type no {"error":"\"WRONGTYPE\": Operation against a key"}
400 wrong_type no {"error":"WRONGTYPE Operation against a key script: 8291, on @user_script:1."}
# An error inside the script: what came before it was executed.
400 refused maybe {"error":"ERR Wrong number of args calling Redis command from script: 7227, on @user_script:1."}
400 unavailable maybe {"error":"ERR Error running script: @user_script:2: READONLY"}
# An error inside the script, but before it could write.
400 unavailable no {"error":"NOREPLICAS Not enough good replicas to write. script: 8291, on @user_script:1."}
400 refused no {"error":"OOM command not allowed when used memory > 'maxmemory'. script: 8291, on @user_script:1."}
# The bridge refuses.
401 unauthorized no
401 unauthorized no {"error":"WRONGPASS invalid or missing auth token"}
400 unauthorized no {"error":"Missing/Invalid authorization header"}
403 unauthorized no
404 refused no not found
405 refused no
413 refused no length limit exceeded
415 refused no
400 refused no {"error":"Invalid content type. Expected application/json."}
# The bridge or Redis is away, perhaps after the script was executed.
500 unavailable maybe
500 unavailable maybe {"error":"SRH: Unable to connect to the Redis server."}
502 unavailable maybe <html><h1>Bad gateway</h1></html>
503 unavailable maybe {"error":"Backend unavailable"}
504 unavailable maybe <html>
# A reply that is not that of our script.
200 not_json maybe <html>Sign in to this network</html>
200 not_json maybe hello
200 truncated maybe
200 truncated maybe {"result":[1,"NON
200 unexpected_reply maybe {}
200 unexpected_reply maybe []
200 unexpected_reply maybe "OK"
200 unexpected_reply maybe {"result":"QUEUED"}
200 unexpected_reply maybe {"result":null}
200 unexpected_reply maybe {"result":"OK"}
200 unexpected_reply maybe {"result":1}
200 unexpected_reply maybe {"result":false}
200 unexpected_reply maybe {"result":0}
200 unexpected_reply maybe {"result":{"a":1}}
200 unexpected_reply maybe {"result":true}
200 unexpected_reply maybe {"result":[]}
200 unexpected_reply maybe {"result":[1]}
200 unexpected_reply maybe {"result":[1,"another","7",""]}
200 unexpected_reply maybe {"result":[0,"another",5000]}
200 unexpected_reply maybe {"result":[0,null,5000]}
200 unexpected_reply maybe {"result":[2,"NONCE"]}
200 unexpected_reply maybe {"result":[1,"NONCE"]}
200 unexpected_reply maybe {"result":[1,"NONCE",-7,""]}
200 unexpected_reply maybe {"result":[1,"NONCE",7,null]}
200 unexpected_reply maybe {"result":[1,"NONCE",7,"$5\r\nab\r\n"]}
200 unexpected_reply maybe {"result":[0,"NONCE",5000,1]}
200 unexpected_reply maybe {"result":[0,"NONCE",5000.5,3,"1700000000000000",""]}
200 unexpected_reply maybe {"result":[0,"NONCE",18446744073709551615,3,"1",""]}
400 unexpected_reply maybe {"result":[1,"NONCE",7,""]}"##;

#[test]
fn every_answer_of_a_bridge_has_its_outcome() {
    check(ANSWERS);
    run(async {
        let numbers = r#"{"result":[1,"NONCE",7,""]}"#;
        let texts = r#"{"result":["1","NONCE","7",""],"status":"ok"}"#;
        for body in [numbers, texts] {
            assert_eq!(acquire_at(200, body).await, Ok(7));
        }
    });
}

async fn a_redirect_is_not_followed() {
    for status in [301, 302, 307, 308] {
        let answer = format!(
            "HTTP/1.1 {status} X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
        );
        let error = acquire_raw(move |_| Some(answer.clone().into_bytes())).await.unwrap_err();
        let told = BadResponse::Redirected { status };
        assert!(matches!(error, Error::BadResponse { kind, .. } if kind == told), "{error}");
    }
}

async fn an_answer_that_breaks_off_is_truncated() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"result\":[1,";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"res\r\n";
    for (answer, told) in [
        (Some(cut), "truncated"),
        (Some(chunked), "truncated"),
        (None, "unavailable"),
        (Some("SSH-2.0-x\r\n"), "unavailable"),
    ] {
        assert_eq!(code(acquire_raw(move |_| answer.map(Into::into)).await), told);
    }
}

async fn an_answer_over_1_mib_is_refused() {
    let body = |bytes: usize| format!("{{\"result\":\"{}\"}}", "x".repeat(bytes - 13));
    let long = acquire_raw(move |_| Some(json(200, &body((1 << 20) + 1)))).await;
    let long = long.unwrap_err();
    assert!(long.is_outcome_unknown());
    assert_eq!(long.code(), "too_large");
    let longest = acquire_raw(move |_| Some(json(200, &body(1 << 20)))).await;
    assert_eq!(code(longest), "unexpected_reply");
}

async fn a_request_without_an_answer_is_aborted_at_its_time_out() {
    let hung_up = Rc::new(Cell::new(0));
    let seen = hung_up.clone();
    let url = serve(move |_| {
        let seen = seen.clone();
        async move {
            seen.set(seen.get() + 1);
            sleep(ms(60_000)).await;
            None
        }
    })
    .await;
    let client = client(&url, "credential").max_attempts(2);
    let lock = client.request_timeout(ms(60)).lock("a");
    let error = lock.try_acquire().await.unwrap_err();
    assert_eq!(error.to_string(), r#"no answer within 60 ms (for "a")"#);
    assert_eq!(hung_up.get(), 2);
}

async fn requests_have_the_one_shape_that_every_bridge_takes() {
    let seen = Rc::new(std::cell::RefCell::new(None));
    let sees = seen.clone();
    let error = acquire_raw(move |asked| {
        // The server parses the body as JSON strings, and nothing else fits.
        sees.replace(Some((asked.head.clone(), asked.words())));
        None
    })
    .await;
    assert_eq!(error.unwrap_err().code(), "unavailable");
    let (head, words) = seen.take().expect("a request");
    assert!(head.starts_with("POST / HTTP/1.1\r\n"), "{head}");
    for line in
        ["authorization: Bearer credential-of-the-bridge\r\n", "content-type: application/json\r\n"]
    {
        assert!(head.contains(line), "{head}");
    }
    assert_eq!([words[0].as_str(), words[2].as_str()], ["EVAL", "5"]);
}

async fn a_bridge_that_says_back_what_it_was_sent_puts_no_secret_into_an_error() {
    // Messages are cut at some length. If a secret lies across the cut, no part of it may be
    // left.
    let paddings = (0..=200).step_by(8);
    let cases = paddings.flat_map(|padding| [400, 401, 429, 503].map(|status| (padding, status)));
    for (padding, status) in cases {
        let token = Rc::new(std::cell::RefCell::new(String::new()));
        let sent = token.clone();
        let error = acquire_raw(move |asked| {
            let words = asked.words();
            let keys: usize = words[2].parse().unwrap();
            let token = words[3 + keys + 1].clone();
            let padding = "x".repeat(padding);
            let echo = words[3..].join(" ");
            let text = format!("{padding} {token} credential-of-the-bridge, command was: {echo}");
            *sent.borrow_mut() = token;
            Some(json(status, &serde_json::json!({ "error": text }).to_string()))
        })
        .await
        .unwrap_err();
        let token = token.borrow();
        assert_eq!(token.len(), 22);
        for text in [error.to_string(), format!("{error:?}")] {
            for part in [&token[..6], "creden"] {
                assert!(!text.contains(part), "{text}");
            }
        }
    }
}

async fn what_a_bridge_says_stays_within_the_line_of_an_error() {
    for status in [400, 401, 503] {
        let body = r#"{"error":"ERR first\u001b[2J\nsecond\u202e\r\n"}"#;
        let error = acquire_at(status, body).await.unwrap_err().to_string();
        assert!(error.contains("ERR first [2J second"), "{error}");
        assert!(!error.contains(['\n', '\r', '\u{1b}', '\u{202e}']), "{error}");
    }
}

async fn webdis_is_shown_a_user_and_a_password_that_no_error_and_no_debug_shows() {
    // The pair that RFC 7617 gives as its example.
    const PAIR: &str = "QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
    let url = serve(|asked| {
        assert!(asked.head.starts_with("POST / HTTP/1.1\r\n"));
        let basic = format!("authorization: Basic {PAIR}\r\n");
        assert!(asked.head.contains(&basic), "{}", asked.head);
        assert!(asked.body.starts_with("EVAL/"));
        let said = format!(r#"{{"EVAL":[false,"ERR x {PAIR} open sesame"]}}"#);
        std::future::ready(Some(json(200, &said)))
    })
    .await;
    let bridge = Bridge::webdis(&url, "Aladdin", "open sesame").unwrap();
    let shown = format!("{bridge:?}");
    let client = Client::new(bridge, Http::default(), Tokio::default());
    let error = client.lock("a").try_acquire().await.unwrap_err();
    assert_eq!(error.code(), "refused");
    assert!(!error.is_outcome_unknown(), "{error}");
    assert!(error.to_string().contains("ERR x … …"), "{error}");
    let text = format!("{shown} {client:?} {error:?}");
    assert!(!text.contains("QWx") && !text.contains("sesame"), "{text}");
    for (url, user) in [("http://webdis.example", "u"), (&url, "u:v"), (&url, "")] {
        assert!(Bridge::webdis(url, user, "p").is_err());
    }
    assert!(Bridge::webdis_over_plain_http("http://webdis.example", "u", "p").is_ok());
}

async fn debug_shows_no_secret() {
    let url = serve(|asked| {
        std::future::ready(Some(respond(&asked, 200, r#"{"result":[1,"NONCE",7,""]}"#)))
    })
    .await;
    let bridge = Bridge::upstash(&url, "credential-of-the-bridge").unwrap();
    let bridge_text = format!("{bridge:?}");
    let client = Client::new(bridge, Http::default(), Tokio::default());
    let lock = client.lock("a");
    let lease = lock.try_acquire().await.unwrap();
    let text = format!("{bridge_text} {client:?} {lock:?} {lease:?} {:?}", lease.token());
    assert!(
        !text.contains("credential-of-the-bridge") && !text.contains(lease.token().expose()),
        "{text}"
    );
}

async fn behind_ten_thousand_waiters_nobody_waits() {
    let left = Rc::new(Cell::new(false));
    let noted = left.clone();
    let url = serve(move |asked| {
        let leaves = abandons(&asked.body);
        noted.set(noted.get() || leaves);
        let body = match leaves {
            true => r#"{"result":[0,"NONCE"]}"#,
            false => r#"{"result":[0,"NONCE",5000,10000,"1700000000000000",""]}"#,
        };
        std::future::ready(Some(respond(&asked, 200, body)))
    })
    .await;
    let lock = client(&url, "credential-of-the-bridge").lock("a");
    let error = lock.wait_timeout(ms(600_000)).acquire().await.unwrap_err();
    let Error::Held { ahead, requests, .. } = error else { panic!("{error}") };
    assert_eq!((ahead, requests), (10_000, 2));
    eventually(|| left.get()).await;
}
