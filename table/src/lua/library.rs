//! What a script finds in its globals, besides `string`.

use std::cell::RefCell;
use std::rc::Rc;

use super::run::Run;
use super::value::{Builtin, Fields, Outcome, Text, Value};
use super::{commands, pattern, strings, tables};

pub(super) fn globals() -> Fields {
    let mut globals = of(&[
        ("assert", assert),
        ("error", error),
        ("ipairs", ipairs),
        ("next", next),
        ("pairs", |run, args| Ok(vec![Value::Builtin(next), run.table(args, 0)?, Value::Nil])),
        ("pcall", pcall),
        ("select", select),
        ("tonumber", tonumber),
        ("tostring", |run, args| Ok(vec![Value::Text(run.shown(&any(args, 0)))])),
        ("type", |_, args| Ok(vec![Value::text(any(args, 0).kind())])),
        ("unpack", tables::unpack),
    ]);
    let mut math = of(&[
        ("abs", |run, args| one(run.number(args, 0)?.abs())),
        ("ceil", |run, args| one(run.number(args, 0)?.ceil())),
        ("floor", |run, args| one(run.number(args, 0)?.floor())),
        ("fmod", |run, args| one(run.number(args, 0)? % run.number(args, 1)?)),
        ("max", |run, args| one(run.least(args, f64::max)?)),
        ("min", |run, args| one(run.least(args, f64::min)?)),
        ("sqrt", |run, args| one(run.number(args, 0)?.sqrt())),
    ]);
    math.put("huge", Value::Number(f64::INFINITY));
    for (name, mut library) in [
        ("math", math),
        ("table", tables::library()),
        ("redis", commands::library()),
        ("string", strings::library()),
    ] {
        library.is_readonly = true;
        globals.put(name, Value::table(library));
    }
    globals.is_readonly = true;
    globals
}

pub(super) fn of(all: &[(&str, Builtin)]) -> Fields {
    let mut fields = Fields::default();
    for (name, builtin) in all {
        fields.put(name, Value::Builtin(*builtin));
    }
    fields
}

fn any(args: &[Value], at: usize) -> Value {
    args.get(at).cloned().unwrap_or(Value::Nil)
}

fn one(number: f64) -> Outcome {
    Ok(vec![Value::Number(number)])
}

/// The arguments of a library's function.
pub(super) trait Args {
    fn text(&self, args: &[Value], at: usize) -> Result<Text, Value>;
    fn number(&self, args: &[Value], at: usize) -> Result<f64, Value>;
    fn number_or(&self, args: &[Value], at: usize, otherwise: f64) -> Result<f64, Value>;
    fn table(&self, args: &[Value], at: usize) -> Result<Value, Value>;
    fn fields(&self, args: &[Value], at: usize) -> Result<Rc<RefCell<Fields>>, Value>;
    fn least(&self, args: &[Value], of: fn(f64, f64) -> f64) -> Result<f64, Value>;
    fn shown(&self, value: &Value) -> Text;
}

impl Args for Run<'_> {
    fn text(&self, args: &[Value], at: usize) -> Result<Text, Value> {
        let text = any(args, at).bytes();
        text.ok_or_else(|| self.bad(args, at, "string"))
    }

    fn number(&self, args: &[Value], at: usize) -> Result<f64, Value> {
        let number = any(args, at).number();
        number.ok_or_else(|| self.bad(args, at, "number"))
    }

    fn number_or(&self, args: &[Value], at: usize, otherwise: f64) -> Result<f64, Value> {
        match args.get(at) {
            None | Some(Value::Nil) => Ok(otherwise),
            Some(_) => self.number(args, at),
        }
    }

    fn table(&self, args: &[Value], at: usize) -> Result<Value, Value> {
        self.fields(args, at).map(Value::Table)
    }

    fn fields(&self, args: &[Value], at: usize) -> Result<Rc<RefCell<Fields>>, Value> {
        match args.get(at) {
            Some(Value::Table(fields)) => Ok(fields.clone()),
            _ => Err(self.bad(args, at, "table")),
        }
    }

    /// The least, or the greatest, of all.
    fn least(&self, args: &[Value], of: fn(f64, f64) -> f64) -> Result<f64, Value> {
        let first = self.number(args, 0)?;
        (1..args.len()).try_fold(first, |best, at| Ok(of(best, self.number(args, at)?)))
    }

    fn shown(&self, value: &Value) -> Text {
        match value {
            Value::Nil => b"nil"[..].into(),
            Value::Bool(is) => is.to_string().into_bytes().into(),
            other => other.bytes().unwrap_or_else(|| other.kind().as_bytes().into()),
        }
    }
}

