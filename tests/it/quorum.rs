//! A lock over several Redis servers that know nothing of each other: a majority of bridges grants
//! it, or nobody has it.

use std::rc::Rc;
use std::time::Duration;

use edgelock::{Bridge, Client, Command, Error, Lease};
use redis::ConnectionLike;
use testkit::stack::{self, RedisServer};
use tokio::task::JoinSet;

use crate::support::faulty::{Fault, Proxy};
use crate::support::kinds::Kind;
use crate::support::{
    Http, Section, TestClient, TestLock, Tokio, alone, code, eventually, ms, run,
};

alone! {
    a_lock_is_held_everywhere_renewed_everywhere_and_given_back_everywhere,
    a_minority_may_be_dead_or_mute,
    without_a_majority_it_is_unavailable_and_not_held,
    a_lease_that_a_majority_lost_is_lost_and_given_back_by_the_rest,
    a_lease_that_began_a_vote_short_is_held_everywhere_once_it_is_renewed_and_a_minority_may_go,
    a_release_that_one_of_three_did_and_another_could_not_get_is_unknown_and_ends_the_lease,
    a_vote_that_a_renewal_gets_brings_back_no_lease_that_was_forced_or_given_back,
    of_a_split_vote_nothing_is_left_and_somebody_wins,
    a_vote_that_is_lost_before_the_lock_is_granted_is_asked_for_again_while_there_is_time_to_wait,
    a_server_that_came_back_empty_has_no_say_until_a_ttl_has_passed,
    a_quorum_whose_servers_were_started_lately_says_so_and_not_that_another_holds_the_lock,
    a_server_whose_clock_was_set_back_behind_its_start_has_no_say,
    a_fence_is_higher_than_all_before_whichever_majority_issues_it,
    what_several_bridges_cannot_have_in_common_is_refused,
}

const NAME: &str = "sku:42";
const TTL: Duration = ms(2_000);

/// Bridges, each with a Redis of its own.
struct Bridges(Vec<stack::Bridge>);

impl Bridges {
    fn spawn(count: usize) -> Self {
        Self((0..count).map(|_| stack::Bridge::spawn()).collect())
    }

    fn client(&self) -> TestClient {
        client(self.0.iter())
    }

    /// The ttl is short, since the lock does not count servers that have been up for less.
    fn lock(&self) -> TestLock {
        lock(&self.client())
    }

    fn say(&self, bridge: usize, command: &str) -> redis::Value {
        say(&self.0[bridge], command)
    }

    /// How many servers have the lock.
    fn votes(&self) -> usize {
        let held = |bridge| say(bridge, &format!("EXISTS {NAME}")) == redis::Value::Int(1);
        self.0.iter().filter(|bridge| held(bridge)).count()
    }

    async fn no_vote_is_left(&self) {
        eventually(|| self.votes() == 0).await;
    }

    /// Waits until each server has been up long enough to be counted: a ttl, and one second more,
    /// since the first may be short.
    async fn grow_up(&self) {
        let is_grown = |bridge| {
            let info = redis::from_redis_value::<String>(self.say(bridge, "INFO server"));
            let info = info.expect("text");
            let up = info.lines().find_map(|line| line.strip_prefix("uptime_in_seconds:"));
            up.is_some_and(|up| up.parse::<u64>().expect("a number") > TTL.as_secs())
        };
        eventually(|| (0..self.0.len()).all(is_grown)).await;
    }
}

fn client<'a>(bridges: impl Iterator<Item = &'a stack::Bridge>) -> TestClient {
    Client::quorum(bridges.map(route), Http::default(), Tokio::default()).expect("a quorum")
}

fn route(bridge: &stack::Bridge) -> Bridge {
    Bridge::upstash(bridge.url(), bridge.token()).expect("a bridge")
}

fn lock(client: &TestClient) -> TestLock {
    let lock = client.lock(NAME);
    lock.ttl(TTL).wait_timeout(ms(20_000))
}

fn say(bridge: &stack::Bridge, command: &str) -> redis::Value {
    let mut words = command.split(' ');
    let mut cmd = redis::cmd(words.next().unwrap_or_default());
    words.for_each(|word| {
        cmd.arg(word);
    });
    let mut redis = bridge.redis().get_connection().expect("redis");
    redis.req_command(&cmd).expect("redis answers")
}

