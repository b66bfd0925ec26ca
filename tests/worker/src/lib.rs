//! A Worker each of whose routes makes one call of the client, for callers that hang up.
//!
//! `GET /VERB?name=…&signal=…&work=…`: the lock's name, whether the client gets the request's
//! signal, and an address that the work fetches. With `others=URL|CREDENTIAL,…` a majority of these
//! bridges and its own has the lock.

use std::time::Duration;

use edgelock::web::{Client, Fetch as Fetching, Host, Lease, Lock};
use edgelock::{Bridge, Command, Decision, Error, GroupCommit, Reply, Section};
use worker::{Context, Env, Fetch, Request, Response, Result, Url, event};

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let url = request.url()?;
    let asked = |name: &str| {
        let mut pairs = url.query_pairs();
        let found = pairs.find(|(known, _)| known == name);
        found.map_or(String::new(), |(_, value)| value.into_owned())
    };
    let mut client = Client::from_env(&env, &context)?;
    let others = asked("others");
    if !others.is_empty() {
        let others = others.split(',').filter_map(|other| other.split_once('|'));
        let others = others.map(|(url, credential)| Bridge::upstash(url, credential));
        let bridges: std::result::Result<Vec<_>, _> =
            [Bridge::from_env(&env)].into_iter().chain(others).collect();
        client = Client::quorum(bridges?, Fetching::default(), Host::from(&context))?;
    }
    if let Ok(bridge) = env.service("BRIDGE") {
        client = client.by(&bridge);
    }
    client = client.request_timeout(Duration::from_secs(2));
    if asked("signal") == "yes" {
        client = client.signal(&request.inner().signal());
    }
    let (name, work) = (asked("name"), asked("work"));
    let lock = client
        .lock(&name)
        .ttl(Duration::from_secs(600))
        .wait_timeout(Duration::from_secs(20));
    let done = match url.path() {
        "/acquire" => acquire(&lock, &work).await,
        "/read" => read(&lock, &work).await,
        "/commit" => commit(&lock).await,
        "/run" => lock.run(async |lease| in_run(lease, &work).await).await,
        "/exec" => exec(&lock).await,
        "/debounce" => debounce(&client, &name, &work).await,
        // Servers that were started lately have no say in a lock with a long ttl.
        "/several" => {
            let lock = lock.ttl(Duration::from_secs(3));
            lock.run(async |lease| run_for_ever(lease, &work).await)
                .await
        }
        "/once" => once(&client, &name, &work).await,
        "/hand-over" => hand_over(&lock, &work).await,
        "/turn" => turn(&lock).await,
        _ => return Response::error("no such route", 404),
    };
    match done {
        Ok(text) => Response::ok(text),
        Err(error) => Response::error(format!("{}: {error}", error.code()), 500),
    }
}

const COUNT_KEY: &str = "{sku}:count";

type Done = std::result::Result<String, Error>;

/// The work of a call, which takes as long as whoever answers the address likes.
async fn works(address: &str) {
    let url = Url::parse(address).expect("an address");
    let mut answer = Fetch::Url(url).send().await.expect("an answer");
    answer.text().await.expect("a text");
}

async fn acquire(lock: &Lock, work: &str) -> Done {
    let lease = lock.acquire().await?;
    works(work).await;
    lease.release().await?;
    Ok("released".to_owned())
}

async fn read(lock: &Lock, work: &str) -> Done {
    let (lease, _) = lock
        .acquire_and_read(&[Command::new("GET").key(COUNT_KEY)])
        .await?;
    works(work).await;
    lease.commit(&[Command::new("INCR").key(COUNT_KEY)]).await?;
    Ok("committed".to_owned())
}

/// The write is what takes long.
async fn commit(lock: &Lock) -> Done {
    let lease = lock.acquire().await?;
    lease.commit(&[Command::new("INCR").key(COUNT_KEY)]).await?;
    Ok("committed".to_owned())
}

async fn exec(lock: &Lock) -> Done {
    let lease = lock.acquire().await?;
    lease.exec(&[Command::new("INCR").key(COUNT_KEY)]).await?;
    lease.release().await?;
    Ok("executed".to_owned())
}

async fn debounce(client: &Client, name: &str, work: &str) -> Done {
    let debounce = client.debounce(name, Duration::from_secs(1));
    let outcome = debounce.run(async || counts(client, work).await);
    outcome.await.map(|outcome| format!("{outcome:?}"))
}

/// Work, and then a count under a lock of its own.
async fn counts(client: &Client, work: &str) -> Done {
    works(work).await;
    let lease = client.lock("counted").acquire().await?;
    lease.commit(&[Command::new("INCR").key(COUNT_KEY)]).await?;
    Ok("worked".to_owned())
}

async fn run_for_ever(_: &Lease, work: &str) -> Done {
    works(work).await;
    Ok("worked".to_owned())
}

async fn in_run(lease: &Lease, work: &str) -> Done {
    works(work).await;
    lease.exec(&[]).await?;
    Ok("worked".to_owned())
}

async fn once(client: &Client, name: &str, work: &str) -> Done {
    let once = client.once(name).ttl(Duration::from_secs(600));
    let outcome = once.run(async |_| counts(client, work).await);
    outcome.await.map(|outcome| outcome.into_value())
}

/// The next handler has the token; here it is as if that never came.
async fn hand_over(lock: &Lock, work: &str) -> Done {
    let lease = lock.acquire().await?;
    let token = lease.into_token();
    works(work).await;
    Ok(token.expose().to_owned())
}

struct Count;

thread_local! {
    static COUNT: GroupCommit<Count> = GroupCommit::new(Count);
}

impl Section for Count {
    type Item = String;
    type Answer = i64;
    type State = i64;

    fn reads(&self, key: &String) -> Vec<Command> {
        vec![Command::new("GET").key(key)]
    }

    fn decide(&self, key: &String, read: &[Reply], more: &mut i64, _: u64) -> Decision<i64> {
        *more += 1;
        let number = read[0].as_i64().unwrap_or(0) + *more;
        Decision::Write(vec![Command::new("INCR").key(key)], number)
    }
}

async fn turn(lock: &Lock) -> Done {
    let group = COUNT.with(GroupCommit::clone);
    let lock = lock.clone().ttl(Duration::from_secs(3));
    group
        .submit(&lock, COUNT_KEY.to_owned())
        .await
        .map(|number| number.to_string())
}
