//! JSON that the host reads.

use wasm_bindgen::prelude::*;

use super::Members;
use crate::command::Reply;
use crate::resp;

#[wasm_bindgen(module = "/npm/host/json.js")]
extern "C" {
    fn read(text: &str, each: bool) -> String;
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = JSON, js_name = stringify)]
    fn quote(text: &str) -> String;
}

pub(crate) fn array(words: &[&str]) -> String {
    let bytes: usize = words.iter().map(|word| word.len() + 4).sum();
    let mut json = String::with_capacity(bytes);
    for word in words {
        json.push(if json.is_empty() { '[' } else { ',' });
        quote_into(&mut json, word);
    }
    json.push(']');
    json
}

/// Appends a text in quotes. It is put together here: a text that the host writes has to come back
/// before it is sent. To have it write a script of 2.5 kB costs a fifth of a request's CPU. The
/// host writes only a text that needs an escape.
pub fn quote_into(json: &mut String, text: &str) {
    if is_plain(text) {
        json.push('"');
        json.push_str(text);
        json.push('"');
    } else {
        json.push_str(&quote(text));
    }
}

/// Whether no character needs an escape. It tests eight at a time: a script has thousands, and an
/// edge that has just started runs each step here unoptimised.
fn is_plain(word: &str) -> bool {
    let (chunks, rest) = word.as_bytes().as_chunks();
    for chunk in chunks {
        if has_special(u64::from_le_bytes(*chunk)) {
            return false;
        }
    }
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    !has_special(u64::from_le_bytes(last))
}

/// Whether one of eight bytes needs an escape. Each test borrows from a byte's highest bit if the
/// byte is low enough. <https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord>
#[inline(always)]
const fn has_special(bytes: u64) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    const fn less(bytes: u64, than: u8) -> u64 {
        bytes.wrapping_sub(ONES * than as u64) & !bytes & (ONES << 7)
    }
    const fn equal(bytes: u64, to: u8) -> u64 {
        less(bytes ^ (ONES * to as u64), 1)
    }
    less(bytes, b' ') | equal(bytes, b'"') | equal(bytes, b'\\') != 0
}

pub(in crate::bridge) fn members(text: &str) -> Option<Members> {
    of_object(parse(text, false)?)
}

pub(in crate::bridge) fn members_of_each(text: &str) -> Option<Vec<Members>> {
    list(parse(text, true)?)?.into_iter().map(of_object).collect()
}

/// The value that the host reads, if it reads one.
fn parse(text: &str, each: bool) -> Option<Reply> {
    resp::parse(&read(text, each))?.pop()
}

/// In the order in which the host writes them.
fn of_object(reply: Reply) -> Option<Members> {
    let [result, error, executed, eval, subscribe] = list(reply)?.try_into().ok()?;
    Some(Members { result, error, executed, eval, subscribe })
}

fn list(reply: Reply) -> Option<Vec<Reply>> {
    match reply {
        Reply::Array(elements) => Some(elements),
        _ => None,
    }
}
