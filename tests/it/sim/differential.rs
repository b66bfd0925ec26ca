//! The table of `edgelock/testing`, and the simulation's real Lua over it, each beside a real
//! Redis: the same commands and scripts must get the same answers.

mod shipped;

use redis::ConnectionLike;
use testkit::stack::Bridge;

use edgelock_table::{Reply, Table, Value};

use super::lua::Redis;
use super::rng::Rng;

/// What stands in for a Redis.
struct Model {
    redis: Redis,
    /// Whether the table runs scripts itself.
    is_table: bool,
}

impl Model {
    /// Executes a command a little later than the last one.
    fn execute(&self, words: &[&[u8]]) -> Reply {
        let mut db = self.redis.db_mut();
        let now = db.table.now_us() + 100;
        if self.is_table {
            return db.table.execute(now, words);
        }
        db.table.set_time(now);
        drop(db);
        self.redis.execute(words)
    }

    /// Each key, and the command that reads all of it.
    fn held(&self) -> Vec<(String, &'static str)> {
        (self.redis.db().all())
            .map(|(key, value, _)| {
                let look = match value {
                    Value::Text(_) => "GET",
                    Value::Hash(_) => "HGETALL",
                    Value::List(_) => "LLEN",
                    Value::Set(_) => "SCARD",
                    Value::Sorted(_) => "ZCARD",
                };
                (String::from_utf8_lossy(key).into_owned(), look)
            })
            .collect()
    }
}

/// Both, as they are at the beginning.
fn models() -> [Model; 2] {
    [false, true].map(|is_table| {
        let redis = Redis::default();
        redis.db_mut().table.set_time(1_700_000_000_000_000);
        Model { redis, is_table }
    })
}

/// A real Redis and a model, side by side.
struct Pair {
    real: redis::Connection,
    model: Model,
    steps: Vec<String>,
    _bridge: Bridge,
}

/// Channels that somebody subscribes to.
const HEARD: [&str; 2] = ["wake-1", "wake-2"];

/// Runs `test` with a fresh pair.
fn compare(model: Model, test: impl FnOnce(&mut Pair)) {
    // A bridge comes with a Redis of its own.
    let bridge = Bridge::spawn();
    let connection = || bridge.redis().get_connection().expect("redis");
    let (client, mut listening) = (connection(), connection());
    let mut subscription = listening.as_pubsub();
    subscription.subscribe(&HEARD).expect("a subscription");
    for channel in HEARD {
        model.redis.db_mut().table.listen(channel.as_bytes());
    }
    test(&mut Pair { real: client, model, steps: Vec::new(), _bridge: bridge });
}

impl Pair {
    /// Has both execute a command, and compares the replies.
    #[track_caller]
    fn run(&mut self, words: &[&str]) {
        let raw: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let model = normal(&self.model.execute(&raw));
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        let real = normal(&match self.real.req_command(&command) {
            Ok(value) => reply(value),
            Err(error) => panic!("{error}"),
        });
        let brief = |word: &&str| word.chars().take(60).collect::<String>();
        let step: Vec<String> = words.iter().map(brief).collect();
        self.steps.push(step.join(" "));
        let before = self.steps.iter().rev().take(12).rev();
        let before: Vec<&str> = before.map(String::as_str).collect();
        assert_eq!(model, real, "the model, and Redis, after:\n{}", before.join("\n"));
    }

    /// Compares all that the two have stored.
    #[track_caller]
    fn compare_all(&mut self) {
        let held = self.model.held();
        let count: usize = (self.real.req_command(&redis::cmd("DBSIZE")))
            .and_then(|count| Ok(redis::from_redis_value(count)?))
            .expect("a number of keys");
        assert_eq!(held.len(), count, "keys, after:\n{}", self.steps.join("\n"));
        for (key, look) in held {
            self.run(&[look, &key]);
            self.run(&["PTTL", &key]);
            match look {
                "ZCARD" => self.run(&["ZRANGE", &key, "0", "-1", "WITHSCORES"]),
                "LLEN" => self.run(&["LRANGE", &key, "0", "-1"]),
                _ => {}
            }
        }
    }
}

fn reply(value: redis::Value) -> Reply {
    match value {
        redis::Value::Nil => Reply::Nil,
        redis::Value::Int(number) => Reply::Int(number),
        redis::Value::BulkString(bytes) => Reply::Bulk(bytes),
        redis::Value::Okay => Reply::Status("OK".into()),
        redis::Value::SimpleString(text) => Reply::Status(text),
        redis::Value::ServerError(error) => {
            let details = error.details().unwrap_or_default();
            Reply::Error(format!("{} {details}", error.code()))
        }
        redis::Value::Array(values) => Reply::Array(values.into_iter().map(reply).collect()),
        other => panic!("{other:?}"),
    }
}

/// The reply without what may differ: numbers from 9,000 on, which depend on the time, and the
/// place in a script where an error was raised. The shortest time that is drawn counts down from
/// 10 s.
fn normal(reply: &Reply) -> String {
    let text = reply.to_string();
    let text = text.split(": edgelock/testing knows").next().unwrap_or_default();
    let text = text.split(" script: ").next().unwrap_or_default();
    let mut out = String::new();
    let mut digits = String::new();
    for char in text.chars().chain(['\n']) {
        if char.is_ascii_digit() {
            digits.push(char);
            continue;
        }
        let is_time = digits.len() > 4 || digits.len() == 4 && digits.starts_with('9');
        out.push_str(if is_time { "#" } else { &digits });
        digits.clear();
        out.push(char);
    }
    out.trim_end_matches(['\n', '"', ' ']).to_owned()
}

