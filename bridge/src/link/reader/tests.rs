//! Which replies pass, in pieces of every size.

use super::*;

const LARGEST: usize = 10_000;

/// The replies that are read, each the only one to its request.
fn read(reader: &mut Reader, arrives: &[u8], size: usize) -> Vec<Value> {
    let (mut replies, mut cost) = (Vec::new(), 0);
    for mut chunk in arrives.chunks(size) {
        while let Some(reply) = reader.next(&mut chunk, &mut cost).expect("RESP") {
            replies.push(reply);
            cost = 0;
        }
    }
    replies
}

#[track_caller]
fn check(arrives: &[u8], expected: &[Value]) {
    for size in [1, 2, 3, 7, 64, 1_000, arrives.len()] {
        let replies = read(&mut Reader::new(LARGEST, false), arrives, size);
        assert!(replies == expected, "in pieces of {size}: {replies:?}");
    }
}

fn text(text: impl AsRef<[u8]>) -> Vec<u8> {
    let text = text.as_ref();
    [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat()
}

fn bulk(text: impl AsRef<[u8]>) -> Value {
    Value::BulkString(text.as_ref().to_vec())
}

fn status(text: &str) -> Value {
    Value::SimpleString(text.to_owned())
}

#[test]
fn values_stay_as_they_are_whatever_they_look_like() {
    let (nil, int) = (Value::Nil, Value::Int);
    let strange = [bulk(b"-\xff\r\n+\xfe"), int(-7), nil, bulk(""), Value::Nil];
    check(
        b"*5\r\n$6\r\n-\xff\r\n+\xfe\r\n:-7\r\n$-1\r\n$0\r\n\r\n*-1\r\n",
        &[Value::Array(strange.into())],
    );
    let inner = Value::Array(vec![Value::Nil, int(1), Value::Array(vec![status("x")])]);
    check(
        b"*2\r\n*0\r\n*3\r\n*-1\r\n:1\r\n*1\r\n+x\r\n:2\r\n",
        &[Value::Array(vec![Value::Array(vec![]), inner]), int(2)],
    );
}

#[test]
fn what_is_no_resp_is_told_from_replies() {
    for arrives in "HTTP/1.1 400\r\n|:x\r\n|$\r\n|$-2\r\n|*x\r\n|:1\n|\n".split('|') {
        let read = Reader::new(LARGEST, false).next(&mut arrives.as_bytes(), &mut 0);
        assert!(read.is_err(), "{arrives:?}");
    }
    let mut endless = Reader::new(LARGEST, false);
    assert!((0..100).any(|_| endless.next(&mut &b":1"[..], &mut 0).is_err()));
}

#[test]
fn what_is_nested_too_deep_is_one_error_and_what_follows_passes() {
    let deep = |depth| format!("{}+end\r\n", "*2\r\n:0\r\n".repeat(depth)).into_bytes();
    let nested =
        (0..DEEPEST).fold(status("end"), |inner, _| Value::Array(vec![Value::Int(0), inner]));
    check(&deep(DEEPEST), &[nested]);
    for depth in [DEEPEST + 1, 500] {
        let arrives = [&deep(depth)[..], b":7\r\n", &deep(depth)].concat();
        let refused = || error(TOO_DEEP);
        // This many elements would be too many if their depth were not refused first.
        let mut reader = Reader::new(100 * LARGEST, false);
        let replies = read(&mut reader, &arrives, 7);
        assert_eq!(replies, [refused(), Value::Int(7), refused()]);
    }
}

#[test]
fn nothing_is_kept_of_what_does_not_pass() {
    let mut reader = Reader::new(LARGEST, false);
    let mut cost = 0;
    let takes = [
        &b"*3\r\n$5\r\nhello\r\n"[..],
        b"*1\r\n*2\r\n+more\r\n",
        b"$100000000\r\n",
        &b"x".repeat(100_000_000),
        b"\r\n+a line without an end",
    ];
    for mut bytes in takes {
        for _ in 0..100_000 {
            let read = reader.next(&mut bytes, &mut cost);
            assert!(read.expect("RESP").is_none());
        }
    }
    for _ in 0..100_000 {
        let read = reader.next(&mut &b"a line without an end"[..], &mut cost);
        assert!(read.expect("RESP").is_none());
    }
    assert!(reader.bulk.is_none() && reader.open.is_empty());
    assert!(reader.line.capacity() < 3 * LARGEST);
}

#[test]
fn of_a_message_that_is_too_large_only_the_payload_is_left_away() {
    let message = |channel: &str, payload: Vec<u8>| {
        [b"*3\r\n$7\r\nmessage\r\n".to_vec(), text(channel), payload].concat()
    };
    let arrives = [
        message("a", text("x".repeat(LARGEST))),
        message("b", text("y")),
        message(&"c".repeat(LARGEST), text("z")),
    ];
    let mut reader = Reader::new(LARGEST, true);
    let passed = |channel, payload| Value::Array(vec![bulk("message"), bulk(channel), payload]);
    let expected = [passed("a", Value::Nil), passed("b", bulk("y")), Value::Nil];
    assert_eq!(read(&mut reader, &arrives.concat(), 7), expected);
}

#[test]
fn what_is_too_large_is_one_error_and_what_follows_passes() {
    let largest = "x".repeat(LARGEST - ELEMENT);
    check(&text(&largest), &[bulk(&largest)]);
    let refused = || error(TOO_LARGE);
    let elements = |count| format!("*{count}\r\n{}", ":1\r\n".repeat(count)).into_bytes();
    let line = |length| format!("+{}\r\n", "x".repeat(length)).into_bytes();
    let [most, more] = [9_000, 900].map(|length| text("x".repeat(length)));
    for too_large in [
        text("x".repeat(LARGEST + 1 - ELEMENT)),
        text("x\r\n".repeat(100_000)),
        elements(200),
        line(30_000),
        // One Lua string in many places.
        [b"*4\r\n".to_vec(), line(3_000).repeat(4)].concat(),
        [b"*3\r\n", &*most, &more, &elements(3)].concat(),
    ] {
        let arrives = [&too_large[..], b":7\r\n", &too_large, b"$-1\r\n"].concat();
        check(&arrives, &[refused(), Value::Int(7), refused(), Value::Nil]);
    }
}

#[test]
fn what_a_reply_costs_later_is_what_it_cost_when_it_came() {
    let arrives = b"*4\r\n+status\r\n$4\r\ntext\r\n:1\r\n-ERR no\r\n";
    let mut came = 0;
    let reply = Reader::new(LARGEST, false).next(&mut &arrives[..], &mut came);
    let again = cost_of_one(&reply.expect("RESP").expect("whole"));
    // The code of an error is not counted again.
    assert_eq!((came, again), (5 * ELEMENT + 16, 5 * ELEMENT + 12));
}
