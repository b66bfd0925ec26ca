//! The items of a cart.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Id, Whole};

/// As many names as one lease can have.
const MOST: usize = 32;

/// So many of one sale.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    pub(crate) sku: Id,
    #[serde(default)]
    pub(crate) quantity: Whole<1, 1000>,
}

/// 1 to 32 items, and no sale twice.
#[derive(Clone, Debug)]
pub(crate) struct Items(Vec<Item>);

impl Items {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Item> {
        self.0.iter()
    }
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Items;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of 1 to {MOST} items")
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Items, S::Error> {
                let mut items: Vec<Item> = Vec::new();
                while let Some(Object(item)) = list.next_element::<Object<Item>>()? {
                    if items.len() == MOST {
                        return Err(S::Error::invalid_length(MOST + 1, &self));
                    }
                    if items.iter().any(|other| other.sku == item.sku) {
                        let sku = item.sku;
                        return Err(S::Error::custom(format!("the sku {sku} is there twice")));
                    }
                    items.push(item);
                }
                if items.is_empty() {
                    return Err(S::Error::invalid_length(0, &self));
                }
                Ok(Items(items))
            }
        }

        deserializer.deserialize_seq(List)
    }
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

#[cfg(test)]
mod tests {
    use super::super::{Cart, parse};
    use crate::http::Response;

    fn refused(items: &str) -> Response {
        let body = format!(r#"{{"order_id":"o","buyer":"b","items":{items}}}"#);
        parse::<Cart>(body.as_bytes()).err().unwrap().into()
    }

    #[test]
    fn what_is_wrong_with_an_item_is_named() {
        for (items, field, named) in [
            ("[]", "items", "expected a list of 1 to 32 items"),
            ("{}", "items", "expected a list of 1 to 32 items"),
            (
                r#"[{"sku":"x"},{"sku":"x"}]"#,
                "items",
                "the sku x is there twice",
            ),
            (r#"[{"sku":"x"},["y",1]]"#, "items[1]", "expected an object"),
            (r#"[{"quantity":1}]"#, "items[0].sku", "missing field `sku`"),
            (
                r#"[{"sku":"x","quantity":0}]"#,
                "items[0].quantity",
                "expected a whole number from 1 to 1000",
            ),
        ] {
            let response = refused(items);
            let field = format!(r#""field":"{field}""#);
            assert!(response.body.contains(&field), "{response:?}");
            assert!(response.body.contains(named), "{response:?}");
        }
    }

    #[test]
    fn an_item_is_one_unit_unless_said_otherwise() {
        let body = br#"{"order_id":"o","buyer":"b","items":[{"sku":"x"}]}"#;
        let cart: Cart = parse(body).ok().unwrap();
        let quantities: Vec<_> = cart.items.iter().map(|item| item.quantity.get()).collect();
        assert_eq!(quantities, [1]);
    }
}
