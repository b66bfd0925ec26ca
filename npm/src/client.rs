//! A client, and what it hands out, by their options as words. What is left out has the default.

use edgelock::web::driven::{self as web, Fault, Outside, Say};
use edgelock::{Bridge, Limit};
use js_sys::Function;

use crate::Kind;
use crate::json::event;
use crate::words::Words;

/// Sets an option that has a value. Without one it keeps the default.
macro_rules! set {
    ($thing:ident.$option:ident($value:expr)) => {
        if let Some(value) = $value {
            $thing = $thing.$option(value);
        }
    };
}

/// A client of one bridge, or of several: by their majority, or by name if they have ids.
pub(crate) fn client(mut words: Words, on_event: Option<Function>) -> Result<web::Client, Fault> {
    let is_quorum = words.flag();
    let (mut ids, mut bridges) = (Vec::new(), Vec::new());
    for mut words in words.lists() {
        bridges.push(bridge(&mut words)?);
        ids.extend(words.maybe_text());
    }
    let host = Outside(on_event.map(|on_event| (on_event, event as Say)));
    let mut client = web::client(is_quorum, bridges, ids, host)?;
    set!(client.prefix(words.maybe_text().as_deref()));
    set!(client.request_timeout(words.maybe_time()));
    set!(client.max_attempts(words.maybe_count()));
    set!(client.restart_quarantine(words.maybe_time()));
    set!(client.fence_life(words.maybe_time()));
    Ok(client)
}

/// Without the user of a webdis it is of Upstash's dialect.
fn bridge(words: &mut Words) -> Result<Bridge, Fault> {
    let (url, secret, user) = (words.text(), words.text(), words.maybe_text());
    let mut bridge = match (user, words.flag()) {
        (None, false) => Bridge::upstash(&url, &secret)?,
        (None, true) => Bridge::upstash_over_plain_http(&url, &secret)?,
        (Some(user), false) => Bridge::webdis(&url, &user, &secret)?,
        (Some(user), true) => Bridge::webdis_over_plain_http(&url, &user, &secret)?,
    };
    set!(bridge.push(words.maybe_flag()));
    set!(bridge.key_locking(words.maybe_flag()));
    Ok(bridge)
}

/// What a client hands out; nothing if there is nothing of this kind.
pub(crate) fn make(
    client: &web::Client,
    kind: &str,
    mut words: Words,
) -> Result<Option<Kind>, Fault> {
    match kind {
        "lock" => lock(client.lock(&words.text()), words).map(Some),
        _ => other(client, kind, words),
    }
}

fn limit(mut words: Words) -> Limit {
    let (name, limit) = (words.text(), words.count());
    Limit::new(name, limit).permits(words.count())
}

/// What most handlers have none of. A host compiles what is called, and they do not wait for this.
#[inline(never)]
fn other(client: &web::Client, kind: &str, mut words: Words) -> Result<Option<Kind>, Fault> {
    let made = match kind {
        "reentrant" => client.reentrant(&words.text(), &words.text()),
        "semaphore" => client.semaphore(&words.text(), words.count()),
        "reservations" => client.reservations(&words.text(), words.count()),
        "reader" => client.read_write(&words.text()).read(),
        "writer" => client.read_write(&words.text()).write(),
        "several" => client.lock_all(words.texts()),
        "limits" => client.limits(words.lists().map(limit)),
        _ => return no_lock(client, kind, words),
    };
    lock(made, words).map(Some)
}

/// Work that is executed once, and calls that are paced.
fn no_lock(client: &web::Client, kind: &str, mut words: Words) -> Result<Option<Kind>, Fault> {
    match kind {
        "once" => once(client.once(&words.text()), words),
        "cached" => {
            let cached = client.cached(&words.text(), words.time(), words.time());
            once(cached.into_once(), words)
        }
        "throttle" => {
            let throttle = client.throttle(&words.text(), words.time());
            throttle.check()?;
            Ok(Kind::Throttle(throttle))
        }
        "debounce" => {
            let mut debounce = client.debounce(&words.text(), words.time());
            set!(debounce.max_wait(words.maybe_time()));
            debounce.check()?;
            Ok(Kind::Debounce(debounce))
        }
        _ => return Ok(None),
    }
    .map(Some)
}

fn timed(mut lock: web::Lock, words: &mut Words) -> web::Lock {
    set!(lock.ttl(words.maybe_time()));
    set!(lock.wait_timeout(words.maybe_time()));
    set!(lock.max_requests(words.maybe_count()));
    lock
}

fn lock(lock: web::Lock, mut words: Words) -> Result<Kind, Fault> {
    let mut lock = timed(lock, &mut words);
    let fair = words.maybe_flag();
    set!(lock.signal_list(words.maybe_text()));
    set!(lock.label(words.maybe_text().as_deref()));
    if let (Some(count), Some(within)) = (words.maybe_count(), words.maybe_time()) {
        lock = lock.wait_for_replicas(count, within);
    }
    set!(lock.weight(words.maybe_count()));
    if let (Some(owner), Some(most)) = (words.maybe_text(), words.maybe_count()) {
        lock = lock.owner(&owner, most);
    }
    if words.flag() {
        lock = lock.take_over();
    }
    if words.flag() {
        lock = lock.listen();
    }
    set!(lock.fair(fair));
    lock.check()?;
    Ok(Kind::Lock(lock))
}

fn once(mut once: web::Once, mut words: Words) -> Result<Kind, Fault> {
    set!(once.keep(words.maybe_time()));
    set!(once.fingerprint(words.maybe_text().as_deref()));
    set!(once.max_bytes(words.maybe_count().map(|bytes| bytes as usize)));
    once = once.under(|lock| timed(lock, &mut words));
    once.check()?;
    Ok(Kind::Once(once))
}
