//! The promises of the lock, against a real bridge and a real Redis.

use edgelock::{Command, Error, Reply};

use crate::support::faulty::Fault::{Delay, LoseReply, LoseRequest, Pass};
use crate::support::faulty::Proxy;
use crate::support::kinds::Kind;
use crate::support::{Stack, TestClient, TestLock, client_of, code, eventually, ms, over};

over! {
    [spawn] {
        scripts_that_ask_for_key_locking_run_too,
    }
}

over! {
    [upstash, table, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        a_free_lock_is_the_token_under_its_name_for_the_ttl,
        a_ttl_is_not_truncated_to_seconds,
        a_lock_that_another_holds_is_held_for_what_is_left,
        a_lock_of_another_program_on_the_same_key_excludes_and_is_excluded,
        a_key_of_another_type_is_told_apart_and_left_alone,
        a_wait_of_nothing_is_one_try,
        a_wait_sends_no_more_requests_than_it_may,
        fences_grow_with_every_lease_and_across_lost_data,
        a_fence_is_remembered_for_as_long_as_the_client_says,
        a_renewed_lease_has_its_full_ttl_again,
        a_lease_that_is_no_longer_held_is_lost_and_touches_nothing,
        past_its_deadline_a_lease_is_expired_and_sends_nothing,
        a_section_that_reads_and_writes_costs_two_requests,
        an_acquisition_only_reads,
        a_read_that_fails_gives_the_lock_back,
        a_try_that_reads_takes_a_free_lock,
        a_refusal_brings_what_its_reads_found,
        a_try_that_reads_and_whose_answer_is_lost_is_asked_again,
        a_try_whose_read_fails_has_no_lock_and_leaves_another_its_own,
        a_write_that_fails_says_which_and_the_others_stand,
        every_error_of_a_lock_names_it_and_a_failed_command_names_that,
        reads_without_a_lock_are_one_request,
        inspection_says_who_holds_for_how_long_and_the_last_fence,
        the_holders_label_is_told_to_callers_that_find_the_lock_held_and_to_those_that_inspect_it,
        a_renewal_gives_what_the_lock_was_acquired_for_unless_told,
        a_renewal_for_another_ttl_gives_that_once_and_cuts_nothing_short,
        a_renewal_that_is_overtaken_shortens_nothing,
        names_with_a_prefix_or_a_hash_tag_lock_the_key_of_that_name,
        overlapping_writes_of_one_lease_are_refused_and_overlapping_renewals_are_not,
    }
}

async fn a_free_lock_is_the_token_under_its_name_for_the_ttl(mut stack: Stack) {
    let lock = stack.lock("sku:42").ttl(ms(30_000));
    let lease = lock.try_acquire().await.unwrap();
    assert_eq!(stack.redis::<String>("GET sku:42"), lease.token().expose());
    assert!((20_000..=30_000).contains(&stack.redis::<u64>("PTTL sku:42")));
    // The ttl less 1 % and 2 ms, and less the time that the request took.
    assert!(lease.remaining() <= ms(30_000 - 300 - 2) && lease.remaining() > ms(20_000));
    lease.release().await.unwrap();
    assert!(!stack.redis::<bool>("EXISTS sku:42"));
    assert!(lease.remaining().is_zero());
}

async fn a_ttl_is_not_truncated_to_seconds(mut stack: Stack) {
    let _lease = stack.lock("a").ttl(ms(1_999)).try_acquire().await.unwrap();
    assert!((1_001..=1_999).contains(&stack.redis::<u64>("PTTL a")));
}

async fn a_lock_that_another_holds_is_held_for_what_is_left(stack: Stack) {
    let lock = stack.lock("a");
    let lease = lock.try_acquire().await.unwrap();
    let Err(Error::Held { remaining: Some(remaining), .. }) = lock.try_acquire().await else {
        panic!("not held")
    };
    assert!(remaining > ms(9_000) && remaining <= ms(10_000));
    lease.release().await.unwrap();
    lock.try_acquire().await.unwrap().release().await.unwrap();
}

async fn a_lock_of_another_program_on_the_same_key_excludes_and_is_excluded(mut stack: Stack) {
    let lock = stack.lock("a");
    let _: () = stack.redis("SET a theirs NX");
    let held = lock.try_acquire().await.unwrap_err();
    assert!(matches!(held, Error::Held { remaining: None, .. }));
    let _: () = stack.redis("DEL a");
    let _lease = lock.try_acquire().await.unwrap();
    assert_eq!(stack.redis::<Option<String>>("SET a theirs NX"), None);
}

