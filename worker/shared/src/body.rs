//! What callers send, checked while it is read. No other file sees a value out of range.

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// The body, as `T`.
///
/// # Errors
/// 400 `bad_json` if it is not JSON, 422 `invalid_input` with the name of the wrong field.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let bad_json = |detail: String| Problem::new(400, "bad_json", detail);
    // Serde would take an array for an object without names.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(bad_json("the body is no JSON object".to_owned()));
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        // It may quote what was sent, which may be long.
        let detail: String = error.to_string().chars().take(200).collect();
        if error.is_data() {
            Problem::invalid(field(&path, &detail), detail)
        } else {
            bad_json(detail)
        }
    })?;
    json.end().map_err(|error| bad_json(error.to_string()))?;
    Ok(parsed)
}

/// Which field is wrong. The path does not have one that is missing, or there twice.
fn field(path: &str, detail: &str) -> String {
    let named = ["missing field `", "duplicate field `"];
    let named = named.iter().find_map(|begin| detail.strip_prefix(begin));
    match (path, named.and_then(|rest| rest.split('`').next())) {
        (".", Some(name)) => name.to_owned(),
        (".", None) => "body".to_owned(),
        (path, Some(name)) if path != name => format!("{path}.{name}"),
        (path, _) => path.to_owned(),
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
pub struct Whole<const MIN: u64, const MAX: u64>(pub u64);

impl<const MIN: u64, const MAX: u64> TryFrom<u64> for Whole<MIN, MAX> {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        let told = || format!("`{number}`, expected a whole number from {MIN} to {MAX}");
        (MIN..=MAX).contains(&number).then_some(Self(number)).ok_or_else(told)
    }
}

impl<const MIN: u64, const MAX: u64> Default for Whole<MIN, MAX> {
    fn default() -> Self {
        Self(MIN)
    }
}

/// A sku, an order's number, a buyer: a text that can be part of a key and of a record without
/// quotes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Cow<str>")]
pub struct Id(String);

impl Id {
    pub const RULE: &str = "1 to 64 characters of A-Z a-z 0-9 . _ -";

    pub fn parse(text: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_id = (1..=64).contains(&text.len()) && text.bytes().all(plain);
        is_id.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<Cow<'_, str>> for Id {
    type Error = String;

    fn try_from(text: Cow<'_, str>) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}`, expected {}", Self::RULE))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
