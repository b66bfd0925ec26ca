//! JSON by `serde_json`, read straight into replies. It builds no tree, and follows no nesting.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Members;
use crate::command::Reply;

pub(crate) fn array(words: &[&str]) -> String {
    let bytes = words.iter().map(|word| word.len() + 4).sum();
    let mut json = Vec::with_capacity(bytes);
    // Strings can always be written.
    let _ = serde_json::to_writer(&mut json, words);
    String::from_utf8(json).unwrap_or_default()
}

pub(in crate::bridge) fn members(text: &str) -> Option<Members> {
    whole(text, Object)
}

pub(in crate::bridge) fn members_of_each(text: &str) -> Option<Vec<Members>> {
    whole(text, Objects)
}

/// The value in `text`, if nothing follows it.
fn whole<'de, S: DeserializeSeed<'de>>(text: &'de str, seed: S) -> Option<S::Value> {
    // From bytes, as a Worker reads its requests: another reader would be more code.
    let mut reader = serde_json::Deserializer::from_slice(text.as_bytes());
    let value = seed.deserialize(&mut reader).ok()?;
    reader.end().ok().map(|()| value)
}

/// An object. Of two members with the same name the last counts.
#[derive(Clone, Copy)]
struct Object;

impl<'de> DeserializeSeed<'de> for Object {
    type Value = Members;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Members, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Members {
            result: Reply::Nil,
            error: Reply::Nil,
            executed: Reply::Nil,
            eval: Reply::Nil,
            subscribe: Reply::Nil,
        };
        while let Some(member) = map.next_key_seed(Name(&mut members))? {
            match member {
                Some(member) => *member = map.next_value_seed(Value::Whole)?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(members)
    }
}

/// A name, by which it becomes the member that is called so.
struct Name<'a>(&'a mut Members);

impl<'de, 'a> DeserializeSeed<'de> for Name<'a> {
    type Value = Option<&'a mut Reply>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Name<'a> {
    type Value = Option<&'a mut Reply>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Some(match name {
            "result" => &mut self.0.result,
            "error" => &mut self.0.error,
            "executed" => &mut self.0.executed,
            "EVAL" | "EVALSHA" => &mut self.0.eval,
            "SUBSCRIBE" => &mut self.0.subscribe,
            _ => return Ok(None),
        }))
    }
}

/// A list of them.
struct Objects;

impl<'de> DeserializeSeed<'de> for Objects {
    type Value = Vec<Members>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Objects {
    type Value = Vec<Members>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        elements(seq, Object)
    }
}

/// Where a value stands.
#[derive(Clone, Copy)]
enum Value {
    Whole,
    /// As an element of an array. It is not an array itself.
    Element,
}

impl<'de> DeserializeSeed<'de> for Value {
    type Value = Reply;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Reply, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value {
    type Value = Reply;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what a bridge sends")
    }

    fn visit_unit<E>(self) -> Result<Reply, E> {
        Ok(Reply::Nil)
    }

    fn visit_bool<E: Error>(self, is_true: bool) -> Result<Reply, E> {
        match is_true {
            false => Ok(Reply::Error(String::new())),
            true => Err(E::custom("true")),
        }
    }

    fn visit_i64<E>(self, number: i64) -> Result<Reply, E> {
        Ok(Reply::Int(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Reply, E> {
        number.try_into().map(Reply::Int).map_err(E::custom)
    }

    fn visit_str<E>(self, text: &str) -> Result<Reply, E> {
        Ok(Reply::Bytes(text.as_bytes().to_vec()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Reply, A::Error> {
        match self {
            Self::Whole => elements(seq, Self::Element).map(Reply::Array),
            Self::Element => Err(A::Error::custom("an array in an array")),
        }
    }
}

fn elements<'de, A: SeqAccess<'de>, S: DeserializeSeed<'de> + Copy>(
    mut seq: A,
    seed: S,
) -> Result<Vec<S::Value>, A::Error> {
    let mut elements = Vec::new();
    while let Some(element) = seq.next_element_seed(seed)? {
        elements.push(element);
    }
    Ok(elements)
}
