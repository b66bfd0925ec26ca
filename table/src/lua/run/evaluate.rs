//! The values of expressions.

use super::{Done, Frame, Run, closure};
use crate::lua::syntax::{Expr, Op};
use crate::lua::value::{Fields, Outcome, Value};

impl Run<'_> {
    /// All values of a list: the last expression may have many.
    pub(super) fn values(&mut self, frame: &mut Frame, exprs: &[Expr]) -> Outcome {
        let Some((last, first)) = exprs.split_last() else {
            return Ok(Vec::new());
        };
        let mut values = Vec::with_capacity(exprs.len());
        for expr in first {
            values.push(self.value(frame, expr)?);
        }
        match last {
            Expr::Call(..) | Expr::Method(..) | Expr::More => {
                values.extend(self.many(frame, last)?);
            }
            last => values.push(self.value(frame, last)?),
        }
        Ok(values)
    }

    /// The values of a call, or of `...`.
    pub(super) fn many(&mut self, frame: &mut Frame, expr: &Expr) -> Outcome {
        match expr {
            Expr::More => Ok(frame.more.clone()),
            Expr::Call(function, args) => {
                let function = self.value(frame, function)?;
                let args = self.values(frame, args)?;
                self.call(&function, args)
            }
            Expr::Method(of, name, args) => {
                let of = self.value(frame, of)?;
                let method = self.get(&of, &Value::Text(name.clone()))?;
                let mut all = vec![of];
                all.extend(self.values(frame, args)?);
                self.call(&method, all)
            }
            other => Ok(vec![self.value(frame, other)?]),
        }
    }

    pub(super) fn value(&mut self, frame: &mut Frame, expr: &Expr) -> Done<Value> {
        Ok(match expr {
            Expr::Nil => Value::Nil,
            Expr::Bool(is) => Value::Bool(*is),
            Expr::Number(number) => Value::Number(*number),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::More => frame.more.first().cloned().unwrap_or(Value::Nil),
            Expr::Variable(place) => frame.variable(*place).borrow().clone(),
            Expr::Global(name) => {
                let found = self.globals.borrow().get(&Value::Text(name.clone()));
                if matches!(found, Value::Nil) {
                    let name = String::from_utf8_lossy(name);
                    let text =
                        format!("Script attempted to access nonexistent global variable '{name}'");
                    return Err(self.error(text));
                }
                found
            }
            Expr::Index(both) => {
                let table = self.value(frame, &both.0)?;
                let key = self.value(frame, &both.1)?;
                self.get(&table, &key)?
            }
            Expr::Call(..) | Expr::Method(..) => {
                let values = self.many(frame, expr)?;
                values.into_iter().next().unwrap_or(Value::Nil)
            }
            Expr::One(inner) => self.value(frame, inner)?,
            Expr::Function(body) => closure(frame, body),
            Expr::Table(fields) => self.table(frame, fields)?,
            Expr::And(both) => match self.value(frame, &both.0)? {
                left if left.is_true() => self.value(frame, &both.1)?,
                left => left,
            },
            Expr::Or(both) => match self.value(frame, &both.0)? {
                left if left.is_true() => left,
                _ => self.value(frame, &both.1)?,
            },
            Expr::Not(of) => Value::Bool(!self.value(frame, of)?.is_true()),
            Expr::Minus(of) => {
                let of = self.value(frame, of)?;
                Value::Number(-self.operand(&of)?)
            }
            Expr::Length(of) => match self.value(frame, of)? {
                Value::Text(text) => Value::Number(text.len() as f64),
                Value::Table(fields) => Value::Number(fields.borrow().list.len() as f64),
                other => {
                    return Err(
                        self.error(format!("attempt to get length of a {} value", other.kind()))
                    );
                }
            },
            Expr::Binary(op, both) => {
                let left = self.value(frame, &both.0)?;
                let right = self.value(frame, &both.1)?;
                self.binary(*op, &left, &right)?
            }
        })
    }

    fn table(&mut self, frame: &mut Frame, fields: &[(Option<Expr>, Expr)]) -> Done<Value> {
        let (mut list, mut named) = (Vec::new(), Vec::new());
        for (at, (key, value)) in fields.iter().enumerate() {
            match key {
                Some(key) => named.push((self.value(frame, key)?, self.value(frame, value)?)),
                None if at + 1 == fields.len() => {
                    list.extend(self.values(frame, std::slice::from_ref(value))?);
                }
                None => list.push(self.value(frame, value)?),
            }
        }
        let mut table = Fields::of_list(list);
        for (key, value) in named {
            table.set(&key, value).map_err(|why| self.error(why))?;
        }
        Ok(Value::table(table))
    }

    fn get(&self, of: &Value, key: &Value) -> Done<Value> {
        match of {
            Value::Table(fields) => Ok(fields.borrow().get(key)),
            Value::Text(_) => match self.globals.borrow().named("string") {
                Value::Table(library) => Ok(library.borrow().get(key)),
                _ => Ok(Value::Nil),
            },
            other => Err(self.error(format!("attempt to index a {} value", other.kind()))),
        }
    }

    pub(super) fn set(&self, of: &Value, key: &Value, value: Value) -> Done<()> {
        let Value::Table(fields) = of else {
            return Err(self.error(format!("attempt to index a {} value", of.kind())));
        };
        if fields.borrow().is_readonly {
            return Err(self.error("Attempt to modify a readonly table"));
        }
        let set = fields.borrow_mut().set(key, value);
        set.map_err(|why| self.error(why))
    }

    fn operand(&self, value: &Value) -> Done<f64> {
        let number = value.number();
        number.ok_or_else(|| {
            self.error(format!("attempt to perform arithmetic on a {} value", value.kind()))
        })
    }

    fn binary(&self, op: Op, left: &Value, right: &Value) -> Done<Value> {
        match op {
            Op::Equal => return Ok(Value::Bool(left.equals(right))),
            Op::Unequal => return Ok(Value::Bool(!left.equals(right))),
            Op::Less => return self.is_less(left, right).map(Value::Bool),
            Op::Greater => return self.is_less(right, left).map(Value::Bool),
            Op::LessEqual => return self.is_at_most(left, right).map(Value::Bool),
            Op::GreaterEqual => return self.is_at_most(right, left).map(Value::Bool),
            Op::Concat => return self.concat(left, right),
            _ => {}
        }
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        Ok(Value::Number(match op {
            Op::Add => left + right,
            Op::Sub => left - right,
            Op::Mul => left * right,
            Op::Div => left / right,
            Op::Mod => left - (left / right).floor() * right,
            // The code for others would be a large part of the wasm.
            _ if right.fract() != 0.0 || right.abs() > 1e6 => {
                return Err(self.error("a power is a whole number here"));
            }
            _ => left.powi(right as i32),
        }))
    }

    fn concat(&self, left: &Value, right: &Value) -> Done<Value> {
        let bytes = |value: &Value| {
            let bytes = value.bytes();
            bytes.ok_or_else(|| {
                self.error(format!("attempt to concatenate a {} value", value.kind()))
            })
        };
        Ok(Value::text([bytes(left)?, bytes(right)?].concat()))
    }

    pub(crate) fn is_less(&self, left: &Value, right: &Value) -> Done<bool> {
        match (left, right) {
            (Value::Number(left), Value::Number(right)) => Ok(left < right),
            (Value::Text(left), Value::Text(right)) => Ok(left < right),
            _ => Err(self.incomparable(left, right)),
        }
    }

    fn is_at_most(&self, left: &Value, right: &Value) -> Done<bool> {
        match (left, right) {
            (Value::Number(left), Value::Number(right)) => Ok(left <= right),
            (Value::Text(left), Value::Text(right)) => Ok(left <= right),
            _ => Err(self.incomparable(left, right)),
        }
    }

    fn incomparable(&self, left: &Value, right: &Value) -> Value {
        self.error(format!("attempt to compare {} with {}", left.kind(), right.kind()))
    }
}
