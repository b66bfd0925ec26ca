//! What customers and operators send, checked while it is read.

use std::fmt;
use std::marker::PhantomData;

use edgelock::Token;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use shared::body::{Id, Whole};

/// Opens a sale. Redis's clock decides when it ends, so no range is checked here.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    pub stock: Whole<1, 1_000_000>,
    pub limit_per_buyer: Whole<1, 1_000_000>,
    pub ends_at_ms: Whole<1, { (1 << 53) - 1 }>,
    /// Units are reserved, and then confirmed.
    #[serde(default)]
    pub two_steps: bool,
}

/// Buys. `order_id` makes it safe to send the order again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    pub order_id: Id,
    pub buyer: Id,
    pub quantity: Whole<1, 1000>,
}

/// Reserves.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub buyer: Id,
    #[serde(default)]
    pub quantity: Whole<1, 1000>,
}

/// Confirms a reservation, or gives it back.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserved {
    #[serde(deserialize_with = "token")]
    pub token: Token,
}

fn token<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Token, D::Error> {
    let text = String::deserialize(deserializer)?;
    Token::parse(&text).map_err(|_| D::Error::custom("expected the token of a reservation"))
}

/// Buys several things, all or none.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cart {
    pub order_id: Id,
    pub buyer: Id,
    /// 1 to 32, and no sale twice.
    #[serde(deserialize_with = "items")]
    pub items: Vec<Item>,
}

/// So many of one sale.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    pub sku: Id,
    #[serde(default)]
    pub quantity: Whole<1, 1000>,
}

/// As many names as one lease can have.
const MOST: usize = 32;

fn items<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Item>, D::Error> {
    let items = Vec::<Object<Item>>::deserialize(deserializer)?;
    if !(1..=MOST).contains(&items.len()) {
        let told = format!("{} items, expected a list of 1 to {MOST} items", items.len());
        return Err(D::Error::custom(told));
    }
    let items: Vec<_> = items.into_iter().map(|Object(item)| item).collect();
    for (at, Item { sku, .. }) in items.iter().enumerate() {
        if items[..at].iter().any(|other| other.sku == *sku) {
            return Err(D::Error::custom(format!("the sku {sku} is there twice")));
        }
    }
    Ok(items)
}

/// Serde would take an array for an object without names.
struct Object<T>(T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Named<T>(PhantomData<T>);

        impl<'de, T: DeserializeOwned> Visitor<'de> for Named<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<T, M::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(Named(PhantomData)).map(Object)
    }
}