async fn a_key_of_another_type_is_told_apart_and_left_alone(mut stack: Stack) {
    let _: () = stack.redis("RPUSH a x");
    let lock = stack.lock("a");
    assert_eq!(code(lock.try_acquire().await), "wrong_type");
    assert_eq!(code(lock.inspect().await), "wrong_type");
    assert_eq!(stack.redis::<Vec<String>>("KEYS *"), ["a"]);
}

async fn a_wait_of_nothing_is_one_try(stack: Stack) {
    let proxy = Proxy::before(&stack, []).await;
    let lock = proxy.client.lock("a").wait_timeout(ms(0));
    let lease = lock.acquire().await.unwrap();
    assert_eq!(code(lock.acquire().await), "held");
    assert_eq!(proxy.seen().len(), 2);
    lease.release().await.unwrap();
}

async fn a_wait_sends_no_more_requests_than_it_may(mut stack: Stack) {
    let lease = stack.lock("a").try_acquire().await.unwrap();
    // A lost request is sent again, and both count.
    let proxy = Proxy::before(&stack, [Pass, LoseRequest]).await;
    let lock = proxy.client.lock("a").wait_timeout(ms(1_000));
    assert_eq!(code(lock.max_requests(6).acquire().await), "held");
    // The last request leaves the queue.
    eventually(|| stack.waiters_for("a") == 0).await;
    assert!(proxy.seen().len() <= 6);
    lease.release().await.unwrap();
}

async fn fences_grow_with_every_lease_and_across_lost_data(mut stack: Stack) {
    let lock = stack.lock("a");
    let mut last = 0;
    for round in 0..6 {
        let lease = lock.try_acquire().await.unwrap();
        assert!(lease.fence() > last && lease.fence() < 1 << 53);
        last = lease.fence();
        assert_eq!(stack.last_fence("a"), last);
        if round % 2 == 0 { stack.redis::<()>("FLUSHALL") } else { lease.release().await.unwrap() }
    }
    // As if the clock had gone back: the stored fence is ahead of it.
    stack.redis::<()>(&format!("SET {{a}}:fence {}", last + 1_000_000_000));
    stack.redis::<()>("DEL a");
    let lease = lock.try_acquire().await.unwrap();
    assert_eq!(lease.fence(), last + 1_000_000_001);
}

async fn a_fence_is_remembered_for_as_long_as_the_client_says(mut stack: Stack) {
    let (minute, week) = (60_000, 7 * 24 * 60 * 60 * 1_000);
    let clients = [stack.client().fence_life(ms(minute)), stack.client()];
    for (client, life) in clients.iter().zip([minute, week]) {
        let lease = client.lock("a").acquire().await.unwrap();
        lease.release().await.unwrap();
        let left: u64 = stack.redis("PTTL {a}:fence");
        assert!((life..=life * 9 / 8 + 10_000).contains(&left), "{left}");
    }
}

async fn a_renewed_lease_has_its_full_ttl_again(mut stack: Stack) {
    let lease = stack.lock("a").try_acquire().await.unwrap();
    let _: () = stack.redis("PEXPIRE a 5000");
    let deadline = || std::time::Instant::now() + lease.remaining();
    let before = deadline();
    tokio::time::sleep(ms(50)).await;
    lease.renew().await.unwrap();
    // The deadline may be up to 5 ms short, since Redis counts in whole milliseconds.
    assert!(deadline() >= before + ms(45));
    assert!(stack.redis::<u64>("PTTL a") > 5_000);
}

async fn a_lease_that_is_no_longer_held_is_lost_and_touches_nothing(mut stack: Stack) {
    let lock = stack.lock("a");
    let incr = [Command::new("INCR").key("n")];
    for call in 0..4 {
        let lease = lock.try_acquire().await.unwrap();
        let _: () = stack.redis("SET a another");
        let result = match call {
            0 => lease.renew().await,
            1 => lease.exec(&incr).await.map(drop),
            2 => lease.commit(&incr).await.map(drop),
            _ => lease.release().await,
        };
        assert_eq!(code(result), "lost");
        // The lease stays lost, whatever Redis has later.
        let _: () = stack.redis(&format!("SET a {}", lease.token().expose()));
        assert_eq!(code(lease.renew().await), "lost");
        let _: () = stack.redis("DEL a");
    }
    assert!(!stack.redis::<bool>("EXISTS n"));
}

