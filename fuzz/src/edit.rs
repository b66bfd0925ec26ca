//! One change of a text.

use bolero::Driver;
use bolero::ValueGenerator as _;

/// Pieces of text that parsers look for.
const WORDS: [&[u8]; 40] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\\u0053",
    b"null",
    b"true",
    b"false",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xae",
    b"%",
    b"%25",
    b"%FF",
    b"%zz",
    b"/",
    b"//",
    b"?",
    b"&",
    b"=",
    b"+",
    b"-",
    b"$-1\r\n",
    b"*1\r\n",
    b"*-1\r\n",
    b":0\r\n",
    b"+OK\r\n",
    b"data: ",
    b"1e400",
];

/// Numbers at which counting goes wrong.
const NUMBERS: [&str; 16] = [
    "-9223372036854775809",
    "-9223372036854775808",
    "-2",
    "-1",
    "0",
    "00",
    "1",
    "65",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
];

/// The most bytes that a text grows to.
const LONGEST: usize = 1 << 14;

/// Changes `text` in one place. A part of `other`, another text, may be copied into it.
pub(crate) fn edit<D: Driver>(text: &mut Vec<u8>, other: &[u8], driver: &mut D) -> Option<()> {
    let at = (0..=text.len()).generate(driver)?;
    let behind = (at..=text.len().min(at + 16)).generate(driver)?;
    match (0..8_u8).generate(driver)? {
        0 => drop(text.drain(at..behind)),
        1 => {
            if let Some(byte) = text.get_mut(at) {
                *byte = (0..=255_u8).generate(driver)?;
            }
        }
        2 => put(text, at..behind, WORDS[(0..WORDS.len()).generate(driver)?]),
        3 => {
            let number = NUMBERS[(0..NUMBERS.len()).generate(driver)?];
            put(text, number_at(text, at), number.as_bytes());
        }
        4 => text.truncate(at),
        5 => {
            let twice = text[at..behind].to_vec();
            put(text, behind..behind, &twice);
        }
        6 => {
            let from = (0..=other.len()).generate(driver)?;
            let to = (from..=other.len().min(from + 64)).generate(driver)?;
            put(text, at..behind, &other[from..to]);
        }
        _ => {
            let word = WORDS[(0..WORDS.len()).generate(driver)?];
            put(text, at..at, &word.repeat((1..200_usize).generate(driver)?));
        }
    }
    text.truncate(LONGEST);
    Some(())
}

fn put(text: &mut Vec<u8>, range: std::ops::Range<usize>, with: &[u8]) {
    text.splice(range, with.iter().copied());
}

/// The first number in `text` from `at` on, or the end.
fn number_at(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let begins = text[at..].iter().position(is_digit);
    let begins = begins.map_or(text.len(), |more| at + more);
    let length = text[begins..].iter().take_while(|byte| is_digit(byte)).count();
    begins..begins + length
}
