//! The commands that the table knows.

mod collections;
mod keys;
mod numbers;
mod sorted;
mod strings;

use crate::reply::{Outcome, Reply};
use crate::table::Table;

pub(crate) use numbers::int;

type Run = fn(&mut Table, &[&[u8]]) -> Outcome;

pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// How many arguments it takes, at least and at most.
    least: usize,
    most: usize,
    run: Run,
}

const MANY: usize = usize::MAX;

pub(crate) const SYNTAX: &str = "ERR syntax error";

const fn of(name: &'static str, least: usize, most: usize, run: Run) -> Command {
    Command { name, least, most, run }
}

/// All of them, in alphabetical order.
pub(crate) const ALL: &[Command] = &[
    of("APPEND", 2, 2, strings::append),
    of("DBSIZE", 0, 0, keys::dbsize),
    of("DECR", 1, 1, |table, args| numbers::add(table, args[0], -1)),
    of("DECRBY", 2, 2, numbers::subtract),
    of("DEL", 1, MANY, keys::del),
    of("ECHO", 1, 1, |_, args| Ok(Reply::Bulk(args[0].to_vec()))),
    of("EVAL", 2, MANY, |table, args| table.eval(args)),
    of("EVALSHA", 2, MANY, |table, args| table.evalsha(args)),
    of("EXISTS", 1, MANY, keys::exists),
    of("EXPIRE", 2, 2, |table, args| keys::expire(table, args, 1_000)),
    of("FLUSHALL", 0, 1, keys::flush),
    of("FLUSHDB", 0, 1, keys::flush),
    of("GET", 1, 1, strings::get),
    of("GETDEL", 1, 1, strings::getdel),
    of("GETRANGE", 3, 3, strings::getrange),
    of("HDEL", 2, MANY, collections::hdel),
    of("HEXISTS", 2, 2, collections::hexists),
    of("HGET", 2, 2, collections::hget),
    of("HGETALL", 1, 1, collections::hgetall),
    of("HINCRBY", 3, 3, numbers::hincrby),
    of("HKEYS", 1, 1, collections::hkeys),
    of("HLEN", 1, 1, collections::hlen),
    of("HMGET", 2, MANY, collections::hmget),
    of("HSET", 3, MANY, collections::hset),
    of("HSETNX", 3, 3, collections::hsetnx),
    of("HVALS", 1, 1, collections::hvals),
    of("INCR", 1, 1, |table, args| numbers::add(table, args[0], 1)),
    of("INCRBY", 2, 2, |table, args| numbers::add(table, args[0], numbers::int(args[1])?)),
    of("INFO", 0, MANY, keys::info),
    of("KEYS", 1, 1, keys::keys),
    of("LINDEX", 2, 2, collections::lindex),
    of("LLEN", 1, 1, collections::llen),
    of("LPOP", 1, 1, |table, args| collections::pop(table, args, true)),
    of("LPUSH", 2, MANY, |table, args| collections::push(table, args, true)),
    of("LRANGE", 3, 3, collections::lrange),
    of("MGET", 1, MANY, strings::mget),
    of("MSET", 2, MANY, strings::mset),
    of("PERSIST", 1, 1, keys::persist),
    of("PEXPIRE", 2, 2, |table, args| keys::expire(table, args, 1)),
    of("PING", 0, 1, keys::ping),
    of("PTTL", 1, 1, |table, args| keys::ttl(table, args, 1)),
    of("PUBLISH", 2, 2, |table, args| Ok(table.publish(args[0], args[1]))),
    of("PUBSUB", 1, MANY, |table, args| table.pubsub(args)),
    of("RPOP", 1, 1, |table, args| collections::pop(table, args, false)),
    of("RPUSH", 2, MANY, |table, args| collections::push(table, args, false)),
    of("SADD", 2, MANY, collections::sadd),
    of("SCARD", 1, 1, collections::scard),
    of("SCRIPT", 1, MANY, |table, args| table.script(args)),
    of("SET", 2, MANY, strings::set),
    of("SETEX", 3, 3, strings::setex),
    of("SETNX", 2, 2, strings::setnx),
    of("SETRANGE", 3, 3, strings::setrange),
    of("SISMEMBER", 2, 2, collections::sismember),
    of("SMEMBERS", 1, 1, collections::smembers),
    of("SREM", 2, MANY, collections::srem),
    of("STRLEN", 1, 1, strings::strlen),
    of("TIME", 0, 0, keys::time),
    of("TTL", 1, 1, |table, args| keys::ttl(table, args, 1_000)),
    of("TYPE", 1, 1, keys::kind),
    of("UNLINK", 1, MANY, keys::del),
    of("WAIT", 2, 2, |_, _| Ok(Reply::Int(0))),
    of("ZADD", 3, MANY, sorted::zadd),
    of("ZCARD", 1, 1, sorted::zcard),
    of("ZCOUNT", 3, 3, sorted::zcount),
    of("ZINCRBY", 3, 3, sorted::zincrby),
    of("ZMSCORE", 2, MANY, sorted::zmscore),
    of("ZRANGE", 3, 4, sorted::zrange),
    of("ZRANGEBYSCORE", 3, 4, sorted::zrangebyscore),
    of("ZRANK", 2, 2, sorted::zrank),
    of("ZREM", 2, MANY, sorted::zrem),
    of("ZREMRANGEBYSCORE", 3, 3, sorted::zremrangebyscore),
    of("ZSCORE", 2, 2, sorted::zscore),
];

pub(crate) fn find(name: &str) -> Option<&'static Command> {
    let found = ALL.binary_search_by_key(&name, |command| command.name);
    found.ok().map(|at| &ALL[at])
}

/// The names of all, for those who ask for another.
pub(crate) fn names() -> String {
    let names: Vec<&str> = ALL.iter().map(|command| command.name).collect();
    names.join(", ")
}

impl Command {
    pub(crate) const fn takes(&self, count: usize) -> bool {
        count >= self.least && count <= self.most
    }

    pub(crate) fn run(&self, table: &mut Table, args: &[&[u8]]) -> Reply {
        let reply = (self.run)(table, args).unwrap_or_else(Reply::Error);
        if let Some(key) = args.first() {
            table.store.tidy(key);
        }
        reply
    }
}