/// Draws commands, most with as many words as they take.
#[test]
fn the_table_answers_commands_as_redis_does() {
    let [_, model] = models();
    compare(model, answers_commands);
}

fn answers_commands(pair: &mut Pair) {
    /// They are of scripts, or their answers tell time, or have an order that Redis does not say.
    const OTHERS: &str = "EVAL,EVALSHA,FLUSHALL,FLUSHDB,INFO,KEYS,PUBSUB,SCRIPT,SMEMBERS,TIME,WAIT";
    const WORDS: &str = "1,-1,0,7,x,y,,NX,XX,PX,EX,KEEPTTL,nx,LT,GT,CH,GET,WITHSCORES,k,a b,\
        1.5,-3,01,10000000,20000,9223372036854775807,-9223372036854775808,-inf,+inf,(1,1,7,x";
    const OPTIONS: [&str; 5] = ["NX", "nx", "LT", "GT", "CH"];
    let commands = Table::commands().filter(|name| !OTHERS.split(',').any(|other| other == *name));
    let (commands, drawn): (Vec<_>, Vec<_>) = (commands.collect(), WORDS.split(',').collect());
    let rng = Rng::new(7);
    for step in 0..40_000 {
        let mut words = vec![rng.pick(&commands), rng.pick(&["k", "l", "m", "wake-1"])];
        let usual = match words[0] {
            "SET" | "APPEND" | "DECRBY" | "PEXPIRE" | "ZRANK" | "ZSCORE" | "ZMSCORE" | "ZREM" => 1,
            "HGET" | "HDEL" | "HEXISTS" | "HMGET" | "PUBLISH" => 1,
            "EXPIRE" | "INCRBY" | "LINDEX" | "LPUSH" | "MSET" | "RPUSH" => 1,
            "SADD" | "SETNX" | "SISMEMBER" | "SREM" => 1,
            "SETRANGE" | "HINCRBY" | "HSET" | "ZADD" | "ZRANGE" | "ZCOUNT" | "ZRANGEBYSCORE" => 2,
            "GETRANGE" | "HSETNX" | "LRANGE" | "SETEX" | "ZINCRBY" | "ZREMRANGEBYSCORE" => 2,
            _ => 0,
        };
        for _ in 0..usual + rng.pick(&[0, 0, 0, 0, 1, 1, 2, 3]) {
            words.push(rng.pick(&drawn));
        }
        if rng.chance(50) {
            words.pop();
        }
        // A key that expires so soon would make Redis's own time matter.
        let is_soon = |ms: &str| ["1", "7"].contains(&ms);
        let expires_soon = words[0].contains("EX") && words.get(2).is_some_and(|ms| is_soon(ms))
            || words.windows(2).any(|pair| ["PX", "EX"].contains(&pair[0]) && is_soon(pair[1]));
        let has_option = match words[0] {
            // So long a text is not stored.
            "SETRANGE" => words.get(2).is_some_and(|at| at.len() > 3),
            // It takes options that it then refuses.
            "ZINCRBY" if words.iter().any(|word| OPTIONS.contains(word)) => true,
            // Redis does not keep such a score as a whole number.
            "ZADD" | "ZINCRBY" => words.iter().any(|word| *word == "XX" || word.len() > 15),
            "ZRANGE" | "ZRANGEBYSCORE" => words.len() > 5,
            "PEXPIRE" | "EXPIRE" => words.len() > 3,
            "LPOP" | "RPOP" => words.len() > 2,
            _ => false,
        };
        // The models do not have such options.
        if !has_option && !expires_soon {
            pair.run(&words);
        }
        if step % 500 == 0 {
            pair.run(&["PUBSUB", "NUMSUB", "wake-1", "x"]);
            pair.compare_all();
            pair.run(&["FLUSHALL"]);
        }
    }
}

#[test]
fn scripts_run_as_in_redis() {
    const SCRIPTS: [&str; 24] = [
        "return 1",
        "return 1.9",
        "return -1.9",
        "return 'x'",
        "return true",
        "return false",
        "return nil",
        "return {1, 'x', true, false, 4}",
        "return {1, 2, nil, 4}",
        "return {{1}, {}}",
        "return {ok = 'fine'}",
        "return {err = 'MYERR no'}",
        "return redis.call('SET', KEYS[1], ARGV[1])",
        "return redis.call('GET', 'nothing') == false",
        "return redis.call('INCR', KEYS[1])",
        "return redis.pcall('INCR', KEYS[1])",
        "return redis.pcall('INCR', KEYS[1]).err",
        "return type(redis.call('TIME')[1])",
        "return {pcall(redis.call, 'GET')} and 1",
        "return redis.call('SET', KEYS[1], 7)",
        "return redis.call('SET', KEYS[1], 'x', 'PX', 20000000)",
        "return string.format('%.0f', 1700000000000000 + 1)",
        "return tostring(nothing)",
        "nothing = 1",
    ];
    for model in models() {
        compare(model, |pair| runs_scripts(pair, &SCRIPTS));
    }
}

fn runs_scripts(pair: &mut Pair, scripts: &[&str]) {
    for script in scripts {
        pair.run(&["EVAL", script, "1", "k", "x"]);
    }
    pair.run(&["EVAL", "return redis.call('GET')", "0"]);
    pair.run(&["EVAL", "return redis.call('NOTHING')", "0"]);
    pair.run(&["EVALSHA", "0000000000000000000000000000000000000000", "0"]);
    // The digest of `return 1`.
    let known = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    pair.run(&["EVALSHA", known, "0"]);
    pair.run(&["SCRIPT", "FLUSH"]);
    pair.run(&["EVALSHA", known, "0"]);
}
