//! Webdis's dialect, as Debian's 0.1.9 and later versions use it.
//!
//! <https://github.com/nicolasff/webdis>. `POST /` with the command in the body, its words
//! percent-encoded and separated by slashes, and HTTP's basic authentication. Replies are keyed by
//! the command, and an error is a reply.

use super::Access;
use super::answer::Answer;
use crate::command::Reply;
use crate::error::Fault;
use crate::outside;
use crate::token::base64url;
use crate::transport::Response;

pub(super) fn access(user: &str, password: &str) -> Result<Access, Fault> {
    let is_valid = |text: &str| !text.is_empty() && !text.contains(char::is_control);
    if !is_valid(user) || !is_valid(password) || user.contains(':') {
        return Err(Fault::invalid(
            "webdis's user or password is empty or has a control character, or the user has a colon; are their variables set?",
        ));
    }
    let pair = base64(&[user, ":", password].concat());
    let headers =
        [("authorization", ["Basic ", &pair].concat()), ("content-type", "text/plain".to_owned())];
    Ok(Access {
        listening_headers: headers.clone(),
        headers,
        secrets: vec![pair, password.to_owned()],
    })
}

/// RFC 4648 §4.
fn base64(text: &str) -> String {
    let plain = |byte| match byte {
        b'-' => '+',
        b'_' => '/',
        _ => char::from(byte),
    };
    let mut coded: String = base64url(text.as_bytes()).into_iter().map(plain).collect();
    while !coded.len().is_multiple_of(4) {
        coded.push('=');
    }
    coded
}

pub(super) fn body(words: &[&str]) -> String {
    let mut body = String::new();
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            body.push('/');
        }
        outside::percent(word, &mut body);
    }
    body
}

/// An answer is `{"EVAL": …}`, with `[false, "…"]` for an error.
pub(super) fn decode(response: &Response) -> Result<Reply, Fault> {
    let mut answer = Answer::read(response, |members| &mut members.eval);
    match response.status {
        403 => return Err(Fault::unauthorized(FORBIDDEN.into())),
        400 => return Err(Fault::refused(answer.said(), false)),
        _ => {}
    }
    if let Some(refusal) = answer.refusal() {
        return Err(refusal);
    }
    let (reply, _) = answer.take()?;
    match reply {
        _ if response.status >= 500 => Err(answer.unavailable(true)),
        Some(Reply::Array(elements)) => Ok(match elements.as_slice() {
            [Reply::Error(_), Reply::Bytes(text)] => {
                Reply::Error(outside::lossy(text).into_owned())
            }
            _ => Reply::Array(elements),
        }),
        Some(reply) => Ok(reply),
        // Its replies lose bytes that are not UTF-8. Ours have none.
        None => Err(Fault::unexpected("no reply to the command")),
    }
}

/// Webdis gives no reason, so this text does.
const FORBIDDEN: &str = "webdis forbids it (status 403): its acl has to enable EVAL for this user and password, and EVALSHA where \
    scripts are cached";

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(status: u16, body: &str) -> Result<Reply, Fault> {
        super::decode(&Response::new(status, body))
    }

    #[track_caller]
    fn check(status: u16, body: &str, code: &str, is_outcome_unknown: bool) {
        let error = decode(status, body).expect_err(body);
        assert_eq!((error.code(), error.is_outcome_unknown()), (code, is_outcome_unknown));
    }

    #[test]
    fn a_command_is_its_words_between_slashes() {
        let words = ["EVAL", "return {ARGV[1], 'a.b'}\n", "1", "a/b", "", "é+?"];
        let encoded = "EVAL/return%20%7BARGV%5B1%5D%2C%20%27a%2Eb%27%7D%0A/1/a%2Fb//%C3%A9%2B%3F";
        assert_eq!(body(&words), encoded);
    }

    #[test]
    fn a_user_and_a_password_travel_as_basic_authentication() {
        // The example of RFC 7617.
        let access = access("Aladdin", "open sesame").unwrap();
        assert_eq!(access.headers[0].1, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(base64("??>>"), "Pz8+Pg==");
        for (user, password) in [("", "p"), ("u", ""), ("a:b", "p"), ("u", "p\r\nx: y")] {
            let error = super::access(user, password).err().unwrap();
            assert_eq!(error.code(), "invalid_argument");
        }
    }

    #[test]
    fn replies_are_keyed_by_the_command() {
        let text = |text: &str| Reply::Bytes(text.as_bytes().to_vec());
        for (body, reply) in [
            (r#"{"EVAL":[1,"x.1"]}"#, Reply::Array(vec![Reply::Int(1), text("x.1")])),
            (r#"{"EVALSHA":7}"#, Reply::Int(7)),
            (
                r#"{"EVALSHA":[false,"NOSCRIPT No matching script."]}"#,
                Reply::Error("NOSCRIPT No matching script.".into()),
            ),
        ] {
            assert_eq!(decode(200, body), Ok(reply));
        }
    }

    #[test]
    fn what_is_no_reply_says_whether_the_command_may_have_run() {
        check(403, "", "unauthorized", false);
        check(400, "", "refused", false);
        check(413, "", "refused", false);
        check(503, "", "unavailable", true);
        check(502, "<html>", "unavailable", true);
        check(200, "", "truncated", true);
        check(200, "{}", "unexpected_reply", true);
        check(200, r#"{"EVAL":[true,"OK"]}"#, "unexpected_reply", true);
        check(200, r#"{"BLPOP":null}"#, "unexpected_reply", true);
        check(200, r#"{"EVAL":[1,"x.1""#, "truncated", true);
        check(200, "<html>", "not_json", true);
    }
}