async fn past_its_deadline_a_lease_is_expired_and_sends_nothing(stack: Stack) {
    let proxy = Proxy::before(&stack, []).await;
    let lock = proxy.client.lock("a").ttl(ms(1_000));
    let lease = lock.try_acquire().await.unwrap();
    eventually(|| lease.remaining().is_zero()).await;
    let sent = proxy.seen().len();
    assert_eq!(code(lease.renew().await), "expired");
    assert_eq!(code(lease.exec(&[]).await), "expired");
    assert_eq!(code(lease.commit(&[]).await), "expired");
    assert_eq!(proxy.seen().len(), sent);
    // The release is sent all the same: Redis keeps the lock a little longer than the lease
    // counts on.
    let released = lease.release().await;
    assert!(released == Ok(()) || matches!(released, Err(Error::Lost { .. })));
    assert_eq!(proxy.seen().len(), sent + 1);
}

async fn a_section_that_reads_and_writes_costs_two_requests(mut stack: Stack) {
    let _: () = stack.redis("SET {a}:stock 7");
    let proxy = Proxy::before(&stack, []).await;
    let lock = proxy.client.lock("a");
    let get = [Command::new("GET").key("{a}:stock")];
    let (lease, replies) = lock.acquire_and_read(&get).await.unwrap();
    let stock = replies[0].as_i64().unwrap();
    let set = [Command::new("SET").key("{a}:stock").arg(stock - 1)];
    let replies = lease.commit(&set).await.unwrap();
    assert_eq!(replies, [Reply::Bytes(b"OK".to_vec())]);
    assert_eq!(proxy.seen().len(), 2);
    assert_eq!(stack.redis::<u32>("GET {a}:stock"), 6);
    assert!(!stack.redis::<bool>("EXISTS a"));
    // The scripts declare the keys of the user's commands.
    let is_key = |word: &&String| *word == "{a}:stock";
    assert_eq!(proxy.seen()[0].iter().filter(is_key).count(), 2);
    assert_eq!(code(lease.release().await), "released");
}

async fn an_acquisition_only_reads(mut stack: Stack) {
    let lock = stack.lock("a");
    let reads = [Command::new("incr").key("n")];
    let waits = lock.acquire_and_read(&reads).await;
    assert_eq!(code(waits), "invalid_argument");
    let tries = lock.try_acquire_and_read(&reads).await;
    assert_eq!(code(tries), "invalid_argument");
    assert!(stack.redis::<Vec<String>>("KEYS *").is_empty());
}

async fn a_read_that_fails_gives_the_lock_back(mut stack: Stack) {
    let _: () = stack.redis("RPUSH list x");
    let lock = stack.lock("a").ttl(ms(60_000));
    let reads = [Command::new("TIME"), Command::new("GET").key("list")];
    let result = lock.acquire_and_read(&reads).await;
    let Err(Error::CommandFailed { index: 1, message, .. }) = result else { panic!("{result:?}") };
    assert!(message.contains("WRONGTYPE"), "{message}");
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
}

/// A lock of each kind, and one that nobody gets while another holds it.
fn rivals(client: &TestClient, other: &TestClient) -> Vec<(TestLock, TestLock)> {
    let of = |kind: Kind| {
        let name = format!("{kind:?}");
        let lock = |kind: Kind, client, owner| kind.lock(client, &[&name, "another"], owner);
        (lock(kind, client, "we"), lock(kind.rival(), other, "they"))
    };
    let fair = |client: &TestClient| client.lock("b").fair(true);
    let signals = |client: &TestClient| client.lock("c").signal_list("signal");
    let others = [(fair(client), fair(other)), (signals(client), signals(other))];
    Kind::ALL.into_iter().map(of).chain(others).collect()
}

fn stock() -> [Command; 2] {
    [Command::new("EXISTS").key("nothing"), Command::new("GET").key("stock")]
}

