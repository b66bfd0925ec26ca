//! Scripting: the shipped Lua runs in Redis's own Lua, on the table's commands.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value, Variadic};

use super::redis::{Db, Reply};
use super::script::replaced;

/// Changes a script's text before it runs, for a sabotage, or leaves it as it is.
pub(crate) type Rewrite = Box<dyn Fn(&str) -> String>;

/// A Redis: its data, and the scripts that it runs.
pub(crate) struct Redis {
    db: Rc<RefCell<Db>>,
    lua: Lua,
    run: Function,
    rewrite: Rewrite,
    /// For each text its compiled function and its digest, and for each digest its text.
    compiled: RefCell<HashMap<String, Rc<Compiled>>>,
    texts: RefCell<BTreeMap<String, String>>,
}

struct Compiled {
    function: Function,
    digest: String,
}

impl Redis {
    pub(crate) fn new(rewrite: Rewrite) -> Self {
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::default()).expect("Lua");
        let db = Rc::new(RefCell::new(Db::default()));
        let raw = {
            let db = db.clone();
            lua.create_function(move |lua, words| call(lua, &mut db.borrow_mut(), &words))
        };
        let prelude = lua.load(include_str!("prelude.lua"));
        let run = prelude.call(raw.expect("a function")).expect("the prelude");
        Self { db, lua, run, rewrite, compiled: RefCell::default(), texts: RefCell::default() }
    }

    /// A Redis in whose scripts `part` is replaced by `by`.
    pub(crate) fn with(part: &'static str, by: &'static str) -> Self {
        Self::new(Box::new(move |text| replaced(text, part, by).0))
    }

    /// A Redis for which a few are a crowd.
    pub(crate) fn with_few() -> Self {
        Self::new(Box::new(few))
    }

    pub(crate) fn db(&self) -> Ref<'_, Db> {
        self.db.borrow()
    }

    pub(crate) fn db_mut(&self) -> RefMut<'_, Db> {
        self.db.borrow_mut()
    }

    pub(crate) fn execute(&self, words: &[&[u8]]) -> Reply {
        let name = words.first().map(|name| name.to_ascii_uppercase());
        match (name.as_deref(), words) {
            (Some(b"EVAL"), [_, text, rest @ ..]) => {
                let script = self.compiled(str::from_utf8(text).expect("a text"));
                self.db_mut().scripts.insert(script.digest.clone());
                self.eval(&script, rest)
            }
            (Some(b"EVALSHA"), [_, digest, rest @ ..]) => {
                let digest = String::from_utf8_lossy(digest).into_owned();
                let is_known = self.db().scripts.contains(&digest);
                match self.text(&digest).filter(|_| is_known) {
                    Some(text) => self.eval(&self.compiled(&text), rest),
                    None => Reply::Error("NOSCRIPT No matching script. Please use EVAL.".into()),
                }
            }
            (Some(b"SCRIPT"), [_, b"FLUSH"]) => {
                self.db_mut().scripts.clear();
                Reply::Status("OK".into())
            }
            _ => self.db_mut().call(words),
        }
    }

    /// The text of a script that this Redis has ever seen, even if it has forgotten it.
    pub(crate) fn text(&self, digest: &str) -> Option<String> {
        self.texts.borrow().get(digest).cloned()
    }

    /// The texts of all scripts that it has ever seen, by their digests.
    pub(crate) fn texts(&self) -> BTreeMap<String, String> {
        self.texts.borrow().clone()
    }

    fn compiled(&self, text: &str) -> Rc<Compiled> {
        if let Some(compiled) = self.compiled.borrow().get(text) {
            return compiled.clone();
        }
        let digest = sha1_smol::Sha1::from(text).digest().to_string();
        let chunk = self.lua.load((self.rewrite)(text)).set_name("@user_script");
        let function = chunk.into_function().expect("the script compiles");
        (self.texts.borrow_mut()).insert(digest.clone(), text.to_owned());
        let compiled = Rc::new(Compiled { function, digest });
        (self.compiled.borrow_mut()).insert(text.to_owned(), compiled.clone());
        compiled
    }

    fn eval(&self, script: &Compiled, rest: &[&[u8]]) -> Reply {
        let Some((count, words)) = rest.split_first() else {
            return Reply::Error("ERR wrong number of arguments for 'eval' command".into());
        };
        let count = std::str::from_utf8(count).ok().and_then(|n| n.parse().ok());
        let Some((keys, argv)) = count.and_then(|count: usize| words.split_at_checked(count))
        else {
            return Reply::Error("ERR Number of keys can't be greater than number of args".into());
        };
        let keys = self.table(keys);
        let argv = self.table(argv);
        let reply: Value = (self.run)
            .call((&script.function, script.digest.as_str(), keys, argv))
            .expect("the prelude catches what a script raises");
        from_lua(reply)
    }

    fn table(&self, words: &[&[u8]]) -> Table {
        let words = words.iter().map(|word| self.lua.create_string(word).expect("a string"));
        self.lua.create_sequence_from(words).expect("a table")
    }
}

