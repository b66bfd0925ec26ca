//! What passes, in pieces of every size.

use super::*;

#[track_caller]
fn check(arrives: &[u8], expected: &[u8]) {
    for size in [1, 2, 3, 7, 64, 1_000, arrives.len()] {
        let mut sieve = Sieve {
            largest: 10_000,
            ..Sieve::default()
        };
        arrives.chunks(size).for_each(|chunk| sieve.take(chunk));
        let passed = &sieve.ready[..sieve.whole];
        assert!(
            passed == expected,
            "in pieces of {size}: {}",
            passed.escape_ascii()
        );
    }
}

fn text(text: impl AsRef<[u8]>) -> Vec<u8> {
    let text = text.as_ref();
    [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat()
}

#[test]
fn errors_and_statuses_become_utf8() {
    check(
        b"-ERR caf\xc3\r\n+\xff\r\n",
        "-ERR caf\u{fffd}\r\n+\u{fffd}\r\n".as_bytes(),
    );
    check("-ERR café\r\n".as_bytes(), "-ERR café\r\n".as_bytes());
}

#[test]
fn values_stay_as_they_are_whatever_they_look_like() {
    let values = b"*3\r\n$6\r\n-\xff\r\n+\xfe\r\n:-7\r\n$-1\r\n$0\r\n\r\n";
    check(values, values);
    let nested = b"*2\r\n*0\r\n*3\r\n*-1\r\n:1\r\n*1\r\n+x\r\n:2\r\n";
    check(nested, nested);
}

#[test]
fn a_reply_passes_once_it_is_whole() {
    check(b":1\r\n*2\r\n:1\r\n$3\r\nab", b":1\r\n");
}

#[test]
fn what_is_nested_too_deep_is_one_error_and_what_follows_passes() {
    let deep = |depth| [b"*2\r\n:0\r\n".repeat(depth), b"+end\r\n".to_vec()].concat();
    check(&deep(DEEPEST), &deep(DEEPEST));
    for depth in [DEEPEST + 1, 500] {
        let arrives = [&deep(depth)[..], b":7\r\n", &deep(depth)].concat();
        let refused = Refused::TooDeep.reply();
        check(&arrives, &[refused, b":7\r\n", refused].concat());
    }
}

#[test]
fn nothing_is_kept_of_what_does_not_pass() {
    let mut sieve = Sieve {
        largest: 10_000,
        ..Sieve::default()
    };
    for _ in 0..100_000 {
        sieve.take(b"*2\r\n$5\r\nhello\r\n*1\r\n");
    }
    for _ in 0..100_000 {
        sieve.take(b"+a line without an end");
    }
    let kept = sieve.ready.capacity() + sieve.line.capacity() + 8 * sieve.open.capacity();
    assert!(kept < 100_000, "{kept}");
}

#[test]
fn of_a_message_that_is_too_large_only_the_payload_is_left_away() {
    let message = |channel: &str, payload: Vec<u8>| {
        [b"*3\r\n$7\r\nmessage\r\n".to_vec(), text(channel), payload].concat()
    };
    let mut sieve = Sieve {
        largest: 10_000,
        is_of_messages: true,
        ..Sieve::default()
    };
    let arrives = [
        message("a", text("x".repeat(10_000))),
        message("b", text("y")),
        message(&"c".repeat(10_000), text("z")),
    ];
    arrives
        .concat()
        .chunks(7)
        .for_each(|chunk| sieve.take(chunk));
    let passed = [
        message("a", b"$-1\r\n".to_vec()),
        message("b", text("y")),
        NO_MESSAGE.to_vec(),
    ];
    assert!(
        sieve.ready == passed.concat(),
        "{}",
        sieve.ready.escape_ascii()
    );
}

#[test]
fn replies_to_one_request_count_together() {
    let piece = text("x".repeat(4_000));
    let refused = Refused::TooLarge.reply();
    let mut sieve = Sieve {
        largest: 10_000,
        ..Sieve::default()
    };
    for replies in [2, 4, 1] {
        sieve.awaited.expect(replies, 0, 0);
    }
    sieve.take(&piece.repeat(8));
    let passed = [
        piece.repeat(4),
        [refused, refused].concat(),
        piece.repeat(2),
    ];
    assert_eq!(
        sieve.ready.escape_ascii().to_string(),
        passed.concat().escape_ascii().to_string()
    );
}

#[test]
fn what_is_too_large_is_one_error_and_what_follows_passes() {
    let largest = text("x".repeat(10_000 - ELEMENT));
    check(&largest, &largest);
    let refused = Refused::TooLarge.reply();
    let elements = |count: usize| {
        [
            format!("*{count}\r\n").into_bytes(),
            b":1\r\n".repeat(count),
        ]
        .concat()
    };
    for too_large in [
        text("x".repeat(10_001 - ELEMENT)),
        text("x\r\n".repeat(100_000)),
        elements(200),
        [b"+".to_vec(), b"x".repeat(30_000), b"\r\n".to_vec()].concat(),
        [
            b"*3\r\n".to_vec(),
            text("x".repeat(9_000)),
            text("x".repeat(900)),
            elements(3),
        ]
        .concat(),
    ] {
        let arrives = [&too_large[..], b":7\r\n", &too_large, b"$-1\r\n"].concat();
        check(
            &arrives,
            &[refused, b":7\r\n", refused, b"$-1\r\n"].concat(),
        );
    }
}
