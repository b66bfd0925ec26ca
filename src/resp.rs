//! Replies to the user's commands: RESP2 text in which every byte but printable ASCII stands as
//! `%XX` (see `kind/commands.lua`).

use crate::command::Reply;
use crate::outside;

/// What the script writes in place of a reply: it is too large for an answer; those before it have
/// left no room for it.
const TOO_LARGE: &str = "reply over 1 MiB";
const NO_ROOM: &str = "reply over 1 MiB, with others";

/// Whether the reply is missing, though its command was executed.
pub(crate) fn is_left_out(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(why) if why == TOO_LARGE || why == NO_ROOM)
}

/// Whether there would have been room for the reply in another answer.
pub(crate) fn lacks_room(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(why) if why == NO_ROOM)
}

/// Redis nests replies a few levels deep; a bridge that sends more is not one.
const MAX_DEPTH: u32 = 32;

/// The text of `replies`. `None` if one is an error, or a number that is not exact.
pub(crate) fn text(replies: &[Reply]) -> Option<String> {
    let mut out = String::new();
    replies.iter().try_for_each(|reply| write(&mut out, reply))?;
    Some(out)
}

fn write(out: &mut String, reply: &Reply) -> Option<()> {
    match reply {
        Reply::Nil => out.push_str("$-1\r\n"),
        Reply::Int(number) => *out += &format!(":{number}\r\n"),
        Reply::Bytes(bytes) => {
            *out += &format!("${}\r\n", bytes.len());
            for &byte in bytes {
                match byte {
                    b' '..=b'$' | b'&'..=b'~' => out.push(byte.into()),
                    _ => outside::percent_byte(byte, out),
                }
            }
            *out += "\r\n";
        }
        Reply::Array(replies) => {
            *out += &format!("*{}\r\n", replies.len());
            return replies.iter().try_for_each(|reply| write(out, reply));
        }
        Reply::Rounded(_) | Reply::Error(_) => return None,
    }
    Some(())
}

/// All replies in `text`, or `None` if the script could not have written it.
pub(crate) fn parse(text: &str) -> Option<Vec<Reply>> {
    let mut rest = text;
    let mut replies = Vec::new();
    while !rest.is_empty() {
        replies.push(next(&mut rest, MAX_DEPTH)?);
    }
    Some(replies)
}

fn next(rest: &mut &str, depth: u32) -> Option<Reply> {
    let head = line(rest)?;
    let (kind, value) = head.split_at_checked(1)?;
    match kind {
        ":" => outside::signed(value).map(Reply::Int),
        "," => rounded(value).map(Reply::Rounded),
        "+" => unescape(value).map(Reply::Bytes),
        "-" => unescape(value).map(|bytes| Reply::Error(outside::lossy(&bytes).into_owned())),
        "$" if value == "-1" => Some(Reply::Nil),
        "$" => {
            let bytes = unescape(line(rest)?)?;
            (outside::number(value) == Some(bytes.len() as u64)).then_some(Reply::Bytes(bytes))
        }
        "*" => {
            let depth = depth.checked_sub(1)?;
            let mut replies = Vec::new();
            for _ in 0..outside::number(value)? {
                replies.push(next(rest, depth)?);
            }
            Some(Reply::Array(replies))
        }
        _ => None,
    }
}

/// The largest number of Redis's is rounded to one more.
fn rounded(value: &str) -> Option<i64> {
    let beyond = || outside::number(value).map(|_| i64::MAX);
    outside::signed(value).or_else(beyond)
}

fn line<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let end = place(rest, b'\n')?;
    let line = rest.get(..end)?;
    *rest = rest.get(end + 1..)?;
    line.strip_suffix('\r')
}

/// Where this byte first is. The standard library's search is made for long texts, and takes three
/// times as long for these.
fn place(text: &str, sought: u8) -> Option<usize> {
    text.bytes().position(|byte| byte == sought)
}

/// The bytes that a text of printable ASCII stands for. `None` if it is malformed.
pub(crate) fn unescape(text: &str) -> Option<Vec<u8>> {
    if place(text, b'%').is_none() {
        return Some(text.as_bytes().to_vec());
    }
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (hex, behind) = part.split_at_checked(2)?;
        let mut digits = hex.chars().map(|digit| digit.to_digit(16));
        bytes.push((digits.next()?? << 4 | digits.next()??) as u8);
        bytes.extend_from_slice(behind.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_reply_is_read() {
        let text = ":-7\r\n+OK\r\n-ERR no%0A\r\n$3\r\n%FF%25a\r\n$-1\r\n,-9007199254740992\r\n,9223372036854775808\r\n*2\r\n:1\r\n*0\r\n";
        assert_eq!(
            parse(text).unwrap(),
            [
                Reply::Int(-7),
                Reply::Bytes(b"OK".to_vec()),
                Reply::Error("ERR no\n".into()),
                Reply::Bytes(b"\xff%a".to_vec()),
                Reply::Nil,
                Reply::Rounded(-9_007_199_254_740_992),
                Reply::Rounded(i64::MAX),
                Reply::Array(vec![Reply::Int(1), Reply::Array(vec![])]),
            ]
        );
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn replies_are_written_as_the_script_does() {
        let sent = ":-7\r\n$3\r\n%FF%25a\r\n$0\r\n\r\n$-1\r\n*2\r\n:1\r\n*1\r\n$1\r\n~\r\n";
        assert_eq!(text(&parse(sent).unwrap()).as_deref(), Some(sent));
        assert_eq!(text(&[Reply::Error("no".into())]), None);
        assert_eq!(text(&[Reply::Array(vec![Reply::Rounded(1 << 53)])]), None);
    }

    #[test]
    fn what_the_script_does_not_write_is_refused() {
        let deep = "*1\r\n".repeat(100_000);
        for text in [
            "x",
            ":",
            ":1",
            ",\r\n",
            ",1e3\r\n",
            "$3\r\nab\r\n",
            "$-2\r\n",
            "+%G0\r\n",
            "+%é\r\n",
            "*3\r\n:1\r\n",
            "é\r\n",
            &deep,
        ] {
            assert_eq!(parse(text), None);
        }
    }
}