async fn a_lock_is_held_everywhere_renewed_everywhere_and_given_back_everywhere() {
    let bridges = Bridges::spawn(3);
    bridges.grow_up().await;
    let labelled = bridges.lock().label("worker 7");
    let lease = labelled.acquire().await.expect("free");
    eventually(|| bridges.votes() == 3).await;
    let other = bridges.lock().try_acquire().await;
    let Err(Error::Held { remaining: Some(left), label: Some(label), .. }) = other else {
        panic!("{other:?}")
    };
    assert!(left <= TTL && label == "worker 7");
    lease.renew().await.expect("held");
    let state = bridges.lock().inspect().await.expect("answers");
    let holder = state.holder.expect("a holder");
    assert_eq!(holder.token, *lease.token());
    assert_eq!(holder.label.as_deref(), Some("worker 7"));
    assert!(state.fence >= Some(lease.fence()));
    lease.release().await.expect("held");
    bridges.no_vote_is_left().await;
    assert_eq!(code(lease.renew().await), "released");
    let state = bridges.lock().inspect().await.expect("answers");
    assert_eq!(state.holder, None);
}

async fn a_minority_may_be_dead_or_mute() {
    let mut bridges = Bridges::spawn(5);
    bridges.grow_up().await;
    drop(bridges.0.pop());
    let mute = bridges.0.last().expect("four");
    mute.freeze();
    let dead = Bridge::upstash("http://127.0.0.1:1", "credential").expect("an address");
    let four = bridges.0.iter().map(route);
    let client = Client::quorum(four.chain([dead]), Http::default(), Tokio::default());
    let lock = lock(&client.expect("a quorum"));
    let done = lock
        .run(async |lease: &Lease<_, _>| {
            lease.renew().await?;
            Ok::<_, Error>(bridges.votes())
        })
        .await;
    assert_eq!(done, Ok(3));
    mute.wake();
    bridges.no_vote_is_left().await;
}

async fn without_a_majority_it_is_unavailable_and_not_held() {
    let mut bridges = Bridges::spawn(3);
    bridges.grow_up().await;
    let client = bridges.client();
    bridges.0.truncate(1);
    let error = lock(&client).try_acquire().await.expect_err("one of three");
    assert_eq!(error.code(), "unavailable", "{error}");
    let error = lock(&client).inspect().await.expect_err("one of three");
    assert_eq!(error.code(), "unavailable", "{error}");
    bridges.no_vote_is_left().await;
}

async fn a_lease_that_a_majority_lost_is_lost_and_given_back_by_the_rest() {
    let bridges = Bridges::spawn(3);
    bridges.grow_up().await;
    let lease = bridges.lock().acquire().await.expect("free");
    eventually(|| bridges.votes() == 3).await;
    bridges.say(0, &format!("DEL {NAME}"));
    bridges.say(1, &format!("DEL {NAME}"));
    assert_eq!(code(lease.renew().await), "lost");
    bridges.no_vote_is_left().await;
    assert_eq!(code(lease.release().await), "lost");
}

async fn a_lease_that_began_a_vote_short_is_held_everywhere_once_it_is_renewed_and_a_minority_may_go()
 {
    let mut bridges = Bridges::spawn(3);
    bridges.grow_up().await;
    bridges.say(2, &format!("SET {NAME} other"));
    let lease = bridges.lock().acquire().await.expect("two of three");
    lease.renew().await.expect("held by two");
    assert_eq!(bridges.say(2, &format!("DEL {NAME}")), redis::Value::Int(1));
    lease.renew().await.expect("held by two");
    let vote = redis::Value::BulkString(lease.token().expose().into());
    eventually(|| bridges.say(2, &format!("GET {NAME}")) == vote).await;
    let fence = bridges.say(2, &format!("GET {{{NAME}}}:fence"));
    let fence: String = redis::from_redis_value(fence).expect("text");
    let [_, last, _, token, of_hold, ..] = *fence.split(' ').collect::<Vec<_>>() else {
        panic!("{fence}")
    };
    let raised = (lease.fence().to_string(), lease.token().expose());
    assert_eq!((of_hold.to_owned(), token), raised);
    assert!(last.parse::<u64>().expect("a number") >= lease.fence());
    drop(bridges.0.remove(0));
    for _ in 0..3 {
        lease.renew().await.expect("held by two");
    }
    lease.release().await.expect("held by two");
    bridges.no_vote_is_left().await;
}

