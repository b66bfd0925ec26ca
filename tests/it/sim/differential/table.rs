//! The commands of the table that no script of ours sends.

use super::{answers_commands, compare, table};

#[test]
fn the_table_answers_commands_of_users_as_redis_does() {
    const COMMANDS: [&str; 46] = [
        "APPEND",
        "DBSIZE",
        "DECR",
        "DECRBY",
        "DEL",
        "ECHO",
        "EXISTS",
        "EXPIRE",
        "GET",
        "GETDEL",
        "GETRANGE",
        "HDEL",
        "HEXISTS",
        "HGET",
        "HINCRBY",
        "HKEYS",
        "HLEN",
        "HMGET",
        "HSET",
        "HSETNX",
        "HVALS",
        "INCRBY",
        "LINDEX",
        "LLEN",
        "LPOP",
        "LPUSH",
        "LRANGE",
        "MSET",
        "PERSIST",
        "PING",
        "RPOP",
        "RPUSH",
        "SADD",
        "SCARD",
        "SET",
        "SETEX",
        "SETNX",
        "SISMEMBER",
        "SREM",
        "STRLEN",
        "TTL",
        "TYPE",
        "ZADD",
        "UNLINK",
        "ZINCRBY",
        "ZREMRANGEBYSCORE",
    ];
    const KEYS: [&str; 3] = ["k", "l", "m"];
    const WORDS: [&str; 18] = [
        "1",
        "-1",
        "0",
        "7",
        "x",
        "y",
        "",
        "EX",
        "GET",
        "20000",
        "1.5",
        "a b",
        "-3",
        "9223372036854775807",
        "(1",
        "GT",
        "CH",
        "+inf",
    ];
    compare(Box::new(table()), |pair| {
        answers_commands(pair, &COMMANDS, &KEYS, &WORDS)
    });
}
