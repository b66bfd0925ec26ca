//! Which addresses a credential may be sent to, and how a dialect proves that it has one.
//!
//! It is not a URL parser, which would triple the size of the wasm. It accepts only what means the
//! same to every URL parser, and refuses everything else.

use crate::error::Fault;
use crate::outside::number;

#[derive(Clone)]
pub(super) struct Access {
    pub(super) headers: Headers,
    pub(super) listening_headers: Headers,
    /// The texts that no message may quote.
    pub(super) secrets: Vec<String>,
}

type Headers = [(&'static str, String); 2];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PlainHttp {
    ToLoopback,
    Anywhere,
}

const NO_HTTPS: &str = "does not begin with https://, nor with http:// on this machine";

const OF_REDIS: &str = "is that of Redis itself, which the bridge uses; give that of the bridge, which begins with https://";

const PLAIN: &str = "is plain http: to another machine, which would show the credential to the network; write https://, or allow plain HTTP";

/// The address without trailing slashes.
pub(super) fn parse(url: &str, plain_http: PlainHttp) -> Result<String, Fault> {
    let url = url.trim();
    let refuse = |why: &str| Err(Fault::invalid(["the bridge's address ", why].concat()));
    if url.is_empty() {
        return refuse("is empty; is its variable set?");
    }
    let Some((scheme, rest)) = split(url) else {
        return refuse(NO_HTTPS);
    };
    let is = |name: &str| scheme.eq_ignore_ascii_case(name);
    if scheme.get(..5).is_some_and(|first| first.eq_ignore_ascii_case("redis")) {
        return refuse(OF_REDIS);
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.contains('@') {
        return refuse("holds a user name; give the credential as an argument of its own");
    }
    if !path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._~-%".contains(&byte)) {
        return refuse("has a query, a fragment or a strange path; most bridges want no path");
    }
    let Some(host) = host(authority) else {
        return refuse("has no valid host and port");
    };
    if is("http") && plain_http == PlainHttp::ToLoopback && !is_loopback(host) {
        return refuse(PLAIN);
    }
    match is("http") || is("https") {
        true => Ok(url.trim_end_matches('/').to_owned()),
        false => refuse(NO_HTTPS),
    }
}

/// Whether the host's name is `domain`, or ends in it.
pub(super) fn is_host_under(url: &str, domain: &str) -> bool {
    let authority = split(url).and_then(|(_, rest)| rest.split('/').next());
    authority.and_then(host).is_some_and(|host| {
        let before = host.len().checked_sub(domain.len());
        let parts = before.and_then(|before| host.split_at_checked(before));
        parts.is_some_and(|(before, last)| {
            last.eq_ignore_ascii_case(domain) && (before.is_empty() || before.ends_with('.'))
        })
    })
}

/// The scheme, and what follows `://`.
fn split(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    Some((scheme, rest.strip_prefix("//")?))
}

/// The host, a name or an address, if it and the port are well formed.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = rest.split_once(']')?;
            let numbers =
                host.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
            let port = match behind {
                "" => None,
                _ => Some(behind.strip_prefix(':')?),
            };
            (numbers && host.contains(':')).then_some((host, port))?
        }
        None => {
            let (host, port) = match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            };
            let named =
                host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
            (named && !host.is_empty()).then_some((host, port))?
        }
    };
    port.is_none_or(is_port).then_some(host)
}

fn is_port(text: &str) -> bool {
    number(text).is_some_and(|port| port <= u16::MAX.into())
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host == "::1" || is_ipv4_loopback(host)
}

/// Accepts only the spelling that every parser reads alike.
fn is_ipv4_loopback(host: &str) -> bool {
    let mut numbers = host.split('.');
    let is_plain = |text: &str| {
        number(text).is_some_and(|part| part < 256) && (text == "0" || !text.starts_with('0'))
    };
    numbers.next() == Some("127") && numbers.clone().count() == 3 && numbers.all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_https_address_is_accepted_anywhere() {
        for (url, kept) in [
            ("https://eu1-a-b-1.upstash.io", "https://eu1-a-b-1.upstash.io"),
            (" https://bridge.example:8443/redis/ \n", "https://bridge.example:8443/redis"),
            ("HTTPS://[2001:db8::1]:443//", "HTTPS://[2001:db8::1]:443"),
        ] {
            assert_eq!(parse(url, PlainHttp::ToLoopback).unwrap(), kept);
        }
    }

    #[test]
    fn plain_http_is_accepted_to_loopback_only_unless_asked_for() {
        for url in
            ["http://localhost:8079", "http://127.0.0.1", "http://127.9.9.9:1/x", "http://[::1]:80"]
        {
            assert!(parse(url, PlainHttp::ToLoopback).is_ok(), "{url}");
        }
        for url in [
            "http://bridge.example",
            "http://127.0.0.1.bridge.example",
            "http://localhost.bridge.example",
            "http://0.0.0.0",
            "http://127.1",
            "http://127.0.0.256",
            "http://127.0.0.01",
            "http://127.0.0.1.",
            "http://[0::1]",
            "http://[::ffff:127.0.0.1]",
        ] {
            assert!(parse(url, PlainHttp::ToLoopback).is_err(), "{url}");
            assert!(parse(url, PlainHttp::Anywhere).is_ok(), "{url}");
        }
    }

    #[test]
    fn only_the_domain_itself_and_what_is_under_it_count() {
        assert!(is_host_under("https://eu1.Upstash.io:443/x", "upstash.io"));
        assert!(!is_host_under("https://notupstash.io", "upstash.io"));
        assert!(!is_host_under("https://upstash.io.example", "upstash.io"));
    }
}
