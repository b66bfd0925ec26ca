//! Which request gets which answer, and when there is none.

use std::time::Duration;

use redis::cmd;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::time::{sleep, timeout};

use super::*;
use crate::budget::Budget;

const TIMEOUT: Duration = Duration::from_secs(5);

/// A connection of those with messages if it has a receiver for them, and Redis' end of it.
fn connected(room: usize, messages: Option<UnboundedSender<Message>>) -> (Link, DuplexStream) {
    let limits = Limits { timeout: TIMEOUT, max_reply: 1_000_000, budget: Budget::default() };
    let (ours, redis) = duplex(room);
    (Link::on(ours, &limits, messages), redis)
}

fn echo(words: &[&str]) -> Arc<Pipeline> {
    let commands = words.iter().map(|word| cmd("ECHO").arg(*word).clone());
    command::of(&commands.collect::<Vec<_>>())
}

/// Reads this many requests, all of the same length.
async fn take(redis: &mut DuplexStream, count: usize) {
    let mut packed = vec![0; count * echo(&["a"]).get_packed_pipeline().len()];
    redis.read_exact(&mut packed).await.expect("sent");
}

async fn say(redis: &mut DuplexStream, replies: &str) {
    redis.write_all(replies.as_bytes()).await.expect("read");
}

fn ints(numbers: &[i64]) -> Vec<Value> {
    numbers.iter().copied().map(Value::Int).collect()
}

#[tokio::test(start_paused = true)]
async fn each_request_gets_its_own_answer_whoever_was_too_late_or_is_gone() {
    let (link, mut redis) = connected(1_000, None);
    let (late, one) = (echo(&["a", "b"]), echo(&["c"]));
    let (late, ()) = tokio::join!(link.ask(late), take(&mut redis, 2));
    assert!(matches!(late, Err(io::ErrorKind::TimedOut)));
    let gone = timeout(Duration::from_secs(1), link.ask(one)).await;
    assert!(gone.is_err(), "nobody answered");
    let (last, ()) = tokio::join!(link.ask(echo(&["d"])), async {
        take(&mut redis, 2).await;
        say(&mut redis, ":1\r\n:2\r\n:3\r\n:4\r\n").await;
    });
    assert_eq!(last.ok(), Some(ints(&[4])));
    assert_eq!(link.unanswered.load(Ordering::Relaxed), 0);
}

/// The alarm was set for the first one.
#[tokio::test(start_paused = true)]
async fn each_request_waits_for_as_long_as_the_first() {
    let (link, mut redis) = connected(1_000, None);
    for _ in 0..3 {
        let (answered, ()) = tokio::join!(link.ask(echo(&["a"])), async {
            take(&mut redis, 1).await;
            sleep(Duration::from_secs(4)).await;
            say(&mut redis, ":1\r\n").await;
        });
        assert!(answered.is_ok());
    }
    let asked = Instant::now();
    let answered = link.ask(echo(&["a"])).await;
    assert!(matches!(answered, Err(io::ErrorKind::TimedOut)));
    assert_eq!(asked.elapsed().as_secs(), TIMEOUT.as_secs());
}

#[tokio::test]
async fn what_waits_leaves_while_answers_are_read_however_little_the_system_takes() {
    let (link, mut redis) = connected(16, None);
    let words = vec!["a"; 1_000];
    let (answered, ()) = tokio::join!(link.ask(echo(&words)), async {
        for _ in &words {
            take(&mut redis, 1).await;
            say(&mut redis, ":1\r\n").await;
        }
    });
    assert_eq!(answered.ok(), Some(ints(&[1; 1_000])));
}

/// As a Redis does that has no place for another client.
#[tokio::test]
async fn what_is_said_before_the_end_counts() {
    let (link, mut redis) = connected(1_000, None);
    say(&mut redis, "-ERR full\r\n").await;
    drop(redis);
    let answered = link.ask(echo(&["a"])).await.ok();
    assert!(matches!(answered.as_deref(), Some([Value::ServerError(_)])));
    let answered = link.ask(echo(&["a"])).await;
    assert!(matches!(answered, Err(kind) if kind != io::ErrorKind::TimedOut));
    assert!(!link.is_open());
}

#[tokio::test]
async fn it_closes_when_nobody_has_it_and_no_answer_is_waited_for() {
    let (link, mut redis) = connected(1_000, None);
    let asked = tokio::spawn(async move { link.ask(echo(&["a"])).await });
    take(&mut redis, 1).await;
    say(&mut redis, ":1\r\n").await;
    assert!(asked.await.is_ok_and(|answered| answered.is_ok()));
    assert_eq!(redis.read(&mut [0; 8]).await.ok(), Some(0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_not_late_while_messages_come_before_it() {
    let (messages, _heard) = mpsc::unbounded_channel();
    let (link, mut redis) = connected(1_000, Some(messages));
    let (answered, ()) = tokio::join!(link.ask(echo(&["a"])), async {
        take(&mut redis, 1).await;
        for _ in 0..3 {
            sleep(Duration::from_secs(4)).await;
            say(&mut redis, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n").await;
        }
        say(&mut redis, "+PONG\r\n").await;
    });
    assert!(answered.is_ok());
}
