//! Calls in an order that other locks have errors for.

use std::time::Duration;

use edgelock::{Bridge, Command, Error, Token};

use crate::support::{Stack, TestClient, TestLock, client_of, code, ms, run};

#[test]
fn what_others_refuse_is_an_answer_here() {
    run(async {
        let stack = Stack::spawn();
        let lock = stack.lock("a");
        // Acquired already: a lock is not held, a lease is, and it goes on.
        let lease = lock.try_acquire().await.unwrap();
        let again = lock.try_acquire().await;
        assert!(matches!(again, Err(Error::Held { .. })), "{again:?}");
        // A wait of nothing is one try.
        let hurried = lock.clone().wait(Duration::ZERO).acquire().await;
        assert!(matches!(hurried, Err(Error::Held { .. })), "{hurried:?}");
        lease.release().await.unwrap();
        // A wait may outlast the ttl, its own and the holder's, who never gives the lock back.
        let short = lock.ttl(ms(1_000)).wait(ms(60_000));
        let _ = short.try_acquire().await.unwrap().into_token();
        let patient = short.ttl(ms(5_000)).acquire().await.unwrap();
        patient.release().await.unwrap();
    });
}

#[test]
fn a_lease_that_was_given_back_says_so_to_whatever_is_asked() {
    run(async {
        let mut stack = Stack::spawn();
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
    });
}

const NO_TTL: &str = "a ttl is 4 ms to 366 days, in whole milliseconds: 10 s are 10,000";
const NO_HTTPS: &str = "the bridge's address does not begin with https://; redis:// is the address of Redis itself, which the bridge uses";
const NO_CREDENTIAL: &str = "the bridge's credential is empty, or has blanks or other characters that no bearer token has; is its variable set?";
const NO_WEBDIS_USER: &str = "webdis's user or password is empty or has a control character, or the user has a colon; are their variables set?";
const WITH_A_NAME: &str =
    "the bridge's address holds a user name; give the credential as an argument of its own";
const STRANGE: &str =
    "the bridge's address has a query, a fragment or a strange path; most bridges want no path";
const NO_HOST: &str = "the bridge's address has no valid host and port";
const NO_REPLICAS: &str = "at least 1 replica can be waited for, and from 1 ms to 60 s";

fn told<O>(outcome: Result<O, Error>) -> String {
    let error = outcome.err().expect("a wrong use");
    assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
    let text = error.to_string();
    text.strip_prefix("invalid argument: ")
        .expect("its beginning")
        .to_owned()
}

#[test]
fn an_address_or_a_credential_that_cannot_be_one_is_told_with_what_to_write() {
    for (url, what) in [
        ("", NO_HTTPS),
        ("bridge.example", NO_HTTPS),
        ("redis://redis.example:6379", NO_HTTPS),
        ("ftp://bridge.example", NO_HTTPS),
        ("redis://:secret@redis.example:6379", WITH_A_NAME),
        ("https://user:password@bridge.example", WITH_A_NAME),
        ("https://bridge.example/?_token=x", STRANGE),
        ("https://bridge.example/#x", STRANGE),
        ("https://bridge.example/a b", STRANGE),
        ("https://", NO_HOST),
        ("https://bridge.example:70000", NO_HOST),
        ("https://bridge.example:x", NO_HOST),
        ("https://[::1", NO_HOST),
        (
            "http://bridge.example",
            "the bridge's address is plain http: to another machine, which would show the credential to the network",
        ),
    ] {
        assert_eq!(told(Bridge::upstash(url, "credential")), what, "{url}");
        assert_eq!(told(Bridge::webdis(url, "user", "password")), what, "{url}");
    }
    for credential in ["", " ", "two words", "tab\there", "naïve", "line\nbreak"] {
        assert_eq!(
            told(Bridge::upstash("https://bridge.example", credential)),
            NO_CREDENTIAL
        );
    }
    for (user, password) in [
        ("", "x"),
        ("x", ""),
        ("a:b", "x"),
        ("x", "a\nb"),
        ("\u{7}", "x"),
    ] {
        assert_eq!(
            told(Bridge::webdis("https://bridge.example", user, password)),
            NO_WEBDIS_USER
        );
    }
}

fn offline() -> TestClient {
    client_of(Bridge::upstash("https://bridge.example", "credential").expect("a bridge"))
}

