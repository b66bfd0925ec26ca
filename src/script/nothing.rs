//! What reads find where nothing is stored.

use crate::command::{Command, Reply};

/// What a read replies if nothing is stored. `None` for a command that is not known here.
pub(crate) fn of_nothing(read: &Command) -> Option<Reply> {
    let (name, args) = read.args().split_first()?;
    let nils = |count: usize| Reply::Array(vec![Reply::Nil; count]);
    Some(match name.to_ascii_uppercase().as_str() {
        "GET" | "HGET" | "ZSCORE" | "ZRANK" | "LINDEX" => Reply::Nil,
        "EXISTS" | "HEXISTS" | "SISMEMBER" | "STRLEN" | "HLEN" | "SCARD" | "LLEN" | "ZCARD" => {
            Reply::Int(0)
        }
        "MGET" => nils(args.len()),
        "HMGET" => nils(args.len().checked_sub(1)?),
        "HGETALL" | "HKEYS" | "HVALS" | "SMEMBERS" | "LRANGE" | "ZRANGE" => nils(0),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_never_read_is_taken_for_empty() {
        let read = |words: [&str; 3]| {
            let command = Command::new(words[0]).key(words[1]).arg(words[2]);
            of_nothing(&command)
        };
        assert_eq!(read(["hget", "a", "b"]), Some(Reply::Nil));
        assert_eq!(
            read(["HMGET", "a", "b"]),
            Some(Reply::Array(vec![Reply::Nil]))
        );
        assert_eq!(read(["SISMEMBER", "a", "b"]), Some(Reply::Int(0)));
        assert_eq!(read(["ZRANDMEMBER", "a", "1"]), None);
    }
}