/// Of the two votes that the lease had, one is given back. Then others can get a majority.
async fn a_release_that_one_of_three_did_and_another_could_not_get_is_unknown_and_ends_the_lease() {
    for is_forced in [false, true] {
        let bridges = Bridges::spawn(3);
        bridges.grow_up().await;
        let lock = bridges.lock().wait_timeout(Duration::ZERO);
        bridges.say(2, &format!("SET {NAME} other"));
        let lease = lock.acquire().await.expect("two of three");
        bridges.say(2, &format!("DEL {NAME}"));
        // It refuses all writes, so it is known to have done nothing.
        bridges.say(0, "CONFIG SET min-replicas-to-write 1");
        let released = match is_forced {
            true => lock.force_release().await.map(drop),
            false => lease.release().await,
        };
        let error = released.expect_err("one of three");
        assert_eq!(error.code(), "unavailable");
        assert!(error.is_outcome_unknown(), "{error}");
        if !is_forced {
            assert_eq!(lease.remaining(), Duration::ZERO);
            assert_eq!(code(lease.renew().await), "released");
        }
        drop(lock.acquire().await.expect("two of three"));
    }
}

async fn a_vote_that_a_renewal_gets_brings_back_no_lease_that_was_forced_or_given_back() {
    let bridges = Bridges::spawn(3);
    bridges.grow_up().await;
    let lease = bridges.lock().acquire().await.expect("free");
    assert!(bridges.lock().force_release().await.expect("answers"));
    for _ in 0..3 {
        assert!(lease.renew().await.is_err());
    }
    bridges.no_vote_is_left().await;
    let lease = bridges.lock().acquire().await.expect("free");
    let mine = |lock: TestLock| lock.resume(lease.token().clone()).expect("a token");
    let other = mine(bridges.lock());
    other.renew().await.expect("held");
    lease.release().await.expect("held");
    for _ in 0..3 {
        assert!(other.renew().await.is_err());
        assert_eq!(bridges.votes(), 0);
    }
}

async fn of_a_split_vote_nothing_is_left_and_somebody_wins() {
    let bridges = Bridges::spawn(4);
    bridges.grow_up().await;
    for bridge in [0, 1] {
        bridges.say(bridge, &format!("SET {NAME} another PX 300000"));
    }
    let error = bridges.lock().try_acquire().await.expect_err("two of four");
    assert!(matches!(error, Error::Held { remaining: Some(left), .. } if left > TTL));
    eventually(|| bridges.votes() == 2).await;
    bridges.say(0, &format!("DEL {NAME}"));
    let lease = bridges.lock().try_acquire().await.expect("three of four");
    lease.release().await.expect("held");
    bridges.say(1, &format!("DEL {NAME}"));

    let mut contenders = JoinSet::new();
    for _ in 0..4 {
        let lock = bridges.lock();
        contenders.spawn_local(async move { lock.acquire().await?.release().await });
    }
    while let Some(done) = contenders.join_next().await {
        done.expect("no panic").expect("its turn came");
    }
    bridges.no_vote_is_left().await;
}

async fn a_vote_that_is_lost_before_the_lock_is_granted_is_asked_for_again_while_there_is_time_to_wait()
 {
    let bridges = Bridges::spawn(3);
    bridges.grow_up().await;
    // The vote passes, and what raises the fence is held up on the way to a majority.
    let held_up = async |index: usize| {
        let bridge = &bridges.0[index];
        let route = |url: &str| Bridge::upstash(url, bridge.token()).expect("a bridge");
        Proxy::to(bridge.url(), route, [Fault::Pass, Fault::Delay]).await
    };
    let proxies = [held_up(0).await, held_up(1).await];
    let urls = [&proxies[0].url as &str, &proxies[1].url, bridges.0[2].url()];
    let routes = urls.iter().zip(&bridges.0);
    let routes = routes.map(|(url, one)| Bridge::upstash(url, one.token()).expect("a bridge"));
    let client = Client::quorum(routes, Http::default(), Tokio::default()).expect("a quorum");
    let forget = async {
        eventually(|| proxies.iter().all(|proxy| proxy.seen().len() == 2)).await;
        for (index, proxy) in proxies.iter().enumerate() {
            bridges.say(index, &format!("DEL {NAME}"));
            proxy.deliver().await;
        }
    };
    let lock = lock(&client);
    let (lease, ()) = tokio::join!(lock.acquire(), forget);
    let lease = lease.expect("there is time to wait");
    lease.renew().await.expect("held");
}

