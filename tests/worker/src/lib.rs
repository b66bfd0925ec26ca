//! A Worker each of whose routes makes one call of the client, for callers that hang up.
//!
//! `GET /VERB?name=…&signal=…&work=…`: the lock's name, whether the client gets the request's
//! signal, and an address that the work fetches. With `others=URL|CREDENTIAL,…` a majority of these
//! bridges and its own has the lock.

use std::collections::HashMap;
use std::time::Duration;

use edgelock::web::{Client, Fetch as Fetching, Host, Lock};
use edgelock::{Bridge, Command, Decision, Error, GroupCommit, Reply, Section};
use worker::{Context, Env, Fetch, Request, Response, Result, Url, event};

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let asked: HashMap<String, String> = request.query()?;
    let mut client = Client::from_env(&env, &context)?;
    // Servers that were started lately have no say in a lock with a long ttl.
    let mut ttl = Duration::from_secs(600);
    if let Some(others) = asked.get("others") {
        let others = others.split(',').filter_map(|other| other.split_once('|'));
        let others = others.map(|(url, credential)| Bridge::upstash(url, credential));
        let bridges = [Bridge::from_env(&env)].into_iter().chain(others);
        let bridges = bridges.collect::<std::result::Result<Vec<_>, _>>()?;
        client = Client::quorum(bridges, Fetching::default(), Host::from(&context))?;
        ttl = Duration::from_secs(3);
    }
    if let Ok(bridge) = env.service("BRIDGE") {
        client = client.by(&bridge);
    }
    if asked["signal"] == "yes" {
        client = client.signal(&request.inner().signal());
    }
    let (name, work) = (&asked["name"], &asked["work"]);
    let lock = client.lock(name).ttl(ttl);
    let lock = lock.wait_timeout(Duration::from_secs(20));
    match done(&request.path(), &client, name, &lock, work).await {
        Ok(text) => Response::ok(text),
        Err(error) => Response::error(format!("{}: {error}", error.code()), 500),
    }
}

type Done = std::result::Result<String, Error>;

async fn done(verb: &str, client: &Client, name: &str, lock: &Lock, work: &str) -> Done {
    let count = &[Command::new("INCR").key(COUNT_KEY)];
    match verb {
        "/acquire" => {
            let lease = lock.acquire().await?;
            works(work).await;
            lease.release().await?;
        }
        "/read" => {
            let get = [Command::new("GET").key(COUNT_KEY)];
            let (lease, _) = lock.acquire_and_read(&get).await?;
            works(work).await;
            lease.commit(count).await?;
        }
        "/commit" => drop(lock.acquire().await?.commit(count).await?),
        "/exec" => {
            let lease = lock.acquire().await?;
            lease.exec(count).await?;
            lease.release().await?;
        }
        "/run" => {
            let run = lock.run(async |lease| {
                works(work).await;
                lease.exec(&[]).await
            });
            run.await?;
        }
        "/debounce" => {
            let debounce = client.debounce(name, Duration::from_secs(1));
            debounce.run(async || counts(client, work).await).await?;
        }
        "/once" => {
            let once = client.once(name).ttl(Duration::from_secs(600));
            let outcome = once.run(async |_| counts(client, work).await).await;
            return outcome.map(|outcome| outcome.into_value());
        }
        // The next handler has the token; here it is as if that never came.
        "/hand-over" => {
            let token = lock.acquire().await?.into_token();
            works(work).await;
            return Ok(token.expose().to_owned());
        }
        "/turn" => {
            let (group, key) = (COUNT.with(GroupCommit::clone), COUNT_KEY.to_owned());
            let lock = lock.clone().ttl(Duration::from_secs(3));
            return Ok(group.submit(&lock, key).await?.to_string());
        }
        _ => panic!("no such verb: {verb}"),
    }
    Ok("done".to_owned())
}

const COUNT_KEY: &str = "{sku}:count";

/// The work of a call, which takes as long as whoever answers the address likes.
async fn works(address: &str) {
    let url = Url::parse(address).expect("an address");
    let mut answer = Fetch::Url(url).send().await.expect("an answer");
    answer.text().await.expect("a text");
}

/// Work, and then a count under a lock of its own.
async fn counts(client: &Client, work: &str) -> Done {
    works(work).await;
    let lease = client.lock("counted").acquire().await?;
    lease.commit(&[Command::new("INCR").key(COUNT_KEY)]).await?;
    Ok("worked".to_owned())
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
