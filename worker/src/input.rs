//! What callers send, checked while it is read. No other file sees a value out of range.

use std::fmt;

use edgelock::Token;
use serde::de::{DeserializeOwned, Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::problem::Problem;

mod items;

pub(crate) use items::Items;

/// Opens a sale. Redis's clock decides when it ends, so no range is checked here.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Terms {
    pub(crate) stock: Whole<1, 1_000_000>,
    pub(crate) limit_per_buyer: Whole<1, 1_000_000>,
    pub(crate) ends_at_ms: Whole<1, { (1 << 53) - 1 }>,
}

/// Buys. `order_id` makes it safe to send the order again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    pub(crate) order_id: Id,
    pub(crate) buyer: Id,
    pub(crate) quantity: Whole<1, 1000>,
}

/// Buys several things, all or none.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cart {
    pub(crate) order_id: Id,
    pub(crate) buyer: Id,
    pub(crate) items: Items,
}

/// Takes part in a lottery. Sending it again changes nothing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) entrant: Id,
}

/// Takes a lock: for how long, and how long to wait for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Acquire {
    #[serde(default = "default_ttl")]
    pub(crate) ttl_ms: Ttl,
    #[serde(default)]
    pub(crate) wait_ms: Whole<0, 30_000>,
}

/// Renews a lock, for this ttl, or for the one with which it was taken.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Renew {
    #[serde(deserialize_with = "token")]
    pub(crate) token: Token,
    pub(crate) ttl_ms: Option<Ttl>,
}

/// Releases a lock.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Release {
    #[serde(deserialize_with = "token")]
    pub(crate) token: Token,
}

/// From the shortest ttl of a lock to 24 h, the longest that this service grants.
pub(crate) type Ttl = Whole<4, 86_400_000>;

fn default_ttl() -> Ttl {
    Whole(10_000)
}

/// The body, as `T`.
///
/// # Errors
/// 400 `bad_json` if it is not JSON, 422 `invalid_input` with the name of the wrong field.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // Serde would take an array for an object without names.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(bad_json(
            "the body is no JSON object, as in {\"order_id\":\"o1\",\"buyer\":\"b1\"}".to_owned(),
        ));
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        // It may quote what was sent, which may be long.
        let detail: String = error.to_string().chars().take(200).collect();
        match error.classify() {
            serde_json::error::Category::Data => Problem::invalid(field(&path, &detail), detail),
            _ => bad_json(detail),
        }
    })?;
    json.end().map_err(|error| bad_json(error.to_string()))?;
    Ok(parsed)
}

/// Which field is wrong. The path does not have one that is missing, or there twice.
fn field(path: &str, detail: &str) -> String {
    let named = ["missing field `", "duplicate field `"];
    let named = named.iter().find_map(|begin| detail.strip_prefix(begin));
    let named = named.and_then(|rest| rest.split('`').next());
    match (path, named) {
        (".", Some(name)) => name.to_owned(),
        (".", None) => "body".to_owned(),
        (path, Some(name)) if path != name => format!("{path}.{name}"),
        (path, _) => path.to_owned(),
    }
}

/// As [`parse`], for a body that may be left out.
pub(crate) fn parse_optional<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    parse(if body.is_empty() { b"{}" } else { body })
}

fn bad_json(detail: String) -> Problem {
    Problem::new(400, "bad_json", detail)
}

/// A sku, an order's number, a buyer: a text that can be part of a key and of a record without
/// quotes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Id(String);

impl Id {
    pub(crate) const RULE: &str = "1 to 64 characters of A-Z a-z 0-9 . _ -";

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        (1..=64)
            .contains(&text.len())
            .then_some(text)
            .filter(|text| text.bytes().all(plain))
            .map(|text| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Id::RULE)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Id, E> {
                Id::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    pub(crate) const fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64> Default for Whole<MIN, MAX> {
    fn default() -> Self {
        Self(MIN)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number<const MIN: u64, const MAX: u64>;

        impl<const MIN: u64, const MAX: u64> Visitor<'_> for Number<MIN, MAX> {
            type Value = Whole<MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {MIN} to {MAX}")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                if (MIN..=MAX).contains(&number) {
                    return Ok(Whole(number));
                }
                Err(E::invalid_value(Unexpected::Unsigned(number), &self))
            }
        }

        deserializer.deserialize_u64(Number)
    }
}

/// Tokens are secrets, so a wrong one is not quoted.
fn token<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Token, D::Error> {
    struct Text;

    impl Visitor<'_> for Text {
        type Value = Token;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the token that acquire gave")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Token, E> {
            Token::parse(text).map_err(E::custom)
        }
    }

    deserializer.deserialize_str(Text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Response;

    fn refused<T: DeserializeOwned>(body: &str) -> Response {
        parse::<T>(body.as_bytes()).err().unwrap().into()
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (body, named) in [
            (
                r#"{"order_id":"o","buyer":"b","quantity":1.5}"#,
                "floating point `1.5`, expected a whole number from 1 to 1000",
            ),
            (
                r#"{"order_id":"o","buyer":"b","quantity":-1}"#,
                "integer `-1`, expected a whole number from 1 to 1000",
            ),
            (
                r#"{"order_id":"o","buyer":"a b","quantity":1}"#,
                r#"expected 1 to 64 characters of A-Z a-z 0-9 . _ -"#,
            ),
            (
                r#"{"order_id":"o","buyer":"b"}"#,
                "missing field `quantity`",
            ),
            (r#"{"order_id":"o","price":1}"#, "unknown field `price`"),
            (r#"["o","b",1]"#, "the body is no JSON object"),
        ] {
            let response = refused::<Order>(body);
            assert!(response.body.contains(named), "{response:?}");
        }
    }

    #[test]
    fn what_is_quoted_is_cut_short() {
        let long = "x".repeat(10_000);
        let response = refused::<Order>(&format!(r#"{{"order_id":"{long}"}}"#));
        assert!(response.body.len() < 500, "{response:?}");
    }

    #[test]
    fn what_was_to_be_a_token_is_not_quoted() {
        let response = refused::<Release>(r#"{"token":"SECRET"}"#);
        assert!(!response.body.contains("SECRET"), "{response:?}");
    }

    #[test]
    fn a_lock_is_taken_for_10_s_without_waiting_unless_said_otherwise() {
        let acquire: Acquire = parse_optional(b"").ok().unwrap();
        assert_eq!((acquire.ttl_ms.get(), acquire.wait_ms.get()), (10_000, 0));
    }
}