async fn a_server_that_came_back_empty_has_no_say_until_a_ttl_has_passed() {
    let bridges = Bridges::spawn(3);
    bridges.grow_up().await;
    bridges.say(2, &format!("SET {NAME} another PX 300000"));
    let lease = bridges.lock().try_acquire().await.expect("two of three");
    bridges.say(2, &format!("DEL {NAME}"));
    // The first server lost all that it knew.
    let empty = stack::Bridge::spawn();
    let others = client([&empty, &bridges.0[1], &bridges.0[2]].into_iter());
    assert_eq!(code(lock(&others).try_acquire().await), "held");
    lease.renew().await.expect("held by two");
    lease.release().await.expect("held by two");
    let lease = lock(&others).acquire().await.expect("free");
    lease.release().await.expect("held");
}

async fn a_quorum_whose_servers_were_started_lately_says_so_and_not_that_another_holds_the_lock() {
    const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    let bridges = Bridges::spawn(3);
    let client = bridges.client().restart_quarantine(WEEK);
    // A wait that is shorter than the quarantine ends at once.
    let lock = lock(&client).wait_timeout(WEEK / 2);
    for asked in [lock.try_acquire().await, lock.acquire().await] {
        let error = asked.expect_err("no majority has a say");
        assert_eq!((error.code(), error.lock()), ("quarantined", Some(NAME)));
        assert!(error.retry_after() > Some(WEEK - ms(600_000)), "{error}");
        assert!(!error.is_outcome_unknown());
    }
    bridges.no_vote_is_left().await;
    let state = lock.inspect().await.expect("answers");
    assert_eq!((state.holder, state.fence), (None, None));
    assert!(state.quarantine_remaining > Some(WEEK - ms(600_000)));

    // Here a majority is counted.
    bridges.lock().acquire().await.expect("free").into_token();
    let state = bridges.lock().inspect().await.expect("answers");
    assert!(state.holder.is_some() && state.quarantine_remaining.is_none());
    let held = client.lock(NAME).inspect().await;
    // A state that names a holder counts as well.
    assert!(held.is_ok_and(|state| state.holder.is_some() && state.quarantine_remaining.is_none()));
}

/// A machine may boot with a clock that is ahead, and be set right when its Redis has started.
/// Redis then counts a negative time since its start.
async fn a_server_whose_clock_was_set_back_behind_its_start_has_no_say() {
    let mut server = RedisServer::with_clock().expect("a server");
    server.set_clock(3_600_000).expect("a clock");
    server.restart().expect("it starts");
    server.set_clock(0).expect("a clock");
    server.wait_until("its clock was set back", |server| {
        server.ask::<String>("INFO server").contains("uptime_in_seconds:-")
    });
    let bridge = stack::Bridge::options().redis(server.url()).start().expect("a bridge");
    let lock = lock(&client([&bridge].into_iter())).wait_timeout(Duration::ZERO);
    let error = lock.acquire().await.expect_err("it may have lost its locks");
    assert_eq!(error.code(), "quarantined", "{error}");
}

async fn a_fence_is_higher_than_all_before_whichever_majority_issues_it() {
    let mut bridges = Bridges::spawn(3);
    bridges.grow_up().await;
    let ahead = 1_u64 << 52;
    bridges.say(0, &format!("SET {{{NAME}}}:fence {ahead}"));
    // The server whose fence is ahead must be in the majority that answers first.
    bridges.0[2].freeze();
    let lease = bridges.lock().try_acquire().await.expect("two of three");
    assert_eq!(lease.fence(), ahead + 1);
    bridges.0[2].wake();
    lease.release().await.expect("held");
    bridges.no_vote_is_left().await;
    let client = bridges.client();
    drop(bridges.0.remove(0));
    // The server that was frozen may take the vote of before only now, and give it back.
    let later = lock(&client).acquire().await.expect("two of three");
    assert!(later.fence() > ahead + 1, "{}", later.fence());
    later.release().await.expect("held");
}

