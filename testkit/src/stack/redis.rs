//! Asks the Redis behind a bridge, past the bridge.

use redis::{Cmd, ConnectionLike, FromRedisValue};

/// A connection to a Redis, or to what stands in for one. Its methods panic if that does not
/// answer, or refuses.
pub struct Redis(pub Box<dyn ConnectionLike + Send>);

impl Redis {
    /// The Redis of this client.
    pub fn of(client: &redis::Client) -> Self {
        let connection = client.get_connection();
        Self(Box::new(connection.expect("a connection to Redis")))
    }

    /// Runs a command whose words are separated by blanks.
    #[track_caller]
    pub fn run<T: FromRedisValue>(&mut self, command: &str) -> T {
        let mut words = command.split(' ');
        let mut built = redis::cmd(words.next().unwrap_or_default());
        words.for_each(|word| {
            built.arg(word);
        });
        built.query(&mut *self.0).expect(command)
    }

    /// Runs a command whose words have blanks.
    #[track_caller]
    pub fn query<T: FromRedisValue>(&mut self, command: &Cmd) -> T {
        command.query(&mut *self.0).expect("Redis answers")
    }

    /// The last fence that was issued for the lock with this stem.
    pub fn last_fence(&mut self, stem: &str) -> u64 {
        let record: String = self.run(&format!("GET {stem}:fence"));
        let fence = record.split(' ').nth(1).and_then(|last| last.parse().ok());
        fence.expect("a version, and a number")
    }

    /// How many wait for the lock with this stem, dead or alive. Its record has a line for each of
    /// the first ones, behind that of its holds; the others are in the queue, each twice.
    pub fn waiters_for(&mut self, stem: &str) -> usize {
        let record: Option<String> = self.run(&format!("GET {stem}:fence"));
        let first = record.map_or(0, |record| record.matches(',').count().saturating_sub(1));
        first + self.run::<usize>(&format!("ZCARD {stem}:queue")) / 2
    }

    /// Every key with its value, for comparison.
    pub fn dump(&mut self) -> Vec<(String, Option<Vec<u8>>)> {
        let mut keys: Vec<String> = self.run("KEYS *");
        keys.sort();
        let value = |key: String| {
            let value = self.query(redis::cmd("DUMP").arg(&key));
            (key, value)
        };
        keys.into_iter().map(value).collect()
    }

    /// As [`Redis::dump`], without the keys of locks that are called `…:lock`.
    pub fn records(&mut self) -> Vec<(String, Option<Vec<u8>>)> {
        let mut dump = self.dump();
        dump.retain(|(key, _)| !key.contains(":lock"));
        dump
    }

    /// How many scripts were executed: one for each request of a client. What failed does not
    /// count, such as the bridge's own question about a script that nobody knows.
    pub fn scripts_run(&mut self) -> u64 {
        let stats: String = self.run("INFO commandstats");
        let number = |line: &str, name: &str| -> u64 {
            let (_, behind) = line.split_once(name).expect("a number");
            let digits = behind.split(',').next().unwrap_or_default();
            digits.trim().parse().expect("a number")
        };
        let of_scripts = stats.lines().filter(|line| line.starts_with("cmdstat_eval"));
        of_scripts.map(|line| number(line, ":calls=") - number(line, "failed_calls=")).sum()
    }
}