impl Run<'_> {
    fn bad(&self, args: &[Value], at: usize, wanted: &str) -> Value {
        let given = args.get(at).map_or("no value", Value::kind);
        self.error(format!("bad argument #{} ({wanted} expected, got {given})", at + 1))
    }
}

/// What `string.gmatch` has yet to find.
pub(crate) struct Matches {
    pub(super) text: Text,
    pub(super) pattern: Text,
    pub(super) from: usize,
}

pub(super) fn next_match(run: &mut Run<'_>, matches: &RefCell<Matches>) -> Outcome {
    run.tick()?;
    let mut matches = matches.borrow_mut();
    if matches.from > matches.text.len() {
        return Ok(vec![Value::Nil]);
    }
    let found = pattern::find(&matches.text, &matches.pattern, matches.from);
    let Some(found) = found.map_err(|why| run.error(why))? else {
        matches.from = usize::MAX;
        return Ok(vec![Value::Nil]);
    };
    matches.from = found.end + usize::from(found.start == found.end);
    Ok(strings::parts(&matches.text, &found))
}

fn assert(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    match args.first() {
        Some(value) if value.is_true() => Ok(args.to_vec()),
        _ => Err(args.get(1).cloned().unwrap_or_else(|| run.error("assertion failed!"))),
    }
}

fn error(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let level = run.number_or(args, 1, 1.0)?;
    match any(args, 0) {
        Value::Text(text) if level > 0.0 => Err(run.error(String::from_utf8_lossy(&text))),
        other => Err(other),
    }
}

fn ipairs(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let step: Builtin = |run, args| {
        let at = run.number(args, 1)? + 1.0;
        let value = run.fields(args, 0)?.borrow().get(&Value::Number(at));
        Ok(match value {
            Value::Nil => vec![Value::Nil],
            value => vec![Value::Number(at), value],
        })
    };
    Ok(vec![Value::Builtin(step), run.table(args, 0)?, Value::Number(0.0)])
}

fn next(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let next = run.fields(args, 0)?.borrow().next(&any(args, 1));
    Ok(next.map_or_else(|| vec![Value::Nil], |(key, value)| vec![key, value]))
}

fn pcall(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let args_of_it = args.get(1..).unwrap_or_default().to_vec();
    Ok(match run.try_call(&any(args, 0), args_of_it) {
        Ok(values) => [vec![Value::Bool(true)], values].concat(),
        Err(raised) => vec![Value::Bool(false), raised],
    })
}

fn select(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    if args.first().and_then(Value::bytes).as_deref() == Some(b"#") {
        return one((args.len() - 1) as f64);
    }
    let at = run.number(args, 0)?;
    let at = if at < 0.0 { args.len() as f64 + at } else { at };
    if at < 1.0 {
        return Err(run.error("bad argument #1 (index out of range)"));
    }
    Ok(args.get(at as usize..).unwrap_or_default().to_vec())
}

fn tonumber(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    if args.len() < 2 {
        let number = any(args, 0).number();
        return Ok(vec![number.map_or(Value::Nil, Value::Number)]);
    }
    let (text, base) = (run.text(args, 0)?, run.number(args, 1)? as u32);
    if !(2..=36).contains(&base) {
        return Err(run.error("bad argument #2 (base out of range)"));
    }
    let text = String::from_utf8_lossy(&text).trim_ascii().to_owned();
    let number = i64::from_str_radix(&text, base).ok();
    Ok(vec![number.map_or(Value::Nil, |number| Value::Number(number as f64))])
}
