//! Where a Redis Cluster keeps what scripts name.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Mutex;
use std::time::Duration;

use edgelock::{Bridge, Client, Lock, Request, Response, Token, Transport, TransportError};
use xtask::stack::RedisServer;

use crate::support::{Tokio, run};

/// Notes the keys of every request, and has none answered.
#[derive(Clone, Default)]
struct Noted(Rc<Mutex<Vec<Vec<String>>>>);

impl Transport for Noted {
    async fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let words: Vec<String> = serde_json::from_str(&request.body).expect("a command");
        let count: usize = words[2].parse().expect("a number of keys");
        self.0.lock().unwrap().push(words[3..3 + count].to_vec());
        Err(TransportError::NoResponse("noted".into()))
    }
}

/// A name of up to eight of these: what Redis Cluster, bridges and Lua give a meaning to, and what nothing does.
const PARTS: [&str; 12] = [
    "{", "}", "{}", "{a}", "a", ":", ",", "%", " ", "\r\n", "\"", "ü",
];

#[test]
fn all_keys_of_every_call_are_in_one_slot_whatever_the_name() {
    run(async {
        let redis = RedisServer::start(&["--cluster-enabled", "yes"]);
        let noted = Noted::default();
        let bridge = Bridge::upstash("http://127.0.0.1:1", "credential").unwrap();
        let client = Client::new(bridge, noted.clone(), Tokio::default()).attempts(1);
        let wait = Duration::from_millis(1);
        let mut random = 1_u64;
        let mut next = |below: u64| {
            // Knuth's MMIX.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let mut locks = 0;
        for _ in 0..300 {
            let length = next(8) + 1;
            let name: String = (0..length).map(|_| PARTS[next(12) as usize]).collect();
            for lock in [client.lock(&name), client.reentrant(&name, "me")] {
                match lock {
                    Ok(lock) => call_all(&lock.wait(wait)).await,
                    Err(error) => {
                        assert_eq!(error.code(), "invalid_argument");
                        continue;
                    }
                }
                locks += 1;
                let requests = std::mem::take(&mut *noted.0.lock().unwrap());
                assert!(requests.len() >= 8, "{} requests", requests.len());
                let keys: BTreeSet<String> = requests.into_iter().flatten().collect();
                assert!(keys.contains(&name) && keys.len() > 5);
                let slots: BTreeSet<u16> = (keys.iter())
                    .map(|key| redis.try_ask(&["CLUSTER", "KEYSLOT", key]).unwrap())
                    .collect();
                assert_eq!(slots.len(), 1, "{name:?}: {keys:?}");
            }
        }
        assert!(locks > 200, "{locks}");
    });
}

/// Every operation, each of which fails.
async fn call_all(lock: &Lock<Noted, Tokio>) {
    assert!(lock.try_acquire().await.is_err());
    assert!(lock.acquire().await.is_err());
    assert!(lock.inspect().await.is_err());
    assert!(lock.force_release().await.is_err());
    let lease = lock
        .resume(Token::parse("AAAAAAAAAAAAAAAAAAAAAA").unwrap())
        .unwrap();
    assert!(lease.renew().await.is_err());
    assert!(lease.exec(&[]).await.is_err());
    assert!(lease.commit(&[]).await.is_err());
    assert!(lease.release().await.is_err());
    let _ = lease.into_token();
    // Those that were given up are abandoned in the background.
    tokio::task::yield_now().await;
}
