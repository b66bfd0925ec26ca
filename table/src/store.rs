//! The keys, each with its value and when it ends.

use std::collections::VecDeque;
use std::hash::Hasher;

use crate::map::Map;

/// What a key holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string.
    Text(Vec<u8>),
    /// A hash: fields in the order in which they came.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    /// A list.
    List(VecDeque<Vec<u8>>),
    /// A set, in the order of its members' bytes.
    Set(Vec<Vec<u8>>),
    /// A sorted set: members by score, and by their bytes if that is the same.
    Sorted(Vec<(f64, Vec<u8>)>),
}

impl std::hash::Hash for Value {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        match self {
            Self::Text(text) => text.hash(hasher),
            Self::Hash(fields) => fields.hash(hasher),
            Self::List(list) => list.hash(hasher),
            Self::Set(members) => members.hash(hasher),
            Self::Sorted(members) => {
                (members.iter()).for_each(|(score, member)| (score.to_bits(), member).hash(hasher))
            }
        }
    }
}

#[derive(Clone)]
struct Entry {
    value: Value,
    /// In milliseconds of the table's clock.
    expires: Option<i64>,
}

impl Entry {
    /// A key lives through the millisecond in which it expires.
    fn is_over(&self, now_ms: i64) -> bool {
        self.expires.is_some_and(|expires| now_ms > expires)
    }
}

/// So many keys are no crowd.
const FEW: usize = 128;

/// All keys, by a clock that somebody else turns.
#[derive(Clone, Default)]
pub(crate) struct Store {
    keys: Map<Vec<u8>, Entry>,
    /// With so many keys it looks which of them have ended.
    crowd: usize,
    pub(crate) now_us: i64,
}

pub(crate) const WRONG_TYPE: &str =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

/// A type of values.
pub(crate) trait Kind: Default + Into<Value> {
    fn of(value: &mut Value) -> Option<&mut Self>;
}

macro_rules! kinds {
    ($($kind:ty: $variant:ident;)+) => { $(
        impl From<$kind> for Value {
            fn from(own: $kind) -> Self {
                Self::$variant(own)
            }
        }
        impl Kind for $kind {
            fn of(value: &mut Value) -> Option<&mut Self> {
                match value {
                    Value::$variant(own) => Some(own),
                    _ => None,
                }
            }
        }
    )+ };
}

pub(crate) type Text = Vec<u8>;
pub(crate) type Hash = Vec<(Vec<u8>, Vec<u8>)>;
pub(crate) type List = VecDeque<Vec<u8>>;
pub(crate) type Set = Vec<Vec<u8>>;
pub(crate) type Sorted = Vec<(f64, Vec<u8>)>;

kinds! {
    Text: Text;
    Hash: Hash;
    List: List;
    Set: Set;
    Sorted: Sorted;
}

impl Store {
    pub(crate) const fn now_ms(&self) -> i64 {
        self.now_us / 1_000
    }

    fn entry(&mut self, key: &[u8]) -> Option<&mut Entry> {
        let now = self.now_ms();
        if self.keys.get(key).is_some_and(|entry| entry.is_over(now)) {
            self.keys.remove(key);
        }
        self.keys.get_mut(key)
    }

    /// The value of any type.
    pub(crate) fn any(&mut self, key: &[u8]) -> Option<&Value> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value, if it has this type.
    pub(crate) fn look<K: Kind>(&mut self, key: &[u8]) -> Result<Option<&mut K>, String> {
        match self.entry(key) {
            None => Ok(None),
            Some(entry) => K::of(&mut entry.value).map(Some).ok_or_else(|| WRONG_TYPE.into()),
        }
    }

    /// The value of this type, which a key that is not there has empty.
    pub(crate) fn open<K: Kind>(&mut self, key: &[u8]) -> Result<&mut K, String> {
        if self.entry(key).is_none() {
            self.put(key, K::default(), None);
        }
        self.look(key)?.ok_or_else(|| WRONG_TYPE.into())
    }

    /// A collection that a command has left empty goes. An empty string is one nevertheless.
    pub(crate) fn tidy(&mut self, key: &[u8]) {
        let is_empty = self.any(key).is_some_and(|value| match value {
            Value::Text(_) => false,
            Value::Hash(fields) => fields.is_empty(),
            Value::List(list) => list.is_empty(),
            Value::Set(members) => members.is_empty(),
            Value::Sorted(members) => members.is_empty(),
        });
        if is_empty {
            self.keys.remove(key);
        }
    }

    pub(crate) fn put(&mut self, key: &[u8], value: impl Into<Value>, expires: Option<i64>) {
        let value = value.into();
        self.keys.insert(key.to_owned(), Entry { value, expires });
        if self.keys.len() > self.crowd {
            self.sweep();
        }
    }

    /// Drops the keys that have ended, of which nobody asks for some again. It looks again once
    /// there are twice as many as it leaves, so each key costs about two looks.
    fn sweep(&mut self) {
        let now = self.now_ms();
        self.keys.retain(|entry| !entry.is_over(now));
        self.crowd = 2 * self.keys.len().max(FEW);
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<(Value, Option<i64>)> {
        self.entry(key)?;
        self.keys.remove(key).map(|entry| (entry.value, entry.expires))
    }

    /// When the key ends, if it is there, and if it ends.
    pub(crate) fn expires(&mut self, key: &[u8]) -> Option<&mut Option<i64>> {
        self.entry(key).map(|entry| &mut entry.expires)
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
    }

    pub(crate) fn value(&self, key: &[u8]) -> Option<&Value> {
        let (entry, now) = (self.keys.get(key), self.now_ms());
        let entry = entry.filter(|entry| !entry.is_over(now));
        entry.map(|entry| &entry.value)
    }

    /// The keys that are not over at this time, with when each ends in milliseconds.
    pub(crate) fn all(&self, now_ms: i64) -> impl Iterator<Item = (&[u8], &Value, Option<i64>)> {
        (self.keys.iter())
            .filter(move |(_, entry)| !entry.is_over(now_ms))
            .map(|(key, entry)| (key.as_slice(), &entry.value, entry.expires))
    }
}
