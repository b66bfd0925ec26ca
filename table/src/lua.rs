//! Lua 5.1 as far as scripts in Redis use it: no metatables, no coroutines, no `load`. Keys of
//! tables are strings, numbers and booleans, and powers are whole numbers.

mod commands;
mod lexer;
mod library;
mod parser;
mod pattern;
mod run;
mod scope;
mod strings;
mod syntax;
mod tables;
mod value;

use std::sync::Arc;

use crate::reply::Reply;
pub(crate) use run::Host;
pub(crate) use value::Text;

/// A script that can be run.
pub(crate) struct Script(Arc<syntax::Body>);

impl Script {
    /// # Errors
    /// Why it is none, as Redis says it.
    pub(crate) fn parse(source: &[u8]) -> Result<Self, String> {
        // Upstash's flags, which a line of Redis's own looks like.
        let code = match source.starts_with(b"#!") {
            true => {
                source.iter().position(|byte| *byte == b'\n').map_or(&[][..], |at| &source[at..])
            }
            false => source,
        };
        parser::parse(code).map(Self)
    }

    /// What it returns, or raises, as a reply.
    pub(crate) fn run(
        &self,
        digest: &str,
        host: &mut dyn Host,
        keys: &[&[u8]],
        args: &[&[u8]],
    ) -> Reply {
        let (raised, line) = match run::run(&self.0, host, keys, args) {
            Ok(value) => return commands::reply(&value),
            Err(raised) => raised,
        };
        let text = match commands::reply(&raised) {
            Reply::Error(text) => text,
            _ => {
                let text = raised.bytes().unwrap_or_else(|| raised.kind().as_bytes().into());
                format!("ERR {}", String::from_utf8_lossy(&text))
            }
        };
        Reply::Error(format!("{text} script: {digest}, on @user_script:{line}."))
    }
}
