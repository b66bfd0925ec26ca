//! The table as JavaScript can hold it. The host reads and writes JSON, apart from replies.

#![cfg(target_family = "wasm")]

use edgelock_table::{Listener, Reply};
use wasm_bindgen::prelude::*;

/// Half of the size of the default one.
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// An in-process Redis.
#[wasm_bindgen]
#[derive(Default)]
pub struct Table {
    table: edgelock_table::Table,
    /// When the last command was executed, in microseconds.
    last_us: i64,
}

#[wasm_bindgen]
impl Table {
    /// An empty one.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// What a bridge says of a command at this time, in milliseconds: an object in JSON. The words
    /// are lines, in which a line break is written as `\n`, and a backslash as two.
    pub fn execute(&mut self, now_ms: f64, words: &str) -> String {
        let words: Vec<Vec<u8>> = words.split('\n').map(unescaped).collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let now_us = self.tick((now_ms * 1_000.0) as i64);
        let reply = self.table.execute(now_us, &words);
        let name = match reply {
            Reply::Error(_) => "error",
            _ => "result",
        };
        let mut json = ["{\"", name, "\":"].concat();
        write(&reply, &mut json);
        json.push('}');
        json
    }

    /// Hosts count milliseconds, and Redis microseconds: no two commands are of the same time, or a
    /// fence that is issued after all data was lost would be one from before.
    fn tick(&mut self, now_us: i64) -> i64 {
        let is_same = now_us / 1_000 == self.last_us / 1_000;
        self.last_us = if is_same { self.last_us + 1 } else { now_us };
        self.last_us
    }

    /// Listens to a channel, by the number that is returned.
    pub fn listen(&mut self, channel: &str) -> u32 {
        self.table.listen(channel.as_bytes()) as u32
    }

    /// Listens no more.
    #[wasm_bindgen(js_name = hangUp)]
    pub fn hang_up(&mut self, listener: u32) {
        self.table.hang_up(Listener::from(listener));
    }

    /// What was published since the last call: each listener, and the text behind it, in JSON.
    pub fn messages(&mut self) -> String {
        let told = self.table.take_messages().into_iter();
        let told = told.flat_map(|(to, text)| [Reply::Int(to as i64), Reply::Bulk(text)]);
        let mut json = String::new();
        write(&Reply::Array(told.collect()), &mut json);
        json
    }
}

fn unescaped(word: &str) -> Vec<u8> {
    let mut bytes = word.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' if bytes.next() == Some(b'n') => b'\n',
            other => other,
        });
    }
    out
}

fn write(reply: &Reply, json: &mut String) {
    match reply {
        Reply::Nil => json.push_str("null"),
        Reply::Int(number) => json.push_str(&number.to_string()),
        Reply::Bulk(bytes) => quote(&String::from_utf8_lossy(bytes), json),
        Reply::Status(text) | Reply::Error(text) => quote(text, json),
        Reply::Array(replies) => {
            json.push('[');
            for (at, reply) in replies.iter().enumerate() {
                if at > 0 {
                    json.push(',');
                }
                write(reply, json);
            }
            json.push(']');
        }
    }
}

fn quote(text: &str, json: &mut String) {
    json.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => json.extend(['\\', char]),
            '\0'..='\x1f' => json.push_str(&format!("\\u{:04x}", char as u32)),
            _ => json.push(char),
        }
    }
    json.push('"');
}
