//! Calls in an order for which other locks have errors of their own.

use std::time::Duration;

use edgelock::native::{Http, Tokio};
use edgelock::{Bridge, Command, Error, Token};

use crate::support::{Stack, TestClient, client_of, code, ms, over};

over! {
    [spawn] {
        a_call_that_waits_for_a_lease_of_its_own_client_is_told_so,
        what_others_refuse_is_an_answer_here,
        a_lease_that_was_given_back_says_so_to_whatever_is_asked,
        data_under_the_name_of_a_lock_is_told_from_a_holder,
        a_write_that_cannot_be_sent_is_told_and_changes_nothing,
    }
}

async fn a_call_that_waits_for_a_lease_of_its_own_client_is_told_so(stack: Stack) {
    let (client, names) = (stack.client(), ["a", "b"].map(str::to_owned));
    let (short, lock) = (ms(50), client.lock("a").label("first"));
    let told = |outcome: Result<_, Error>| {
        let error = outcome.map(drop).expect_err("it is held");
        let (holder, _) = error.to_string().split_once(" (").map(owned).expect("when");
        holder
    };
    let nested = lock.run(async |_| {
        let inner = client.lock("a").wait_timeout(short);
        let own = r#"lock "a" is held by "first", another lease of this client"#;
        assert_eq!(told(inner.run(async |_| Ok::<_, Error>(())).await), own);
        let both = client.lock_all(names.clone()).wait_timeout(short);
        assert_eq!(told(both.acquire().await.map(drop)), own);
        // Another client's is not.
        let other = stack.client().lock("a").wait_timeout(short);
        let said = told(other.acquire().await.map(drop));
        assert_eq!(said, r#"lock "a" is held by "first""#);
        Ok::<_, Error>(())
    });
    nested.await.expect("held");
    let both = client.lock_all(names).acquire().await.expect("free");
    let waiting = client.lock("b").wait_timeout(short);
    let said = told(waiting.acquire().await.map(drop));
    assert_eq!(said, r#"lock "b" is held by another lease of this client"#);
    both.release().await.expect("held");
    // What was given back, or handed over, is not its own any more.
    let lease = lock.acquire().await.expect("free");
    let _resumed = stack.client().lock("a").resume(lease.into_token());
    let waiting = client.lock("a").wait_timeout(short);
    let said = told(waiting.acquire().await.map(drop));
    assert_eq!(said, r#"lock "a" is held by "first""#);
}

fn owned((left, right): (&str, &str)) -> (String, String) {
    (left.to_owned(), right.to_owned())
}

async fn what_others_refuse_is_an_answer_here(stack: Stack) {
    let lock = stack.lock("a");
    // There is no "acquired already": a lease is held, not a lock, and that lease goes on.
    let lease = lock.try_acquire().await.unwrap();
    let again = lock.try_acquire().await;
    assert!(matches!(again, Err(Error::Held { .. })), "{again:?}");
    // A wait of zero is a single try.
    let hurried = lock.clone().wait_timeout(Duration::ZERO).acquire().await;
    assert!(matches!(hurried, Err(Error::Held { .. })), "{hurried:?}");
    lease.release().await.unwrap();
    // A wait may be longer than the ttl, its own and that of a holder that never releases.
    let short = lock.ttl(ms(1_000)).wait_timeout(ms(60_000));
    let _ = short.try_acquire().await.unwrap().into_token();
    let patient = short.ttl(ms(5_000)).acquire().await.unwrap();
    patient.release().await.unwrap();
}

async fn a_lease_that_was_given_back_says_so_to_whatever_is_asked(mut stack: Stack) {
    let lock = stack.lock("a");
    let lease = lock.try_acquire().await.unwrap();
    lease.release().await.unwrap();
    let next = lock.try_acquire().await.unwrap();
    let incr = [Command::new("INCR").key("n")];
    assert_eq!(code(lease.release().await), "released");
    assert_eq!(code(lease.renew().await), "released");
    assert_eq!(code(lease.exec(&incr).await), "released");
    assert_eq!(code(lease.commit(&incr).await), "released");
    assert!(lease.remaining().is_zero());
    assert!(!stack.redis::<bool>("EXISTS n"));
    next.renew().await.unwrap();
    next.release().await.unwrap();
}

const NO_HTTPS: &str =
    "the bridge's address does not begin with https://, nor with http:// on this machine";
const OF_REDIS: &str = "the bridge's address is that of Redis itself, which the bridge uses; give that of the bridge, which begins with https://";
const NO_URL: &str = "the bridge's address is empty; is its variable set?";
const NO_CREDENTIAL: &str = "the bridge's credential is empty; is its variable set?";
const STRANGE_CREDENTIAL: &str = "the bridge's credential has a blank or another character that no bearer token has; copy it again";
const NO_WEBDIS_USER: &str = "webdis's user or password is empty or has a control character, or the user has a colon; are their variables set?";
const WITH_A_NAME: &str =
    "the bridge's address holds a user name; give the credential as an argument of its own";
const STRANGE: &str =
    "the bridge's address has a query, a fragment or a strange path; most bridges want no path";
const NO_HOST: &str = "the bridge's address has no valid host and port";

fn told<O>(outcome: Result<O, Error>) -> String {
    let error = outcome.err().expect("a wrong use");
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error:?}");
    let text = error.to_string();
    text.strip_prefix("invalid argument: ").expect("its beginning").to_owned()
}

#[test]
fn an_address_or_a_credential_that_cannot_be_one_is_told_with_what_to_write() {
    for (url, what) in [
        ("", NO_URL),
        (" ", NO_URL),
        ("bridge.example", NO_HTTPS),
        ("127.0.0.1:8079", NO_HTTPS),
        ("redis://redis.example:6379", OF_REDIS),
        ("rediss://redis.example:6379", OF_REDIS),
        ("ftp://bridge.example", NO_HTTPS),
        ("redis://:secret@redis.example:6379", OF_REDIS),
        ("https://user:password@bridge.example", WITH_A_NAME),
        ("https://bridge.example/?_token=x", STRANGE),
        ("https://bridge.example/#x", STRANGE),
        ("https://bridge.example/a b", STRANGE),
        ("https://", NO_HOST),
        ("https://bridge.example:70000", NO_HOST),
        ("https://bridge.example:x", NO_HOST),
        ("https://[::1", NO_HOST),
        ("https://[::1]x", NO_HOST),
        ("https://[dead]", NO_HOST),
        ("https://[bridge]", NO_HOST),
        ("https://bridge.exam ple", NO_HOST),
        ("https:///path", NO_HOST),
        ("https://bridge.example/a\r\nx: y", STRANGE),
        ("http://localhost\\@bridge.example", WITH_A_NAME),
        (
            "http://bridge.example",
            "the bridge's address is plain http: to another machine, which would show the credential to the network; write https://, or allow plain HTTP",
        ),
    ] {
        assert_eq!(told(Bridge::upstash(url, "credential")), what, "{url}");
        assert_eq!(told(Bridge::webdis(url, "user", "password")), what, "{url}");
    }
    for (credential, what) in [
        ("", NO_CREDENTIAL),
        (" ", NO_CREDENTIAL),
        ("two words", STRANGE_CREDENTIAL),
        ("tab\there", STRANGE_CREDENTIAL),
        ("naïve", STRANGE_CREDENTIAL),
        ("line\nbreak", STRANGE_CREDENTIAL),
    ] {
        let made = Bridge::upstash("https://bridge.example", credential);
        assert_eq!(told(made), what, "{credential}");
    }
    let wrong = [("", "x"), ("x", ""), ("a:b", "x"), ("x", "a\nb"), ("\u{7}", "x")];
    for (user, password) in wrong {
        let made = Bridge::webdis("https://bridge.example", user, password);
        assert_eq!(told(made), NO_WEBDIS_USER);
    }
}

const EMPTY: &str = "the name is empty; is its variable set?";

/// The message about an argument that was given for this lock.
fn about(lock: &str, what: &str) -> String {
    match lock.char_indices().nth(100) {
        None => format!("{what} (for {lock:?})"),
        Some((end, _)) => format!("{what} (for \"{}…\")", &lock[..end]),
    }
}

fn offline() -> TestClient {
    client_of(Bridge::upstash("https://bridge.example", "credential").expect("a bridge"))
}

#[test]
fn a_lock_that_cannot_be_asked_for_is_told_with_what_to_write() {
    let client = offline();
    let long = "n".repeat(513);
    let belongs = "the name ends as a key that belongs to another lock: with `:fence`, `:queue`, `:holds`, `:lost`, `:readers`, `:result`, `:throttle`, `:debounce`, `:confirmed`, or `:receipt:…`, `:gone:…`, `:wake:…` behind a hash tag; choose another ending";
    let braces = "the name is all in braces, and would share its keys with the name between them; leave out the braces: the cluster slot stays the same";
    let outside = "the name has a `}` outside of a hash tag, so no other key can share its cluster slot; leave it out";
    for (name, what) in [
        ("", EMPTY),
        (
            long.as_str(),
            "the name has 513 bytes with its prefix, and may have 512; take a digest of what is longer",
        ),
        ("{a}:fence", belongs),
        ("{a}:queue", belongs),
        ("{a}:receipt:x", belongs),
        ("{a}", braces),
        ("{sku:42}", braces),
        ("a}", outside),
        ("}{", outside),
        ("{}a", outside),
        ("a{}{b}", outside),
    ] {
        let what = about(name, what);
        assert_eq!(told(client.lock(name).check()), what);
        assert_eq!(told(client.semaphore(name, 2).check()), what);
        assert_eq!(told(client.read_write(name).read().check()), what);
        assert_eq!(told(client.read_write(name).write().check()), what);
        assert_eq!(told(client.reentrant(name, "owner").check()), what);
        assert_eq!(told(client.once(name).check()), what);
        assert_eq!(told(client.throttle(name, ms(9)).check()), what);
        assert_eq!(told(client.debounce(name, ms(9)).check()), what);
    }
    for (owner, bytes) in [("", 0), (long.as_str(), 513)] {
        let what = format!("an owner has 1 to 512 bytes, and this one {bytes}");
        let reentrant = client.reentrant("a", owner);
        assert_eq!(told(reentrant.check()), about("a", &what));
    }
    let none = client.semaphore("a", 0);
    let what = about("a", "a semaphore has 1 permit or more, not 0");
    assert_eq!(told(none.check()), what);
    let many: Vec<String> = (0..33).map(|n| n.to_string()).collect();
    let none: [&str; 0] = [];
    let number = |count: usize| format!("names that are locked at once are 1 to 32, not {count}");
    assert_eq!(told(client.lock_all(none).check()), about("", &number(0)));
    let all = about(&many.join(", "), &number(33));
    assert_eq!(told(client.lock_all(&many).check()), all);
    for (names, what) in [
        (&["a", "b", "a"][..], "\"a\" is among the names twice"),
        (&["a", ""], EMPTY),
        (&["b", "{a}"], braces),
        (&["b", "a}"], outside),
    ] {
        let all = about(&names.join(", "), what);
        assert_eq!(told(client.lock_all(names).check()), all);
    }
    let signals = client.lock_all(["a", "b"]).signal_list("c");
    let what = "several names at once have no signal list: other programs' waiters block on a list of each name";
    assert_eq!(told(signals.check()), about("a, b", what));
}

#[test]
fn an_option_that_cannot_be_is_told_with_its_value_and_its_lock() {
    let client = offline();
    let no_ttl = |given: &str| {
        format!("a ttl is 4 ms to 366 days, in whole milliseconds (10 s are 10,000), not {given}")
    };
    let no_replicas = |given: &str| {
        format!(
            "a wait for replicas is for 1 or more of them, within 1 ms to 60 s, in whole milliseconds, not for {given}"
        )
    };
    let day = Duration::from_secs(86_400);
    let part = Duration::from_micros;
    for (ttl, given) in [
        (Duration::ZERO, "0 ms"),
        (ms(3), "3 ms"),
        (part(4_500), "4.500000 ms"),
        (Duration::from_nanos(10_000_001), "10.000001 ms"),
        (366 * day + ms(1), "31622400001 ms"),
        (Duration::MAX, "18446744073709551615.999999 ms"),
    ] {
        let lock = client.lock("a").ttl(ttl);
        assert_eq!(told(lock.check()), about("a", &no_ttl(given)));
    }
    for ttl in [ms(4), 366 * day] {
        assert_eq!(client.lock("a").ttl(ttl).check(), Ok(()));
    }
    for (count, within, given) in [
        (0, ms(100), "0 within 100 ms"),
        (1, Duration::ZERO, "1 within 0 ms"),
        (1, part(999), "1 within 0.999000 ms"),
        (1, part(10_500), "1 within 10.500000 ms"),
        (1, ms(60_001), "1 within 60001 ms"),
    ] {
        let lock = client.lock("a").wait_for_replicas(count, within);
        assert_eq!(told(lock.check()), about("a", &no_replicas(given)));
    }
    let of_its_own = "it is a key of its own, neither empty nor the lock's";
    let of_a_lock = "a key with this ending belongs to a lock";
    for (list, why) in
        [("", of_its_own), ("a", of_its_own), ("{a}:queue", of_a_lock), ("{b}:fence", of_a_lock)]
    {
        let what = format!("the signal list cannot be {list:?}: {why}");
        assert_eq!(told(client.lock("a").signal_list(list).check()), about("a", &what));
    }
    let (long, no_label) = ("l".repeat(129), "a label has up to 128 bytes, and this one 129");
    let lock = || client.lock("a");
    for (lock, what) in [
        (lock().max_requests(0), "an acquisition has 1 request or more, not 0"),
        (lock().label(&long), no_label),
        // The first invalid option is told.
        (lock().ttl(ms(1)).label(&long), &no_ttl("1 ms")),
        (lock().label(&long).ttl(ms(1)), no_label),
    ] {
        assert_eq!(told(lock.check()), about("a", what));
    }
    assert_eq!(lock().label(&"ü".repeat(64)).check(), Ok(()));
    for (checked, what) in [
        (
            client.throttle("a", Duration::ZERO).check(),
            "the window of a throttle is 1 ms to 366 days, in whole milliseconds, not 0 ms",
        ),
        (
            client.debounce("a", ms(86_400_001)).check(),
            "the wait of a debounce is 1 ms to 24 hours, in whole milliseconds, not 86400001 ms",
        ),
        (
            client.debounce("a", ms(500)).max_wait(ms(400)).check(),
            "the longest wait of a debounce is from its wait (500 ms) to 24 hours, in whole milliseconds, not 400 ms",
        ),
        (
            client.once("a").keep(Duration::ZERO).check(),
            "a result is kept for 1 ms to 366 days, in whole milliseconds, not 0 ms",
        ),
        (
            client.once("a").max_bytes(262_145).check(),
            "a result may have 1 to 262144 bytes, and the bound given is 262145",
        ),
        (
            client.once("a").fingerprint(&"f".repeat(129)).check(),
            "a fingerprint has 1 to 128 bytes, and this one 129; take a digest of what is longer",
        ),
    ] {
        assert_eq!(told(checked), about("a", what));
    }
}

#[test]
fn an_option_of_a_client_that_cannot_be_is_told_by_each_call() {
    let part = Duration::from_micros;
    let no_quarantine = |given: &str| {
        format!("a quarantine is 1 ms to 366 days, in whole milliseconds, not {given}")
    };
    let no_time_out =
        |given: &str| format!("the time-out of a request is 1 ms or more, not {given}");
    let no_life = |given: &str| {
        format!(
            "a fence is remembered for 1 minute to 366 days, in whole milliseconds, not {given}"
        )
    };
    let (none, too_long) = (Duration::ZERO, Duration::from_secs(366 * 86_400 + 1));
    let no_attempts = "an operation is attempted once or more, not 0 times".to_owned();
    let first = offline().restart_quarantine(Duration::MAX);
    for (client, what) in [
        (offline().max_attempts(0), no_attempts),
        (offline().request_timeout(none), no_time_out("0 ms")),
        (offline().request_timeout(part(500)), no_time_out("0.500000 ms")),
        (offline().restart_quarantine(part(10_500)), no_quarantine("10.500000 ms")),
        (offline().fence_life(ms(59_999)), no_life("59999 ms")),
        (offline().fence_life(too_long), no_life("31622401000 ms")),
        // The first invalid option is told.
        (first.max_attempts(0), no_quarantine("18446744073709551615.999999 ms")),
    ] {
        let what = about("a", &what);
        assert_eq!(told(client.lock("a").check()), what);
        assert_eq!(told(client.once("a").check()), what);
        assert_eq!(told(client.throttle("a", ms(9)).check()), what);
        assert_eq!(told(client.debounce("a", ms(9)).check()), what);
        assert_eq!(told(client.shard_of("b").lock("a").check()), what);
    }
    // What is not stored may have any part of a millisecond.
    let half = part(500);
    let exact = offline().request_timeout(ms(1) + half).lock("a");
    let exact = exact.wait_timeout(half).max_hold(half);
    exact.check().expect("exact times");
}

#[test]
fn bridges_that_cannot_be_together_are_told_by_what_they_share() {
    let bridge = || Bridge::upstash("https://bridge.example", "credential").expect("a bridge");
    let quorum =
        |bridges: Vec<Bridge>| TestClient::quorum(bridges, Http::default(), Tokio::default());
    for (client, what) in [
        (
            quorum(vec![]),
            "a quorum needs bridges with an address of its own each, and was given none",
        ),
        (
            quorum(vec![bridge(), bridge()]),
            "a quorum needs bridges with an address of its own each, and was given \"https://bridge.example\" twice",
        ),
    ] {
        assert_eq!(told(client), what);
    }
}

#[test]
fn a_call_that_cannot_be_made_is_told_with_what_to_write() {
    let lock = offline().lock("a");
    for name in ["SET", "GETT", "EVAL", "GETDEL", "", "EXPIRE", "LPOP"] {
        let what = format!(
            "\"{name}\" is not known as a command that only reads; send it with exec or commit"
        );
        let reads = [Command::new(name).key("x")];
        assert_eq!(told(lock.check_reads(&reads)), about("a", &what));
    }
    let many = (0..1_000).fold(Command::new("MGET"), |command, _| command.key("x"));
    let what = "the command \"MGET\" has 1001 words, and may have 1000; split it";
    assert_eq!(told(lock.check_reads(&[many])), about("a", what));
    let of = |name: &str| Command::new(name);
    for (command, what) in [
        (
            of("GET stock"),
            "\"GET stock\" is one word of command 0: its name and each argument are words of their own",
        ),
        (of("get").arg("stock"), "word 1 of command 0 (get) is a key: append it by `Command::key`"),
        (
            of("MGET").key("x").arg("y"),
            "word 2 of command 0 (MGET) is a key: append it by `Command::key`",
        ),
        (
            of("GET").key("x".repeat(16 * 1024 * 1024)),
            "the commands have more than 16777216 bytes together; send less at once",
        ),
    ] {
        assert_eq!(told(lock.check_reads(&[command])), about("a", what));
    }
    for token in ["", "token", "a token of 22 letters!", &"a".repeat(23)] {
        let bytes = token.len();
        let what = format!(
            "a token is 22 characters of base64url, and this one has {bytes} bytes; pass on the token of a lease as it is"
        );
        assert_eq!(told(Token::parse(token)), what);
    }
}

async fn data_under_the_name_of_a_lock_is_told_from_a_holder(mut stack: Stack) {
    let _: String = stack.redis("SET a 5");
    let error = stack.lock("a").try_acquire().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"lock "a" is held by another owner (never expires: is it data?)"#
    );
    let _: i64 = stack.redis("HSET b x 5");
    let error = stack.lock("b").try_acquire().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"the key of "b", or one that begins with it in braces, holds something else: data, or a lock of another kind"#
    );
}