async fn a_try_that_reads_takes_a_free_lock(mut stack: Stack) {
    let _: () = stack.redis("SET stock 7");
    let proxy = Proxy::before(&stack, []).await;
    for (lock, _) in rivals(&proxy.client, &proxy.client) {
        let sent = proxy.seen().len();
        let (lease, replies) = lock.try_acquire_and_read(&stock()).await.unwrap();
        let lease = lease.expect("a free lock");
        assert_eq!(replies, [Reply::Int(0), Reply::Bytes(b"7".to_vec())]);
        assert!(lease.fence() > 0 && lease.remaining() > ms(9_000));
        lease.commit(&[]).await.unwrap();
        assert_eq!(proxy.seen().len(), sent + 2);
        assert_eq!(lock.inspect().await.unwrap().holder, None);
        // The same without anything to read.
        let (lease, replies) = lock.try_acquire_and_read(&[]).await.unwrap();
        lease.expect("a free lock").release().await.unwrap();
        assert_eq!(replies, []);
    }
}

async fn a_refusal_brings_what_its_reads_found(mut stack: Stack) {
    let _: () = stack.redis("SET stock 7");
    let proxy = Proxy::before(&stack, []).await;
    for (lock, other) in rivals(&stack.client(), &proxy.client) {
        let lease = lock.try_acquire().await.unwrap();
        let sent = proxy.seen().len();
        for left in [7, 6] {
            let set = Command::new("SET").key("stock").arg(left);
            lease.exec(&[set]).await.unwrap();
            let (refused, replies) = other.try_acquire_and_read(&stock()).await.unwrap();
            assert!(refused.is_none());
            let left = Reply::Bytes(left.to_string().into_bytes());
            assert_eq!(replies, [Reply::Int(0), left]);
        }
        let (refused, replies) = other.try_acquire_and_read(&[]).await.unwrap();
        assert!(refused.is_none() && replies.is_empty());
        // One request for each try: it does not queue, and has nothing to give up.
        assert_eq!(proxy.seen().len(), sent + 3);
        assert_eq!(lock.inspect().await.unwrap().waiters, 0);
        lease.release().await.unwrap();
        // A call that does not ask for it is told only that the lock is held.
        let lease = other.try_acquire().await.unwrap();
        let hasty = lock.clone().wait_timeout(ms(0));
        assert_eq!(code(hasty.acquire_and_read(&stock()).await), "held");
        lease.release().await.unwrap();
    }
}

async fn a_try_that_reads_and_whose_answer_is_lost_is_asked_again(mut stack: Stack) {
    let _: () = stack.redis("SET stock 7");
    let found = [Reply::Int(0), Reply::Bytes(b"7".to_vec())];
    for fault in [LoseReply, LoseRequest] {
        let proxy = Proxy::before(&stack, []).await;
        for (lock, tried) in rivals(&stack.client(), &proxy.client) {
            let sent = proxy.seen().len();
            proxy.next(fault);
            let (lease, replies) = tried.try_acquire_and_read(&stock()).await.unwrap();
            let lease = lease.expect("a free lock");
            assert_eq!((replies.as_slice(), proxy.seen().len()), (&found[..], sent + 2));
            // The fence of the grant whose reply was lost: no other was issued.
            let fence = lock.inspect().await.unwrap().fence;
            assert_eq!(fence, Some(lease.fence()));
            lease.into_token();
            assert!(lock.force_release().await.unwrap());

            let lease = lock.try_acquire().await.unwrap();
            proxy.next(fault);
            let (refused, replies) = tried.try_acquire_and_read(&stock()).await.unwrap();
            assert!(refused.is_none());
            assert_eq!(replies, found);
            // The lost try may arrive late, so its token is abandoned.
            eventually(|| proxy.seen().len() == sent + 5).await;
            lease.release().await.unwrap();
        }
    }
}

async fn a_try_whose_read_fails_has_no_lock_and_leaves_another_its_own(mut stack: Stack) {
    let _: () = stack.redis("RPUSH stock x");
    for (lock, other) in rivals(&stack.client(), &stack.client()) {
        let lease = lock.try_acquire().await.unwrap();
        for is_held in [true, false] {
            let failed = other.try_acquire_and_read(&stock()).await;
            let Err(Error::CommandFailed { index: 1, .. }) = failed else { panic!("{failed:?}") };
            if is_held {
                lease.renew().await.unwrap();
                lease.release().await.unwrap();
            }
        }
        lock.acquire().await.unwrap().release().await.unwrap();
    }
}

