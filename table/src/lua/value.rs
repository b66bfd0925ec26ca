//! What a variable of a script holds.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::library::Matches;
use super::run::{Closure, Run};
use crate::map::Map;

pub(crate) type Text = Arc<[u8]>;

/// What a call returns, or the value that it raises.
pub(crate) type Outcome = Result<Vec<Value>, Value>;

pub(crate) type Builtin = for<'a, 'b> fn(&'a mut Run<'b>, &[Value]) -> Outcome;

#[derive(Clone)]
pub(crate) enum Value {
    Nil,
    Bool(bool),
    Number(f64),
    Text(Text),
    Table(Rc<RefCell<Fields>>),
    Function(Rc<Closure>),
    Builtin(Builtin),
    /// The iterator of `string.gmatch`.
    Matches(Rc<RefCell<Matches>>),
}

impl Value {
    pub(crate) fn text(text: impl AsRef<[u8]>) -> Self {
        Self::Text(text.as_ref().into())
    }

    pub(crate) fn table(fields: Fields) -> Self {
        Self::Table(Rc::new(RefCell::new(fields)))
    }

    pub(crate) const fn is_true(&self) -> bool {
        !matches!(self, Self::Nil | Self::Bool(false))
    }

    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::Table(_) => "table",
            Self::Function(_) | Self::Builtin(_) | Self::Matches(_) => "function",
        }
    }

    /// A number, or a text that is one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => parse_number(text),
            _ => None,
        }
    }

    /// A text, or a number as one.
    pub(crate) fn bytes(&self) -> Option<Text> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Number(number) => Some(general(*number, 14).into_bytes().into()),
            _ => None,
        }
    }

    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Number(one), Self::Number(other)) => one == other,
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Table(one), Self::Table(other)) => Rc::ptr_eq(one, other),
            (Self::Function(one), Self::Function(other)) => Rc::ptr_eq(one, other),
            (Self::Builtin(one), Self::Builtin(other)) => std::ptr::fn_addr_eq(*one, *other),
            _ => false,
        }
    }
}

/// Ordered, so that a script does the same each time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Bool(bool),
    /// Its bits.
    Number(u64),
    Text(Text),
}

impl Key {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(is) => Some(Self::Bool(*is)),
            // Both zeros are one key.
            Value::Number(number) => Some(Self::Number((number + 0.0).to_bits())),
            Value::Text(text) => Some(Self::Text(text.clone())),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Bool(is) => Value::Bool(*is),
            Self::Number(bits) => Value::Number(f64::from_bits(*bits)),
            Self::Text(text) => Value::Text(text.clone()),
        }
    }
}

/// The fields of a table.
#[derive(Default)]
pub(crate) struct Fields {
    /// Those with the keys from 1 on. The last one is not nil.
    pub(crate) list: Vec<Value>,
    others: Map<Key, Value>,
    /// A library's or the globals': a script must not change them.
    pub(crate) is_readonly: bool,
}

impl Fields {
    pub(crate) fn of_list(list: Vec<Value>) -> Self {
        let mut fields = Self { list, ..Self::default() };
        fields.trim();
        fields
    }

    pub(crate) fn get(&self, key: &Value) -> Value {
        if let Some(value) = place(key).and_then(|at| self.list.get(at)) {
            return value.clone();
        }
        let found = Key::of(key).and_then(|key| self.others.get(&key));
        found.cloned().unwrap_or(Value::Nil)
    }

    pub(crate) fn named(&self, name: &str) -> Value {
        self.get(&Value::text(name))
    }

    /// # Errors
    /// Why there is no such key.
    pub(crate) fn set(&mut self, key: &Value, value: Value) -> Result<(), &'static str> {
        match place(key) {
            Some(at) if at < self.list.len() => {
                self.list[at] = value;
                self.trim();
                return Ok(());
            }
            Some(at) if at == self.list.len() && value.is_there() => {
                self.list.push(value);
                self.join();
                return Ok(());
            }
            _ => {}
        }
        match Key::of(key) {
            None if matches!(key, Value::Nil) => return Err("table index is nil"),
            None => return Err("a table's key is a string, a number or a boolean here"),
            Some(Key::Number(bits)) if f64::from_bits(bits).is_nan() => {
                return Err("table index is NaN");
            }
            Some(key) if value.is_there() => self.others.insert(key, value),
            Some(key) => drop(self.others.remove(&key)),
        }
        Ok(())
    }

    pub(crate) fn put(&mut self, name: &str, value: Value) {
        self.others.insert(Key::Text(name.as_bytes().into()), value);
    }

    /// The field behind this one, or the first one.
    pub(crate) fn next(&self, key: &Value) -> Option<(Value, Value)> {
        let from = match key {
            Value::Nil => Some(0),
            key => place(key).filter(|at| *at < self.list.len()).map(|at| at + 1),
        };
        if let Some(from) = from {
            let mut behind = (from..).zip(self.list.iter().skip(from));
            if let Some((at, value)) = behind.find(|(_, value)| value.is_there()) {
                return Some((Value::Number((at + 1) as f64), value.clone()));
            }
        }
        let found = match from {
            Some(_) => self.others.iter().next(),
            None => Key::of(key).and_then(|key| self.others.after(&key)),
        };
        found.map(|(key, value)| (key.value(), value.clone()))
    }

    /// Takes in what stands behind the list.
    fn join(&mut self) {
        if self.others.is_empty() {
            return;
        }
        let next = |list: &Vec<Value>| Key::Number(((list.len() + 1) as f64).to_bits());
        while let Some(value) = self.others.remove(&next(&self.list)) {
            self.list.push(value);
        }
    }

    fn trim(&mut self) {
        while self.list.last().is_some_and(|last| !last.is_there()) {
            self.list.pop();
        }
    }
}

impl Value {
    const fn is_there(&self) -> bool {
        !matches!(self, Self::Nil)
    }
}

fn place(key: &Value) -> Option<usize> {
    match key {
        Value::Number(number) if *number >= 1.0 && *number <= 1e9 && number.fract() == 0.0 => {
            Some(*number as usize - 1)
        }
        _ => None,
    }
}

fn parse_number(text: &[u8]) -> Option<f64> {
    let text = text.trim_ascii();
    match text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")) {
        Some(digits) => {
            let digits = std::str::from_utf8(digits).ok()?;
            u64::from_str_radix(digits, 16).ok().map(|n| n as f64)
        }
        None => crate::float::parse(text),
    }
}

/// As C's `%g` writes it.
pub(crate) fn general(number: f64, digits: usize) -> String {
    if !number.is_finite() {
        return format!("{number}").to_ascii_lowercase();
    }
    let digits = digits.max(1);
    let text = format!("{:.*e}", digits - 1, number);
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let short = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if power < -4 || power >= digits as i32 {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", short(mantissa), power.abs());
    }
    let behind = (digits as i32 - 1 - power).max(0) as usize;
    short(&format!("{number:.behind$}"))
}