/// The same script, but the first waiter and the last hold are all that the record has. So a small
/// world has crowds.
pub(crate) fn few(text: &str) -> String {
    let (text, _) = replaced(text, "FEW, LATER = 16,", "FEW, LATER = 1,");
    replaced(&text, "MOST = 16", "MOST = 1").0
}

/// A Redis that leaves the scripts as they are.
impl Default for Redis {
    fn default() -> Self {
        Self::new(Box::new(str::to_owned))
    }
}

/// `redis.call` and `redis.pcall`. They differ in what they do with an error.
fn call(lua: &Lua, db: &mut Db, words: &Variadic<Value>) -> mlua::Result<Value> {
    let mut texts = Vec::with_capacity(words.len());
    for word in words.iter() {
        texts.push(match word {
            Value::String(text) => text.as_bytes().to_vec(),
            Value::Integer(number) => number.to_string().into_bytes(),
            Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e17 => {
                format!("{number:.0}").into_bytes()
            }
            _ => {
                let text = "ERR Lua redis lib command arguments must be strings or integers";
                return to_lua(lua, &Reply::Error(text.into()));
            }
        });
    }
    let words: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    to_lua(lua, &db.call(&words))
}

fn to_lua(lua: &Lua, reply: &Reply) -> mlua::Result<Value> {
    let tagged = |tag: &str, text: &str| {
        let table = lua.create_table()?;
        table.raw_set(tag, text)?;
        Ok(Value::Table(table))
    };
    match reply {
        Reply::Nil => Ok(Value::Boolean(false)),
        Reply::Int(number) => Ok(Value::Number(*number as f64)),
        Reply::Bulk(bytes) => lua.create_string(bytes).map(Value::String),
        Reply::Status(text) => tagged("ok", text),
        Reply::Error(text) => tagged("err", text),
        Reply::Array(replies) => {
            let elements: Vec<Value> =
                (replies.iter()).map(|reply| to_lua(lua, reply)).collect::<mlua::Result<_>>()?;
            lua.create_sequence_from(elements).map(Value::Table)
        }
    }
}

fn from_lua(value: Value) -> Reply {
    match value {
        Value::Number(number) => Reply::Int(number as i64),
        Value::Integer(number) => Reply::Int(number),
        Value::String(text) => Reply::Bulk(text.as_bytes().to_vec()),
        Value::Boolean(true) => Reply::Int(1),
        Value::Table(table) => {
            if let Ok(text) = table.raw_get::<String>("err") {
                return Reply::Error(text);
            }
            if let Ok(text) = table.raw_get::<String>("ok") {
                return Reply::Status(text);
            }
            let elements = table.sequence_values::<Value>();
            Reply::Array(elements.map_while(Result::ok).map(from_lua).collect())
        }
        _ => Reply::Nil,
    }
}
