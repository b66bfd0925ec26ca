//! How long scripts ran, by Redis' clock.

use std::time::Duration;

use redis::{Cmd, Pipeline, Value};

use crate::command::name;
use crate::refuse;

/// The commands, with the time before and after each script. The time of the whole request says
/// nothing of its scripts.
pub(crate) fn timed(commands: &Pipeline) -> Pipeline {
    let mut timed = Pipeline::new();
    for (command, begins, ends) in with_places(commands) {
        if begins {
            timed.cmd("TIME");
        }
        timed.add_command(command.clone());
        if ends {
            timed.cmd("TIME");
        }
    }
    timed
}

/// Removes the times from the replies to the `timed` commands: how long each script ran, unless it
/// was refused.
pub(super) fn taken(
    commands: &Pipeline,
    replies: Vec<Value>,
) -> (Vec<Value>, Vec<Option<Duration>>) {
    let mut replies = replies.into_iter();
    let (mut theirs, mut lasted) = (Vec::with_capacity(commands.len()), Vec::new());
    let mut before = None;
    for (_, begins, ends) in with_places(commands) {
        if begins {
            before = replies.next().as_ref().and_then(time);
        }
        let reply = replies.next();
        if ends {
            let after = replies.next().as_ref().and_then(time);
            lasted.push(match reply {
                Some(Value::ServerError(_)) => None,
                _ => after.and_then(|after| after.checked_sub(before?)),
            });
        }
        theirs.extend(reply);
    }
    (theirs, lasted)
}

/// Each command with whether what is timed begins and ends with it. `ASKING` is about the very next
/// command.
fn with_places(commands: &Pipeline) -> impl Iterator<Item = (&Cmd, bool, bool)> {
    let mut is_asking = false;
    commands.cmd_iter().map(move |command| {
        let name = name(command);
        let ends = refuse::runs_script(&name);
        let was_asking = std::mem::replace(&mut is_asking, name == b"ASKING");
        let begins = is_asking || (ends && !was_asking);
        (command, begins, ends)
    })
}

/// `TIME` answers with seconds and microseconds.
fn time(reply: &Value) -> Option<Duration> {
    let Value::Array(parts) = reply else {
        return None;
    };
    let [Value::BulkString(seconds), Value::BulkString(micros)] = &parts[..] else {
        return None;
    };
    let number = |text: &[u8]| str::from_utf8(text).ok()?.parse().ok();
    Duration::from_secs(number(seconds)?).checked_add(Duration::from_micros(number(micros)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_asked_around_scripts_and_not_between_a_script_and_its_asking() {
        let mut commands = Pipeline::new();
        for name in ["GET", "EVAL", "ASKING", "FCALL"] {
            commands.cmd(name);
        }
        let timed = timed(&commands);
        let names: Vec<_> = timed.cmd_iter().map(name).collect();
        let expected = "GET TIME EVAL TIME TIME ASKING FCALL TIME";
        assert_eq!(names.join(&b' '), expected.as_bytes());
        let at = |micros: &str| {
            let parts = ["7", micros].map(|part| Value::BulkString(part.into()));
            Value::Array(parts.into())
        };
        let replies = [Value::Nil, at("1"), Value::Int(1), at("3")];
        let asked = [at("10"), Value::Okay, Value::Int(2), at("15")];
        let (theirs, lasted) = taken(&commands, [replies, asked].concat());
        assert_eq!(theirs, [Value::Nil, Value::Int(1), Value::Okay, Value::Int(2)]);
        let lasted: Vec<_> = lasted.into_iter().flatten().collect();
        assert_eq!(lasted, [2, 5].map(Duration::from_micros));
    }

    #[test]
    fn a_time_that_cannot_be_is_none() {
        let at = |parts: [&str; 2]| {
            let parts = parts.map(|part| Value::BulkString(part.into()));
            time(&Value::Array(parts.into()))
        };
        assert_eq!(at(["7", "1000000"]), Some(Duration::from_secs(8)));
        for impossible in [["18446744073709551615", "1000000"], ["-1", "0"], ["7", ""]] {
            assert_eq!(at(impossible), None);
        }
    }
}
