//! Every call of the client that reads a response.

use std::time::Duration;

use edgelock::{Bridge, Client, Command, Error, Lease, Lock, Token};

use crate::host::{CREDENTIAL, Host, TOKEN};

/// How many calls, kinds and bridges there are.
pub(crate) const CALLS: u8 = 14;
pub(crate) const KINDS: u8 = 6;
pub(crate) const BRIDGES: u8 = 4;

const MS: Duration = Duration::from_millis(1);

pub(crate) fn client(number: u8, host: &Host) -> Client<Host, Host> {
    let upstash = |url| Bridge::upstash(url, CREDENTIAL).expect("a bridge");
    let (transport, runtime) = (host.clone(), host.clone());
    let client = match number {
        0 => Client::new(upstash("https://a.example"), transport, runtime),
        1 => {
            let bridge = upstash("https://a.upstash.io").script_cache(true);
            Client::new(bridge, transport, runtime)
        }
        2 => {
            let bridge = Bridge::webdis("https://a.example", "user", CREDENTIAL);
            Client::new(bridge.expect("a bridge"), transport, runtime)
        }
        _ => {
            let three = ["https://a.example", "https://b.example", "https://c.example"];
            Client::quorum(three.map(upstash), transport, runtime).expect("a quorum")
        }
    };
    client.max_attempts(2)
}

fn lock(kind: u8, client: &Client<Host, Host>) -> Lock<Host, Host> {
    let lock = match kind {
        0 => client.lock("a"),
        1 => client.reentrant("a", "me"),
        2 => client.semaphore("a", 3),
        3 => client.read_write("a").read(),
        4 => client.read_write("a").write(),
        _ => client.lock_all(["a:{1}", "b:{1}"]),
    };
    lock.wait_timeout(500 * MS).max_requests(8)
}

/// The outcome of this `call` of a lock of this `kind`.
pub(crate) async fn call(
    call: u8,
    kind: u8,
    client: &Client<Host, Host>,
) -> Result<&'static str, Error> {
    let lock = lock(kind, client);
    let get = || Command::new("GET").key("b:{1}");
    let set = || Command::new("SET").key("b:{1}").arg("1");
    match call {
        0 => lock.try_acquire().await?.release().await.map(|()| "released"),
        1 => lock.acquire().await?.commit(&[set()]).await.map(|_| "committed"),
        2 => lock.acquire_and_read(&[get()]).await.map(|_| "acquired"),
        3 => {
            let lease = lock.acquire().await?;
            lease.renew().await?;
            lease.exec(&[set(), get()]).await.map(|_| "executed")
        }
        4 => lock.inspect().await.map(|_| "inspected"),
        5 => lock.force_release().await.map(|_| "forced"),
        6 => client.read(&[get()]).await.map(|_| "read"),
        7 => {
            let work = async |_: &Lease<Host, Host>| Ok::<_, Error>("x".to_owned());
            let once = client.once("a").wait_timeout(500 * MS).max_requests(8);
            let outcome = once.run_text(work).await?;
            Ok(if outcome.is_replayed() { "replayed" } else { "executed once" })
        }
        8 => {
            let passed = client.throttle("a", MS).try_pass().await?;
            Ok(if passed.is_passed() { "passed" } else { "throttled" })
        }
        9 => {
            let work = async || Ok::<_, Error>(());
            let outcome = client.debounce("a", MS).run(work).await?;
            Ok(outcome.executed().map_or("superseded", |()| "debounced"))
        }
        10 => lock.run(async |_| Ok::<_, Error>("run")).await,
        11 => {
            let lease = lock.resume(Token::parse(TOKEN)?)?;
            lease.renew().await?;
            lease.commit(&[]).await.map(|_| "resumed")
        }
        12 => {
            let lease = client.read_write("a").write().try_acquire().await?;
            lease.downgrade().await.map(|()| "downgraded")
        }
        _ => {
            let replicated = lock.wait_for_replicas(1, 100 * MS);
            replicated.try_acquire().await.map(|_| "replicated")
        }
    }
}