async fn a_write_that_fails_says_which_and_the_others_stand(mut stack: Stack) {
    let _: () = stack.redis("RPUSH list x");
    let lease = stack.lock("a").try_acquire().await.unwrap();
    let commands = [
        Command::new("INCR").key("n"),
        Command::new("INCR").key("list"),
        Command::new("INCR").key("n"),
    ];
    let Err(Error::CommandFailed { index: 1, .. }) = lease.commit(&commands).await else {
        panic!("no failure")
    };
    assert_eq!(stack.redis::<u32>("GET n"), 2);
    assert!(!stack.redis::<bool>("EXISTS a"));
    assert_eq!(code(lease.release().await), "released");
}

async fn every_error_of_a_lock_names_it_and_a_failed_command_names_that(mut stack: Stack) {
    let lock = stack.client().prefix("shop:").lock("sku:42");
    let lease = lock.try_acquire().await.unwrap();
    let held = lock.try_acquire().await.unwrap_err();
    let Error::Held { remaining: Some(left), requests: 1, .. } = &held else { panic!("{held:?}") };
    let left = left.as_millis();
    let said = format!(r#"lock "shop:sku:42" is held by another owner (expires in {left} ms)"#);
    assert_eq!(held.to_string(), said);

    let _: () = stack.redis("RPUSH list secret");
    let commands =
        [Command::new("GET").key("n"), Command::new("SETRANGE").key("list").arg(0).arg("secret")];
    let failed = lease.exec(&commands).await.unwrap_err();
    assert!(
        matches!(&failed, Error::CommandFailed { index: 1, command, .. } if command == "SETRANGE")
    );
    let said = r#"command 1, "SETRANGE", failed under lock "shop:sku:42": WRONGTYPE"#;
    assert!(failed.to_string().starts_with(said), "{failed}");
    assert!(!failed.to_string().contains("secret"), "{failed}");

    let (first, second) = tokio::join!(lease.exec(&[]), lease.exec(&[]));
    first.unwrap();
    let busy = second.unwrap_err();
    lease.release().await.unwrap();
    let released = lease.renew().await.unwrap_err();
    let lease = lock.try_acquire().await.unwrap();
    assert!(lock.force_release().await.unwrap());
    let lost = lease.renew().await.unwrap_err();
    let _: () = stack.redis("RPUSH shop:sku:42 x");
    let wrong_type = lock.try_acquire().await.unwrap_err();
    for (error, code) in [
        (held, "held"),
        (failed, "command_failed"),
        (busy, "busy"),
        (released, "released"),
        (lost, "lost"),
        (wrong_type, "wrong_type"),
    ] {
        assert_eq!(error.code(), code);
        assert_eq!(error.lock(), Some("shop:sku:42"));
        let said = error.to_string();
        assert!(said.contains(r#""shop:sku:42""#), "{said}");
    }
    // A read without a lock has no lock to name.
    let read = [Command::new("GET").key("list")];
    let failed = stack.client().read(&read).await.unwrap_err();
    assert_eq!(failed.lock(), None);
    let said = r#"command 0, "GET", failed: WRONGTYPE"#;
    assert!(failed.to_string().starts_with(said), "{failed}");
}

/// They take commands that the table does not know.
mod wide {
    use super::{
        every_reply_of_redis_arrives_as_it_is,
        integers_arrive_with_every_digit_or_are_said_to_be_rounded, over,
    };

    over! {
        [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
            every_reply_of_redis_arrives_as_it_is,
            integers_arrive_with_every_digit_or_are_said_to_be_rounded,
        }
    }
}

async fn every_reply_of_redis_arrives_as_it_is(mut stack: Stack) {
    let text = |bytes: &[u8]| Reply::Bytes(bytes.to_vec());
    let every_byte: Vec<u8> = (0..=255).collect();
    let set = redis::cmd("SET").arg("bytes").arg(&every_byte).query::<()>(&mut *stack.redis.0);
    set.unwrap();
    let client = stack.client();
    let lease = client.lock("a").try_acquire().await.unwrap();
    let eval = |script: &str| Command::new("EVAL_RO").arg(script).arg(0);
    let odd = "naïve ☃ \"quoted\" \\ \r\n %41 \u{0}";
    let least = -9_007_199_254_740_991_i64;
    // A command's name, its key and its arguments.
    let of = |words: &str| {
        let mut words = words.split(' ');
        let name = Command::new(words.next().expect("a name"));
        let named = name.key(words.next().expect("a key"));
        words.fold(named, |command, word| command.arg(word))
    };
    let commands = [
        of("SET utf8").arg(odd),
        of("GET utf8"),
        of("GET bytes"),
        of("GET nothing"),
        of("SET empty").arg(""),
        of("GET empty"),
        of("INCRBY n").arg(least),
        of("RPUSH l x yy"),
        of("LRANGE l 0 -1"),
        of("GEOADD g 1.5 2.5 here"),
        of("GEOSEARCH g FROMMEMBER here BYRADIUS 1 m WITHHASH"),
    ];
    let replies = lease.exec(&commands).await.unwrap();
    let hash = replies[10].as_array().unwrap()[0].as_array().unwrap()[1].clone();
    let expected = [
        text(b"OK"),
        text(odd.as_bytes()),
        text(&every_byte),
        Reply::Nil,
        text(b"OK"),
        text(b""),
        Reply::Int(least),
        Reply::Int(2),
        Reply::Array(vec![text(b"x"), text(b"yy")]),
        Reply::Int(1),
        Reply::Array(vec![Reply::Array(vec![text(b"here"), hash])]),
    ];
    assert_eq!(replies, expected);
    // Scripts do not nest: that is a clear error.
    let nested = lease.exec(&[eval("return 1")]).await;
    assert_eq!(code(nested), "command_failed");
}

async fn integers_arrive_with_every_digit_or_are_said_to_be_rounded(mut stack: Stack) {
    const BEYOND: i64 = 9_007_199_254_740_993;
    let client = stack.client();
    let lease = client.lock("a").try_acquire().await.unwrap();
    let of = |name: &str, key: &str| Command::new(name).key(key);
    let field = || of("HINCRBY", "h").arg("a field");
    let counting = [
        of("INCRBY", "n").arg(BEYOND),
        of("incr", "n"),
        of("DECRBY", "m").arg(i64::MAX),
        of("Decr", "m"),
        field().arg(i64::MAX),
        of("INCRBY", "small").arg(BEYOND - 2),
    ];
    let counted = [BEYOND, BEYOND + 1, -i64::MAX, i64::MIN, i64::MAX, BEYOND - 2];
    let replies = lease.exec(&counting).await.unwrap();
    assert_eq!(replies, counted.map(Reply::Int));
    // Of others only a double is known.
    let bits = of("BITFIELD", "bits").arg("INCRBY").arg("i64").arg(0);
    let others = [of("PEXPIRE", "m").arg(2 * BEYOND), bits.arg(BEYOND).arg("GET").arg("u8").arg(0)];
    let rounded = Reply::Array(vec![Reply::Rounded(BEYOND - 1), Reply::Int(0)]);
    assert_eq!(lease.exec(&others).await.unwrap(), [Reply::Int(1), rounded]);
    let last = lease.commit(&[of("INCRBY", "n").arg(1)]).await.unwrap();
    assert_eq!(last, [Reply::Int(BEYOND + 2)]);
    let reads = [of("GET", "n"), of("HGET", "h").arg("a field"), of("PTTL", "m")];
    let (lease, read) = client.lock("a").acquire_and_read(&reads).await.unwrap();
    let numbers: Vec<_> = read.iter().map(Reply::as_i64).collect();
    assert_eq!(numbers, [Some(BEYOND + 2), Some(i64::MAX), None]);
    assert!(matches!(read[2], Reply::Rounded(_)), "{read:?}");
    assert_eq!(client.read(&reads[..2]).await.unwrap(), read[..2]);
    lease.release().await.unwrap();
    // What others store is inspected alike.
    let kept = format!("v1 {BEYOND} 604800000 ,");
    stack.store("{b}:fence", &kept);
    let _: u64 = stack.redis(&format!("HSET b x {BEYOND}"));
    let inspection = client.reentrant("b", "me").inspect().await.unwrap();
    let count = inspection.holder.map(|holder| holder.count);
    let beyond = Some(BEYOND as u64);
    assert_eq!((inspection.fence, count), (beyond, beyond));
    let _: () = stack.redis(&format!("SET c x PX {BEYOND}"));
    let held = client.lock("c").try_acquire_and_read(&[]).await.unwrap();
    assert!(held.0.is_none());
    let inspection = client.lock("c").inspect().await.unwrap();
    let left = inspection.holder.and_then(|holder| holder.remaining);
    assert!(left > Some(ms(9_000_000_000_000_000)), "{left:?}");
}

async fn reads_without_a_lock_are_one_request(mut stack: Stack) {
    let _: () = stack.redis("MSET a 1 b 2");
    let proxy = Proxy::before(&stack, []).await;
    let reads = [Command::new("GET").key("a"), Command::new("GET").key("b")];
    let replies = proxy.client.read(&reads).await.unwrap();
    let numbers: Vec<_> = replies.iter().map(Reply::as_i64).collect();
    assert_eq!(numbers, [Some(1), Some(2)]);
    assert_eq!(proxy.seen().len(), 1);
    let write = proxy.client.read(&[Command::new("DEL").key("a")]).await;
    assert_eq!(code(write), "invalid_argument");
}

async fn inspection_says_who_holds_for_how_long_and_the_last_fence(stack: Stack) {
    let lock = stack.lock("a");
    let free = lock.inspect().await.unwrap();
    assert_eq!((free.holder, free.fence), (None, None));
    let lease = lock.try_acquire().await.unwrap();
    let held = lock.inspect().await.unwrap();
    let holder = held.holder.unwrap();
    assert_eq!(&holder.token, lease.token());
    assert!(holder.remaining.unwrap() > ms(9_000));
    assert_eq!(held.fence, Some(lease.fence()));
}

async fn the_holders_label_is_told_to_callers_that_find_the_lock_held_and_to_those_that_inspect_it(
    mut stack: Stack,
) {
    const LABEL: &str = "worker 7, 100 %\u{202e}";
    let lock = stack.lock("a").wait_timeout(ms(30_000));
    let label = async |labelled: Option<&str>| {
        let held = lock.try_acquire().await.unwrap_err();
        let shown = labelled.map_or("another owner", |_| r#""worker 7, 100 %\u{202e}""#);
        let start = format!("lock \"a\" is held by {shown} (expires in ");
        assert!(held.to_string().starts_with(&start), "{held}");
        assert!(matches!(held, Error::Held { label, .. } if label.as_deref() == labelled));
        let holder = lock.inspect().await.unwrap().holder.unwrap();
        assert_eq!(holder.label.as_deref(), labelled);
    };
    let labelled = || lock.clone().label(LABEL);
    let first = labelled().try_acquire().await.unwrap();
    label(Some(LABEL)).await;
    // The label outlives a renewal and a resumed lease.
    first.renew().await.unwrap();
    let first = lock.resume(first.into_token()).unwrap();
    first.exec(&[]).await.unwrap();
    label(Some(LABEL)).await;
    // The lock is handed to a waiter without a label, and to one with a label.
    for (next, its) in [(lock.clone(), None), (labelled(), Some(LABEL))] {
        let waiter = tokio::task::spawn_local(async move { next.acquire().await });
        stack.has_waiters(1).await;
        let token = lock.inspect().await.unwrap().holder.unwrap().token;
        lock.resume(token).unwrap().release().await.unwrap();
        let lease = waiter.await.unwrap().unwrap();
        label(its).await;
        let _ = lease.into_token();
    }
    lock.force_release().await.unwrap();
    let _: () = stack.redis("SET a theirs PX 60000");
    label(None).await;
}

async fn a_renewal_gives_what_the_lock_was_acquired_for_unless_told(mut stack: Stack) {
    let lock = stack.lock("a").ttl(ms(60_000));
    let lease = lock.try_acquire().await.unwrap();
    let fence = lease.fence();
    // The resuming handler need not know for how long the lock was acquired.
    let resumed = stack.lock("a").resume(lease.into_token()).unwrap();
    for renews in [true, false] {
        let _: () = stack.redis("PEXPIRE a 5000");
        if renews {
            resumed.renew().await.unwrap();
        } else {
            resumed.exec(&[]).await.unwrap();
        }
        assert!((50_000..=60_000).contains(&stack.redis::<u64>("PTTL a")));
        assert!(resumed.remaining() > ms(50_000) && resumed.remaining() < ms(60_000));
        assert_eq!(resumed.fence(), fence);
    }
    // If it asks for another ttl, it gets that.
    let token = resumed.into_token();
    let longer = stack.lock("a").ttl(ms(90_000));
    let told = longer.resume(token).unwrap();
    told.renew().await.unwrap();
    assert!((80_000..=90_000).contains(&stack.redis::<u64>("PTTL a")));
    assert!(told.remaining() > ms(80_000));
    told.release().await.unwrap();
}

async fn a_renewal_for_another_ttl_gives_that_once_and_cuts_nothing_short(mut stack: Stack) {
    let lock = stack.lock("a").ttl(ms(20_000));
    let lease = lock.try_acquire().await.unwrap();
    lease.renew_for(ms(60_000)).await.unwrap();
    assert!((50_000..=60_000).contains(&stack.redis::<u64>("PTTL a")));
    assert!(lease.remaining() > ms(50_000) && lease.remaining() < ms(60_000));
    lease.renew().await.unwrap();
    assert!(stack.redis::<u64>("PTTL a") > 50_000 && lease.remaining() > ms(50_000));
    // A resumed lease renews for what the lock was acquired for, not for what one renewal asked
    // for.
    let resumed = stack.lock("a").resume(lease.into_token()).unwrap();
    let _: () = stack.redis("PEXPIRE a 1000");
    resumed.renew_for(ms(5_000)).await.unwrap();
    assert!((4_000..=5_000).contains(&stack.redis::<u64>("PTTL a")));
    assert!(resumed.remaining() > ms(4_000) && resumed.remaining() < ms(5_000));
    resumed.renew().await.unwrap();
    assert!((15_000..=20_000).contains(&stack.redis::<u64>("PTTL a")));
    for odd in [ms(0), ms(3), ms(366 * 86_400_000 + 1), ms(10) + ms(1) / 2] {
        assert_eq!(code(resumed.renew_for(odd).await), "invalid_argument");
    }
    resumed.release().await.unwrap();
}

async fn a_renewal_that_is_overtaken_shortens_nothing(mut stack: Stack) {
    let lock = stack.lock("a").ttl(ms(60_000));
    let token = lock.try_acquire().await.unwrap().into_token();
    // A renewal for 1 s, which arrives after one for 60 s.
    let proxy = Proxy::before(&stack, [Delay]).await;
    let brief = proxy.client.lock("a").ttl(ms(1_000));
    let late = brief.resume(token.clone()).unwrap();
    let given_up = tokio::time::timeout(ms(50), late.renew()).await;
    assert!(given_up.is_err());
    let lease = lock.resume(late.into_token()).unwrap();
    lease.renew().await.unwrap();
    proxy.deliver().await;
    assert!(stack.redis::<u64>("PTTL a") > 50_000);
    assert!(lease.remaining() > ms(50_000));
    lease.release().await.unwrap();
}

async fn names_with_a_prefix_or_a_hash_tag_lock_the_key_of_that_name(mut stack: Stack) {
    let long = "ü".repeat(256);
    for (prefix, name, key, fence) in [
        ("shop:", "sku:42", "shop:sku:42", "{shop:sku:42}:fence"),
        ("", "a:{42}:b", "a:{42}:b", "a:{42}:b:fence"),
        ("", &long, &long, &format!("{{{long}}}:fence")),
    ] {
        let lock = stack.client().prefix(prefix).lock(name);
        let lease = lock.try_acquire().await.unwrap();
        let holder: String = stack.redis(&format!("GET {key}"));
        assert_eq!(holder, lease.token().expose());
        assert!(stack.redis::<bool>(&format!("EXISTS {fence}")));
    }
}

async fn overlapping_writes_of_one_lease_are_refused_and_overlapping_renewals_are_not(
    stack: Stack,
) {
    let lease = stack.lock("a").try_acquire().await.unwrap();
    let (first, second, renewal) = tokio::join!(lease.exec(&[]), lease.exec(&[]), lease.renew());
    assert!(first.is_ok());
    assert_eq!(code(second), "busy");
    assert_eq!(renewal, Ok(()));
    lease.release().await.unwrap();
}

async fn scripts_that_ask_for_key_locking_run_too(stack: Stack) {
    for cache in [false, true, true] {
        let client = client_of(stack.route().key_locking(true).script_cache(cache));
        let lease = client.lock("a").try_acquire().await.unwrap();
        lease.release().await.unwrap();
    }
}
