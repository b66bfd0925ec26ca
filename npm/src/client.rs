//! A client, and what it hands out, by their options as words. What is left out has the default.

use edgelock::web::driven::{self as web, Fault, Outside, Say};
use edgelock::{Bridge, Limit};
use js_sys::Function;

use crate::Kind;
use crate::json::event;
use crate::words::Words;

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
    if let Some(prefix) = words.maybe_text() {
        client = client.prefix(&prefix);
    }
    if let Some(timeout) = words.maybe_time() {
        client = client.request_timeout(timeout);
    }
    if let Some(attempts) = words.maybe_count() {
        client = client.max_attempts(attempts);
    }
    if let Some(quarantine) = words.maybe_time() {
        client = client.restart_quarantine(quarantine);
    }
    if let Some(life) = words.maybe_time() {
        client = client.fence_life(life);
    }
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
    if let Some(on) = words.maybe_flag() {
        bridge = bridge.push(on);
    }
    if let Some(on) = words.maybe_flag() {
        bridge = bridge.key_locking(on);
    }
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
            if let Some(longest) = words.maybe_time() {
                debounce = debounce.max_wait(longest);
            }
            debounce.check()?;
            Ok(Kind::Debounce(debounce))
        }
        _ => return Ok(None),
    }
    .map(Some)
}

fn timed(mut lock: web::Lock, words: &mut Words) -> web::Lock {
    if let Some(ttl) = words.maybe_time() {
        lock = lock.ttl(ttl);
    }
    if let Some(wait) = words.maybe_time() {
        lock = lock.wait_timeout(wait);
    }
    match words.maybe_count() {
        Some(requests) => lock.max_requests(requests),
        None => lock,
    }
}

fn lock(lock: web::Lock, mut words: Words) -> Result<Kind, Fault> {
    let mut lock = timed(lock, &mut words);
    let fair = words.maybe_flag();
    if let Some(key) = words.maybe_text() {
        lock = lock.signal_list(key);
    }
    if let Some(label) = words.maybe_text() {
        lock = lock.label(&label);
    }
    if let (Some(count), Some(within)) = (words.maybe_count(), words.maybe_time()) {
        lock = lock.wait_for_replicas(count, within);
    }
    if let Some(weight) = words.maybe_count() {
        lock = lock.weight(weight);
    }
    if let (Some(owner), Some(most)) = (words.maybe_text(), words.maybe_count()) {
        lock = lock.owner(&owner, most);
    }
    if let Some(true) = words.maybe_flag() {
        lock = lock.take_over();
    }
    if let Some(true) = words.maybe_flag() {
        lock = lock.listen();
    }
    if let Some(fair) = fair {
        lock = lock.fair(fair);
    }
    lock.check()?;
    Ok(Kind::Lock(lock))
}

fn once(mut once: web::Once, mut words: Words) -> Result<Kind, Fault> {
    if let Some(keep) = words.maybe_time() {
        once = once.keep(keep);
    }
    if let Some(fingerprint) = words.maybe_text() {
        once = once.fingerprint(&fingerprint);
    }
    if let Some(bytes) = words.maybe_count() {
        once = once.max_bytes(bytes as usize);
    }
    once = once.under(|lock| timed(lock, &mut words));
    once.check()?;
    Ok(Kind::Once(once))
}
