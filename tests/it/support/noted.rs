//! A transport that notes the keys of what is asked, and answers nothing.

use std::sync::{Arc, Mutex};

use edgelock::{
    Bridge, Client, EntropyUnavailable, Error, Lock, Once, Request, Response, Runtime, Token,
    Transport, TransportError,
};

use super::kinds::Kind;
use super::{Tokio, as_tokio};

/// A transport that notes the keys of every request, and answers none.
#[derive(Clone, Default)]
pub(crate) struct Noted(Arc<Mutex<Vec<String>>>);

impl Transport for Noted {
    async fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let words: Vec<String> = serde_json::from_str(&request.body).expect("a command");
        let count: usize = words[2].parse().expect("a number of keys");
        let (keys, args) = words[3..].split_at(count);
        let channels = args.iter().filter_map(|arg| channel(arg));
        let mut noted = self.0.lock().expect("keys");
        noted.extend(keys.iter().cloned().chain(channels));
        Err(TransportError::NoResponse("noted".into()))
    }
}

/// The waiter's channel, if `arg` is the argument that describes a waiter.
fn channel(arg: &str) -> Option<String> {
    let channel = arg.splitn(6, ' ').nth(5)?;
    channel.contains(":wake:").then(|| channel.to_owned())
}

/// A runtime whose random bytes are always the same.
#[derive(Default)]
pub(crate) struct Drawn(Tokio);

/// So this is the token of every acquisition.
const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAA";

impl Runtime for Drawn {
    as_tokio! { now sleep spawn }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        bytes.fill(0);
        Ok(())
    }
}

pub(crate) type NotedLock = Lock<Noted, Drawn>;

/// A client, and the notes of its requests.
pub(crate) fn noting() -> (Client<Noted, Drawn>, Noted) {
    let noted = Noted::default();
    let bridge = Bridge::upstash("http://127.0.0.1:1", "credential").expect("a bridge");
    let client = Client::new(bridge, noted.clone(), Drawn::default());
    (client.max_attempts(1), noted)
}

impl Noted {
    /// Whether anything was sent.
    pub(crate) fn was_asked(&self) -> bool {
        !self.0.lock().expect("keys").is_empty()
    }

    /// What each kind of lock and of call has of keys, if it may have this name.
    pub(crate) async fn keys_of_each(
        &self,
        client: &Client<Self, Drawn>,
        name: &str,
    ) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for kind in Kind::ALL {
            let lock = kind.lock(client, &[name], "me");
            if let Err(error) = lock.check() {
                assert_eq!(error.code(), "invalid_argument");
                continue;
            }
            let keys = self.keys_of(&lock).await;
            assert!(keys.iter().any(|key| key.ends_with(name)) && keys.len() > 5);
            all.push(keys);
        }
        let once = client.once(name);
        if once.check().is_ok() {
            all.push(self.keys_of_once(once).await);
        }
        all.extend(self.keys_of_paced(client, name).await);
        all
    }

    /// The keys of a request for the result of `once`.
    async fn keys_of_once(&self, once: Once<Self, Drawn>) -> Vec<String> {
        self.0.lock().expect("keys").clear();
        let work = async |_: &_| -> Result<String, Error> { panic!("the work is not begun") };
        let outcome = once.wait_timeout(super::ms(1)).run_text(work).await;
        assert!(outcome.is_err());
        tokio::task::yield_now().await;
        std::mem::take(&mut *self.0.lock().expect("keys"))
    }

    /// The keys of the throttle and of the debounce `name`, or the error if the name is invalid.
    async fn keys_of_paced(
        &self,
        client: &Client<Self, Drawn>,
        name: &str,
    ) -> Result<Vec<String>, Error> {
        let throttle = client.throttle(name, super::ms(1));
        let debounce = client.debounce(name, super::ms(1));
        throttle.check()?;
        self.0.lock().expect("keys").clear();
        let work = async || -> Result<(), Error> { panic!("the work is not begun") };
        assert!(throttle.try_pass().await.is_err() && debounce.run(work).await.is_err());
        tokio::task::yield_now().await;
        Ok(std::mem::take(&mut *self.0.lock().expect("keys")))
    }

    /// The keys of every operation of `lock`, and the channels of its waiters.
    async fn keys_of(&self, lock: &NotedLock) -> Vec<String> {
        self.0.lock().expect("keys").clear();
        assert!(lock.try_acquire().await.is_err());
        let waits = lock.clone().wait_timeout(super::ms(1));
        assert!(waits.acquire().await.is_err());
        assert!(lock.inspect().await.is_err());
        assert!(lock.force_release().await.is_err());
        let lease = lock.resume(Token::parse(TOKEN).expect("a token"));
        let lease = lease.expect("a lease");
        assert!(lease.renew().await.is_err());
        assert!(lease.exec(&[]).await.is_err());
        assert!(lease.commit(&[]).await.is_err());
        assert!(lease.release().await.is_err());
        let _ = lease.into_token();
        // What was given up is abandoned in the background.
        tokio::task::yield_now().await;
        std::mem::take(&mut *self.0.lock().expect("keys"))
    }
}

/// Names of up to eight of `parts`. They are the same in each run.
pub(crate) fn names<'a>(parts: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    let mut random = 1_u64;
    let mut next = move |below: usize| {
        // The constants are those of Knuth's MMIX.
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    std::iter::repeat_with(move || {
        let length = next(8) + 1;
        (0..length).map(|_| parts[next(parts.len())]).collect()
    })
}
