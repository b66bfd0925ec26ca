//! The library `redis`, and replies as a script has them.

use super::library::{Args, of};
use super::run::Run;
use super::value::{Fields, Outcome, Text, Value};
use crate::reply::Reply;

pub(super) fn library() -> Fields {
    of(&[
        ("call", |run, args| match command(run, args)? {
            reply if is_error(&reply) => Err(reply),
            reply => Ok(vec![reply]),
        }),
        ("pcall", |run, args| Ok(vec![command(run, args)?])),
        ("error_reply", |run, args| tagged(run, args, "err")),
        ("status_reply", |run, args| tagged(run, args, "ok")),
        ("sha1hex", |run, args| Ok(vec![Value::text(crate::digest(&run.text(args, 0)?))])),
        ("log", |_, _| Ok(Vec::new())),
    ])
}

fn tag(name: &str, text: impl AsRef<[u8]>) -> Value {
    let mut fields = Fields::default();
    fields.put(name, Value::text(text));
    Value::table(fields)
}

fn tagged(run: &mut Run<'_>, args: &[Value], name: &str) -> Outcome {
    Ok(vec![tag(name, run.text(args, 0)?)])
}

fn is_error(reply: &Value) -> bool {
    matches!(reply, Value::Table(fields) if matches!(fields.borrow().named("err"), Value::Text(_)))
}

fn command(run: &mut Run<'_>, args: &[Value]) -> Result<Value, Value> {
    run.tick()?;
    let words: Option<Vec<Text>> = args.iter().map(word).collect();
    Ok(match words {
        Some(words) if !words.is_empty() => value(run.host.command(&words)),
        Some(_) => {
            tag("err", "ERR Please specify at least one argument for this redis.call() call")
        }
        None => tag("err", "ERR Lua redis lib command arguments must be strings or integers"),
    })
}

/// A number keeps all its digits, which Lua's own text of it does not.
fn word(value: &Value) -> Option<Text> {
    match value {
        Value::Number(number) => Some(number.to_string().into_bytes().into()),
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

fn value(reply: Reply) -> Value {
    match reply {
        Reply::Nil => Value::Bool(false),
        Reply::Int(number) => Value::Number(number as f64),
        Reply::Bulk(bytes) => Value::text(bytes),
        Reply::Status(text) => tag("ok", text),
        Reply::Error(text) => tag("err", text),
        Reply::Array(replies) => {
            Value::table(Fields::of_list(replies.into_iter().map(value).collect()))
        }
    }
}

/// So deep an array a reply has at most. A table may hold itself.
const DEEPEST: u32 = 16;

pub(super) fn reply(value: &Value) -> Reply {
    reply_within(value, DEEPEST)
}

fn reply_within(value: &Value, depth: u32) -> Reply {
    match value {
        Value::Number(number) => Reply::Int(*number as i64),
        Value::Text(text) => Reply::Bulk(text.to_vec()),
        Value::Bool(true) => Reply::Int(1),
        Value::Table(fields) => {
            let fields = fields.borrow();
            let text = |name| match fields.named(name) {
                Value::Text(text) => Some(String::from_utf8_lossy(&text).into_owned()),
                _ => None,
            };
            if let Some(error) = text("err") {
                return Reply::Error(error);
            }
            if let Some(status) = text("ok") {
                return Reply::Status(status);
            }
            let Some(deeper) = depth.checked_sub(1) else {
                return Reply::Error("ERR reached lua stack limit".into());
            };
            let list = fields.list.iter().take_while(|value| !matches!(value, Value::Nil));
            Reply::Array(list.map(|value| reply_within(value, deeper)).collect())
        }
        _ => Reply::Nil,
    }
}
