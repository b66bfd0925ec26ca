//! Whatever arrives from Redis: in pieces of any size it is the same, it never keeps more than is
//! allowed, and what clients get of it is JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use edgelock_fuzz::{INPUTS, Mutants, Text, check};
use serde_json::Value as Json;

use super::{ELEMENT, Malformed, Reader, TOO_LARGE, cost_of_one};
use crate::dial::NodeAddr;
use crate::redirect;
use crate::reply::{self, Encoding};
use crate::slot_map;
use crate::topic::Message;
use redis::Value;

const CORPUS: &str = include_str!("../../../../fuzz/corpus/resp.txt");

/// Small, so that inputs exceed it.
const LARGEST: usize = 600;

/// The replies, each the only one to its request, up to what is no RESP.
fn read(arrives: &Text, piece: usize, is_of_messages: bool) -> (Vec<Value>, bool) {
    let (mut reader, mut replies, mut cost) = (Reader::new(LARGEST, is_of_messages), Vec::new(), 0);
    for mut piece in arrives.pieces(piece) {
        loop {
            match reader.next(&mut piece, &mut cost) {
                Ok(Some(reply)) => replies.push(reply),
                Ok(None) => break,
                Err(Malformed) => return (replies, true),
            }
            cost = 0;
        }
        let kept = reader.open.iter().flat_map(|open| &open.items);
        let kept = kept.map(cost_of_one).sum::<usize>() + reader.line.len();
        assert!(kept <= 2 * LARGEST, "it keeps {kept} bytes");
    }
    (replies, false)
}

#[test]
fn what_redis_sends_is_the_same_in_pieces_of_any_size_and_never_too_large() {
    check!()
        .with_iterations(INPUTS)
        .with_generator((Mutants::of(CORPUS), 1..50_usize, 0..2_u8))
        .for_each(|(arrives, piece, of_messages)| {
            let of_messages = *of_messages == 1;
            let (whole, _) = read(arrives, usize::MAX, of_messages);
            let (pieces, _) = read(arrives, *piece, of_messages);
            let both = whole.len().min(pieces.len());
            assert_eq!(whole[..both], pieces[..both], "in pieces of {piece}");
            for reply in pieces {
                let is_refused = reply == super::error(TOO_LARGE);
                assert!(is_refused || cost_of_one(&reply) <= LARGEST + ELEMENT, "{reply:?}");
                let _ = Message::of(reply);
            }
        });
}

#[test]
fn what_redis_replies_becomes_json_from_which_each_byte_can_be_read() {
    let here = NodeAddr::parse("127.0.0.1:6379").expect("an address");
    check!().with_iterations(INPUTS).with_generator(Mutants::of(CORPUS)).for_each(|arrives| {
        let (replies, _) = read(arrives, usize::MAX, false);
        for reply in &replies {
            redirect::told(reply);
            let text = json(reply, Encoding::Text);
            assert!(text.is_object());
            let encoded = json(reply, Encoding::Base64);
            if !matches!(reply, Value::Okay | Value::ServerError(_)) {
                assert!(shows(&encoded["result"], reply), "{encoded} for {reply:?}");
            }
        }
        slot_map::places(&replies, &here);
    });
}

fn json(reply: &Value, encoding: Encoding) -> Json {
    let (bytes, largest) = (Vec::new(), usize::MAX);
    let mut out = reply::Json { bytes, largest };
    out.outcome(reply, encoding);
    serde_json::from_slice(&out.bytes).expect("JSON")
}

/// Whether `json` is this reply in base64.
fn shows(json: &Json, reply: &Value) -> bool {
    let is_text = |bytes: &[u8]| {
        let decoded = json.as_str().and_then(|text| STANDARD.decode(text).ok());
        decoded.as_deref() == Some(bytes)
    };
    match reply {
        Value::Nil => json.is_null(),
        Value::Int(number) => json.as_i64() == Some(*number),
        Value::Okay => is_text(b"OK"),
        Value::SimpleString(text) => is_text(text.as_bytes()),
        Value::BulkString(bytes) => is_text(bytes),
        Value::Array(items) => json.as_array().is_some_and(|shown| {
            shown.len() == items.len()
                && shown.iter().zip(items).all(|(json, item)| shows(json, item))
        }),
        _ => json["error"].is_string(),
    }
}
