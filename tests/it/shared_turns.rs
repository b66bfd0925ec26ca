//! Requests of a Worker in Rust that share turns, under the crate `worker`'s own entry, in workerd.
//! All tasks of an isolate are in one queue there, and each must still go on in its own request.

use std::collections::BTreeSet;
use std::time::Duration;

use testkit::stack::{Worker, WorkerConfig};
use testkit::worker_build::as_users_do;
use tokio::task::JoinSet;

use crate::support::{Stack, eventually, over};

over! {
    [spawn] {
        each_of_512_callers_at_once_is_answered_in_its_own_request_however_many_have_been_before,
        a_service_binding_is_a_way_to_the_bridge,
        a_bridge_is_found_by_the_names_that_upstash_and_vercel_set,
        callers_that_hang_up_at_any_moment_keep_nobody_from_an_answer,
        the_callers_of_a_worker_are_answered_while_others_are_killed,
        the_example_gives_away_100_coupons_and_each_customer_one,
    }
}

/// Workers of one folder, before one bridge.
fn workers<const N: usize>(stack: &Stack, folder: &str) -> [Worker; N] {
    let build = as_users_do(folder).expect("a Worker");
    let config = WorkerConfig::bare(build)
        .bind("EDGELOCK_BRIDGE_URL", stack.bridge.url())
        .bind("EDGELOCK_BRIDGE_CREDENTIAL", stack.bridge.token());
    [(); N].map(|()| Worker::start(&config).expect("workerd"))
}

/// The status and the text of an answer, unless the caller hangs up before.
async fn get(http: reqwest::Client, url: String, patience: Duration) -> Option<(u16, String)> {
    let answer = async {
        let response = http.get(url).send().await.expect("an answer");
        let status = response.status().as_u16();
        (status, response.text().await.expect("a text"))
    };
    tokio::time::timeout(patience, answer).await.ok()
}

const PATIENT: Duration = Duration::from_secs(60);

fn turn(worker: &Worker) -> String {
    format!("{}/turn?name=sku&signal=yes&work=", worker.url())
}

async fn each_of_512_callers_at_once_is_answered_in_its_own_request_however_many_have_been_before(
    mut stack: Stack,
) {
    let [worker] = workers(&stack, "tests/worker");
    let http = reqwest::Client::new();
    let mut expected = 0;
    for _ in 0..8 {
        let mut callers = JoinSet::new();
        for _ in 0..512 {
            callers.spawn(get(http.clone(), turn(&worker), PATIENT));
        }
        let mut numbers = BTreeSet::new();
        for answer in callers.join_all().await {
            let (status, text) = answer.expect("an answer");
            assert_eq!(status, 200, "{text}");
            numbers.insert(text.parse::<u64>().expect("a number"));
        }
        assert_eq!(numbers, (expected + 1..=expected + 512).collect());
        expected += 512;
    }
    assert_eq!(stack.redis::<u64>("GET {sku}:count"), expected);
}

/// No other way leads there: the address is nobody's.
async fn a_service_binding_is_a_way_to_the_bridge(mut stack: Stack) {
    let build = as_users_do("tests/worker").expect("a Worker");
    let config = WorkerConfig::bare(build)
        .bind("EDGELOCK_BRIDGE_URL", "https://bridge.invalid")
        .bind("EDGELOCK_BRIDGE_CREDENTIAL", stack.bridge.token())
        .service("BRIDGE", stack.bridge.address().expect("an address"));
    let worker = Worker::start(&config).expect("workerd");
    let answer = get(reqwest::Client::new(), turn(&worker), PATIENT).await;
    assert_eq!(answer, Some((200, "1".to_owned())));
    assert_eq!(stack.redis::<u64>("GET {sku}:count"), 1);
}

async fn a_bridge_is_found_by_the_names_that_upstash_and_vercel_set(stack: Stack) {
    for (url, credential) in [
        ("UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"),
        ("KV_REST_API_URL", "KV_REST_API_TOKEN"),
    ] {
        let config = WorkerConfig::bare(as_users_do("tests/worker").expect("a Worker"));
        let config = config.bind(url, stack.bridge.url());
        let worker = Worker::start(&config.bind(credential, stack.bridge.token()));
        let worker = worker.expect("workerd");
        let answer = get(reqwest::Client::new(), turn(&worker), PATIENT).await;
        assert_eq!(answer.map(|(status, _)| status), Some(200));
    }
}

async fn callers_that_hang_up_at_any_moment_keep_nobody_from_an_answer(mut stack: Stack) {
    let workers: [Worker; 2] = workers(&stack, "tests/worker");
    for round in 0..20_u64 {
        let (mut hasty, mut patient) = (JoinSet::new(), JoinSet::new());
        for n in 0..20_usize {
            let url = turn(&workers[n / 2 % 2]);
            // A connection of its own: it is closed if the caller hangs up.
            let http = reqwest::Client::new();
            if n % 2 == 0 {
                // Each hangs up later than the one before, so that every stage is met.
                hasty.spawn(get(http, url, Duration::from_millis(1 + round)));
            } else {
                patient.spawn(get(http, url, PATIENT));
            }
        }
        hasty.join_all().await;
        for answer in patient.join_all().await {
            let (status, text) = answer.expect("an answer");
            assert_eq!(status, 200, "{text}");
        }
    }
    // A turn that was begun for callers that are gone also comes to its end.
    eventually(|| stack.redis::<u64>("EXISTS sku") == 0).await;
    let counted = stack.redis::<u64>("GET {sku}:count");
    assert!((200..=400).contains(&counted), "{counted}");
}

async fn the_callers_of_a_worker_are_answered_while_others_are_killed(mut stack: Stack) {
    let mut workers: [Worker; 2] = workers(&stack, "tests/worker");
    let http = reqwest::Client::new();
    let mut answered = 0;
    for _ in 0..4 {
        let (mut doomed, mut safe) = (JoinSet::new(), JoinSet::new());
        for _ in 0..50 {
            let (http, url) = (http.clone(), turn(&workers[0]));
            doomed.spawn(async move { http.get(url).send().await.map(drop) });
            let url = turn(&workers[1]);
            safe.spawn(get(reqwest::Client::new(), url, PATIENT));
        }
        let before = stack.redis::<Option<u64>>("GET {sku}:count");
        eventually(|| stack.redis::<Option<u64>>("GET {sku}:count") != before).await;
        workers[0].kill();
        doomed.join_all().await;
        for answer in safe.join_all().await {
            let (status, text) = answer.expect("an answer");
            assert_eq!(status, 200, "{text}");
            answered += 1;
        }
        workers[0].restart().expect("workerd");
    }
    let counted = stack.redis::<u64>("GET {sku}:count");
    assert!((answered..=400).contains(&counted), "{counted}");
}

async fn the_example_gives_away_100_coupons_and_each_customer_one(stack: Stack) {
    let [worker] = workers(&stack, "examples/coupons");
    let http = reqwest::Client::new();
    let mut customers = JoinSet::new();
    for n in 0..200 {
        // Each asks twice.
        let url = format!("{}/customer-{}", worker.url(), n / 2 + 20 * (n % 2));
        customers.spawn(get(http.clone(), url, PATIENT));
    }
    let mut coupons = BTreeSet::new();
    for answer in customers.join_all().await {
        let (status, text) = answer.expect("an answer");
        assert_eq!(status, 200, "{text}");
        coupons.insert(text);
    }
    let mut expected: BTreeSet<_> = (1..=100).map(|n| format!("coupon {n}\n")).collect();
    expected.insert("none left\n".to_owned());
    assert_eq!(coupons, expected);
}