async fn a_write_that_cannot_be_sent_is_told_and_changes_nothing(mut stack: Stack) {
    let client = stack.client();
    let own = "command 1 (\"SET\") would write to the key of the lock itself, which says who holds it; keep data under another key";
    let time = || Command::new("TIME");
    let no_key = "word 1 of command 1 (INCR) is a key: append it by `Command::key`";
    let long = "the commands have more than 16777216 bytes together; send less at once";
    let set = |key: &str| Command::new("SET").key(key);
    for (lock, of, command, what) in [
        (client.lock("a"), "a", set("a").arg(5), own),
        (client.semaphore("b", 2), "b", set("b").arg(5), own),
        (client.lock_all(["c", "d"]), "c, d", set("d").arg(5), own),
        (client.lock("e"), "e", Command::new("INCR").arg("n"), no_key),
        (client.lock("f"), "f", set("n").arg("x".repeat(17 << 20)), long),
    ] {
        let lease = lock.try_acquire().await.unwrap();
        let commands = [time(), command];
        assert_eq!(told(lease.exec(&commands).await), about(of, what));
        assert_eq!(told(lease.commit(&commands).await), about(of, what));
        // To read it harms nobody, and the lease goes on.
        let read = lease.exec(&[Command::new("TYPE").key(of)]).await;
        assert_eq!(read.unwrap().len(), 1);
        lease.release().await.unwrap();
    }
    assert!(!stack.redis::<bool>("EXISTS n"));
}