#[test]
fn a_lock_that_cannot_be_asked_for_is_told_with_what_to_write() {
    let client = offline();
    let long = "n".repeat(513);
    let belongs = "a lock's name ends as a key that belongs to another lock: with `:fence`, `:queue`, `:alive`, `:hold`, `:holds`, `:entries`, `:readers`, `:result`, `:throttle`, `:debounce`, or `:receipt:…`, `:gone:…`, `:entry:…`, `:wake:…` behind a hash tag; choose another ending";
    let braces = "a lock's name is all in braces, and would share its keys with the name between them; leave out the braces: the cluster slot stays the same";
    let outside = "a lock's name has a `}` outside of a hash tag, so no other key can share its cluster slot; leave it out";
    for (name, what) in [
        ("", "a lock's name is empty"),
        (
            long.as_str(),
            "a lock's name has 513 bytes with its prefix, and may have 512",
        ),
        ("{a}:fence", belongs),
        ("{a}:queue", belongs),
        ("{a}:receipt:x", belongs),
        ("{a}", braces),
        ("{sku:42}", braces),
        ("a}", outside),
        ("}{", outside),
    ] {
        assert_eq!(told(client.lock(name).check()), what);
        assert_eq!(told(client.semaphore(name, 2).check()), what);
        assert_eq!(told(client.reentrant(name, "owner").check()), what);
    }
    type Set = fn(TestLock) -> TestLock;
    let wrong: [(Set, &str); 16] = [
        (|lock| lock.ttl(Duration::ZERO), NO_TTL),
        (|lock| lock.ttl(ms(3)), NO_TTL),
        (|lock| lock.ttl(Duration::from_micros(4_500)), NO_TTL),
        (|lock| lock.ttl(Duration::from_nanos(10_000_001)), NO_TTL),
        (
            |lock| lock.ttl(Duration::from_secs(366 * 86_400 + 1)),
            NO_TTL,
        ),
        (|lock| lock.ttl(Duration::MAX), NO_TTL),
        (|lock| lock.wait_for_replicas(0, ms(100)), NO_REPLICAS),
        (
            |lock| lock.wait_for_replicas(1, Duration::ZERO),
            NO_REPLICAS,
        ),
        (
            |lock| lock.wait_for_replicas(1, Duration::from_micros(999)),
            NO_REPLICAS,
        ),
        (|lock| lock.wait_for_replicas(1, ms(60_001)), NO_REPLICAS),
        (
            |lock| lock.label(&"l".repeat(129)),
            "a label has up to 128 bytes, and this one 129",
        ),
        (
            |lock| lock.signal_list(""),
            "a signal list is a key of its own",
        ),
        (
            |lock| lock.signal_list("a"),
            "a signal list is a key of its own",
        ),
        (
            |lock| lock.signal_list("{a}:queue"),
            "a signal list is no companion key of a lock",
        ),
        (
            |lock| lock.signal_list("{b}:fence"),
            "a signal list is no companion key of a lock",
        ),
        // The first that is wrong is told.
        (|lock| lock.ttl(ms(1)).label(&"l".repeat(129)), NO_TTL),
    ];
    for (set, what) in wrong {
        assert_eq!(told(set(client.lock("a")).check()), what);
    }
    let no_owner = |bytes| format!("an owner has 1 to 512 bytes, and this one {bytes}");
    assert_eq!(told(client.reentrant("a", "").check()), no_owner(0));
    assert_eq!(told(client.reentrant("a", &long).check()), no_owner(513));
    assert_eq!(
        told(client.semaphore("a", 0).check()),
        "a semaphore has 1 permit or more"
    );
    let many: Vec<String> = (0..33).map(|n| n.to_string()).collect();
    let none: [&str; 0] = [];
    for (lock, what) in [
        (
            client.lock_all(none),
            "lock_all takes 1 to 32 names, and was given 0",
        ),
        (
            client.lock_all(&many),
            "lock_all takes 1 to 32 names, and was given 33",
        ),
        (
            client.lock_all(["a", "b", "a"]),
            "lock_all was given \"a\" twice",
        ),
        (client.lock_all(["a", ""]), "a lock's name is empty"),
        (client.lock_all(["b", "{a}"]), braces),
        (client.lock_all(["b", "a}"]), outside),
        (
            client.lock_all(["a", "b"]).signal_list("c"),
            "several names at once have no signal list: other programs' waiters block on a list of each name",
        ),
    ] {
        assert_eq!(told(lock.check()), what);
    }
}

#[test]
fn a_call_that_cannot_be_made_is_told_with_what_to_write() {
    let lock = offline().lock("a");
    for name in [
        "SET", "GETT", "EVAL", "GETDEL", "", "EXPIRE", "LPOP", "get set",
    ] {
        let what = format!(
            "\"{name}\" is not known as a command that only reads; send it with exec or commit"
        );
        assert_eq!(told(lock.check_reads(&[Command::new(name).key("x")])), what);
    }
    let many = (0..1_000).fold(Command::new("MGET"), |command, _| command.key("x"));
    assert_eq!(
        told(lock.check_reads(&[many])),
        "a command has over 1000 words"
    );
    for token in ["", "token", "a token of 22 letters!", &"a".repeat(23)] {
        assert_eq!(
            told(Token::parse(token)),
            "a token is 22 characters of base64url"
        );
    }
}

#[test]
fn data_under_the_name_of_a_lock_is_told_from_a_holder() {
    run(async {
        let mut stack = Stack::spawn();
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
            r#"the key of lock "b" holds something else: data, or a lock of another kind"#
        );
    });
}