async fn what_several_bridges_cannot_have_in_common_is_refused() {
    let bridges = Bridges::spawn(1);
    let client = bridges.client();
    let refused = |error: Error, word: &str| {
        assert_eq!(error.code(), "invalid_argument", "{error}");
        assert!(error.to_string().contains(word), "{error}");
    };
    let get = Command::new("GET").key("{sku:42}:stock");
    for kind in Kind::Mutex.others() {
        let lock = kind.lock(&client, &[NAME, "{sku:42}:b"], "owner");
        let refusal = lock.try_acquire().await.expect_err("one bridge");
        refused(refusal, "one bridge");
    }
    let reads = [get];
    refused(client.read(&reads).await.expect_err("which?"), "`shard_of`");
    let lock = || bridges.lock();
    for (lock, word) in [
        (lock().fair(true), "fair"),
        (lock().wait_for_replicas(1, ms(100)), "replicas"),
        (lock().signal_list("list"), "signal list"),
    ] {
        refused(lock.acquire().await.expect_err("one Redis"), word);
    }
    let throttled = client.throttle(NAME, TTL).try_pass().await;
    refused(throttled.expect_err("one Redis"), "one bridge");
    let debounce = client.debounce(NAME, TTL);
    let debounced = debounce.run(async || Ok::<_, Error>(())).await;
    refused(debounced.expect_err("one Redis"), "one bridge");
    let read = lock().acquire_and_read(&reads).await;
    refused(read.expect_err("no data"), "fence");
    let tried = lock().try_acquire_and_read(&reads).await;
    refused(tried.expect_err("no data"), "fence");
    let lease = lock().acquire().await.expect("free");
    refused(lease.exec(&reads).await.expect_err("no data"), "fence");
    refused(lease.commit(&reads).await.expect_err("no data"), "fence");
    let tried = bridges.lock().try_acquire_and_read(&[]).await;
    assert!(matches!(tried, Ok((None, replies)) if replies.is_empty()));
    lease.commit(&[]).await.expect("a release");
    bridges.no_vote_is_left().await;
}

#[test]
fn of_32_workers_one_at_a_time_is_inside_while_two_of_five_servers_fail() {
    const WORKERS: u32 = 32;
    run(async {
        let mut servers: Vec<_> = (0..5).map(|_| RedisServer::start(&[])).collect();
        let before = |server: &RedisServer| stack::Bridge::options().redis(server.url()).start();
        let bridges = servers.iter().map(|server| before(server).unwrap());
        let bridges: Vec<_> = bridges.collect();
        let section = Rc::new(Section::default());
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            let lock = lock(&client(bridges.iter())).wait_timeout(ms(240_000));
            let (lock, section) = (lock.max_requests(10_000), section.clone());
            workers.spawn_local(async move {
                let enter = async |lease: &Lease<_, _>| {
                    section.enter(lease.fence()).await;
                    Ok::<_, Error>(())
                };
                lock.run(enter).await
            });
        }
        eventually(|| section.entered() >= 5).await;
        servers[3].freeze();
        eventually(|| section.entered() >= 10).await;
        servers[4].kill();
        while let Some(worker) = workers.join_next().await {
            worker.expect("one at a time").expect("its turn came");
        }
        assert_eq!(section.entered(), WORKERS);
        // The server now executes what it was sent meanwhile.
        servers[3].wake();
        let is_free = |server: &RedisServer| !server.ask::<bool>(&format!("EXISTS {NAME}"));
        eventually(|| servers[..4].iter().all(is_free)).await;
    });
}

#[test]
fn a_lock_over_several_bridges_is_renewed_for_no_longer_than_one_that_came_back_empty_is_kept_from_a_say()
 {
    run(async {
        let bridges = Bridges::spawn(3);
        let lease = bridges.lock().acquire().await.unwrap();
        lease.renew_for(TTL).await.expect("no longer than the ttl");
        let refused = lease.renew_for(TTL + ms(1)).await;
        assert_eq!(code(refused), "invalid_argument");
        let client = bridges.client().restart_quarantine(2 * TTL);
        let resumed = lock(&client).resume(lease.into_token()).unwrap();
        let renewed = resumed.renew_for(2 * TTL).await;
        renewed.expect("no longer than the quarantine");
        assert!(resumed.remaining() > TTL);
        let refused = resumed.renew_for(2 * TTL + ms(1)).await;
        assert_eq!(code(refused), "invalid_argument");
        resumed.release().await.unwrap();
    });
}
