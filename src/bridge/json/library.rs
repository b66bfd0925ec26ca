//! JSON by `serde_json`, read straight into replies. It builds no tree, and follows no nesting.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::command::Reply;

pub(crate) fn array(words: &[&str]) -> String {
    let bytes = words.iter().map(|word| word.len() + 4).sum();
    let mut json = Vec::with_capacity(bytes);
    // Strings can always be written.
    let _ = serde_json::to_writer(&mut json, words);
    String::from_utf8(json).unwrap_or_default()
}

pub(in crate::bridge) fn members(text: &str, names: &[&str]) -> Option<Vec<Reply>> {
    whole(text, Object(names))
}

pub(in crate::bridge) fn members_of_each(text: &str, names: &[&str]) -> Option<Vec<Vec<Reply>>> {
    whole(text, Objects(Object(names)))
}

/// The value in `text`, if nothing follows it.
fn whole<'de, S: DeserializeSeed<'de>>(text: &'de str, seed: S) -> Option<S::Value> {
    // From bytes, as a Worker reads its requests: another reader would be more code.
    let mut reader = serde_json::Deserializer::from_slice(text.as_bytes());
    let value = seed.deserialize(&mut reader).ok()?;
    reader.end().ok().map(|()| value)
}

/// An object, of which the members with these names are read. Of two with the same name the last
/// counts.
#[derive(Clone, Copy)]
struct Object<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Vec<Reply>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Vec<Reply>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = vec![Reply::Nil; self.0.len()];
        while let Some(name) = map.next_key::<String>()? {
            let mut known = self.0.iter().zip(&mut members);
            match known.find(|(known, _)| **known == name) {
                Some((_, member)) => *member = map.next_value_seed(Value::Whole)?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(members)
    }
}

/// A list of such objects.
struct Objects<'a>(Object<'a>);

impl<'de> DeserializeSeed<'de> for Objects<'_> {
    type Value = Vec<Vec<Reply>>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Objects<'_> {
    type Value = Vec<Vec<Reply>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        elements(seq, self.0)
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
