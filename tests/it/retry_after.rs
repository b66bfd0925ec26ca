//! When a bridge says to come back: that is read with care, handed to the caller, and delays nobody
//! for long.

use std::time::Duration;

use edgelock::{Bridge, Client, Error};

use crate::support::faulty::serve;
use crate::support::{Http, Tokio, alone, client};

alone! {
    what_a_bridge_says_of_when_to_come_back_is_read_as_far_as_it_is_a_number_of_seconds,
    a_quorum_that_says_to_come_back_tomorrow_keeps_nobody_that_long,
}

const DAY: Duration = Duration::from_secs(86_400);

/// A bridge that refuses everybody, with `header` among the headers.
async fn busy(status: u16, header: &'static str) -> String {
    let answer = format!(
        "HTTP/1.1 {status} X\r\n{header}content-length: 2\r\nconnection: close\r\n\r\n{{}}"
    );
    serve(move |_| std::future::ready(Some(answer.clone().into_bytes()))).await
}

async fn what_a_bridge_says_of_when_to_come_back_is_read_as_far_as_it_is_a_number_of_seconds() {
    for (header, said) in [
        ("retry-after: 7\r\n", Some(Duration::from_secs(7))),
        ("Retry-After:  86400 \r\n", Some(DAY)),
        ("retry-after: 0\r\n", Some(Duration::ZERO)),
        ("retry-after: 99999999999999999999999\r\n", Some(366 * DAY)),
        ("retry-after: 18446744073709551615\r\n", Some(366 * DAY)),
        ("", None),
        ("retry-after: \r\n", None),
        ("retry-after: -1\r\n", None),
        ("retry-after: +1\r\n", None),
        ("retry-after: 1.5\r\n", None),
        ("retry-after: soon\r\n", None),
        ("retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n", None),
    ] {
        for status in [429, 503] {
            let url = busy(status, header).await;
            let client = client(&url, "credential").max_attempts(1);
            let error = client.lock("a").try_acquire().await.unwrap_err();
            let Error::Unavailable { retry_after, .. } = error else {
                panic!("{header}: {error}");
            };
            assert_eq!((retry_after, error.retry_after()), (said, said), "{header}");
        }
    }
}

/// The test would run into its own limit if anybody waited for a day.
async fn a_quorum_that_says_to_come_back_tomorrow_keeps_nobody_that_long() {
    let mut bridges = Vec::new();
    for _ in 0..3 {
        let url = busy(429, "retry-after: 86400\r\n").await;
        bridges.push(Bridge::upstash(&url, "credential").unwrap());
    }
    let client = Client::quorum(bridges, Http::default(), Tokio::default()).unwrap();
    let lock = client.lock("a");
    for error in [
        lock.try_acquire().await.unwrap_err(),
        lock.acquire().await.unwrap_err(),
        lock.inspect().await.unwrap_err(),
        lock.force_release().await.unwrap_err(),
    ] {
        assert_eq!(error.retry_after(), Some(DAY), "{error}");
    }
}
