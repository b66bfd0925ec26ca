//! Locks that several hold at once, with a crowd of waiters: semaphores beside those of
//! redis-semaphore, and a read/write lock beside a plain lock that could do the same work.
//!
//! redis-semaphore reaches Redis by TCP, over the same distance and without a bridge. Each of its
//! waiters asks again after its delay, which is 10 ms by default.

use std::time::Duration;

use anyhow::Result;

use super::field::Field;
use super::figures::Figures;

const CONTENDERS: u64 = 256;
const PERMITS: [u64; 3] = [1, 8, 64];
const PEER_DELAYS_MS: [u64; 2] = [10, 100];
/// Enough turns to see who goes without, and few enough to wait for.
const TURNS_EACH: u64 = 4;
/// With many permits, the process of Node takes most of the time.
const SHORTEST_ROUND: Duration = Duration::from_secs(2);

/// Times are in milliseconds. `min` and `max` are the fewest and the most turns that one customer
/// had. `hold` is how long a holder held, which is longer than it meant to where Node is busy.
/// Node, bridge and Redis are their CPU in a turn. `edgelock ×` is what edgelock comes to, as a
/// multiple of what this line does.
const HEAD: &str = "turns/s requests wait p50 wait p99   min   max   Jain  hold   Node bridge  Redis edgelock × turns × requests × wait p99";

struct Case {
    name: String,
    query: String,
    /// How many may be inside at once, which decides the window.
    at_once: u64,
}

impl Case {
    fn new(name: impl Into<String>, query: impl Into<String>, at_once: u64) -> Self {
        Self { name: name.into(), query: format!("{}&names=1", query.into()), at_once }
    }
}

/// Each kind, and then what it is compared with.
fn groups() -> Vec<Vec<Case>> {
    let semaphores = PERMITS.map(|permits| {
        let of = |name: &str, query: &str| {
            let query = format!("{query}&permits={permits}");
            Case::new(format!("{name}, {permits} permits"), query, permits)
        };
        let peers = PEER_DELAYS_MS.map(|delay| {
            let query = format!("kind=redisSemaphore&delay={delay}");
            of(&format!("redis-semaphore {delay} ms"), &query)
        });
        let ours = of("edgelock", "kind=semaphore");
        [ours].into_iter().chain(peers).collect()
    });
    let read_write = vec![
        Case::new("edgelock read/write, 90 % read", "kind=readWrite", 1),
        Case::new("edgelock lock, same work", "kind=push", 1),
    ];
    semaphores.into_iter().chain([read_write]).collect()
}

pub(super) async fn measure(field: &Field) -> Result<()> {
    eprintln!("warming up");
    for case in groups().iter().flatten() {
        figures(field, case, 2 * case.at_once, 1).await?;
    }
    println!("{:32} {HEAD}", format!("{CONTENDERS} contenders"));
    for group in groups() {
        let mut ours: Option<Figures> = None;
        for case in &group {
            let figures = figures(field, case, CONTENDERS, TURNS_EACH).await?;
            println!("{}", row(case, &figures, ours.as_ref()));
            ours.get_or_insert(figures);
        }
    }
    Ok(())
}

async fn figures(field: &Field, case: &Case, contenders: u64, turns: u64) -> Result<Figures> {
    let rounds = u32::try_from(contenders.div_ceil(case.at_once))?;
    let round = SHORTEST_ROUND.max(field.turn * rounds);
    field.figures(&case.query, contenders, round, turns).await
}

fn row(case: &Case, figures: &Figures, ours: Option<&Figures>) -> String {
    let Figures {
        per_second,
        requests,
        wait_p50_ms: p50,
        wait_p99_ms: p99,
        turns: [fewest, most],
        jain,
        held_ms,
        cpu_ms: [node, bridge, redis],
        ..
    } = figures;
    let ratios = ours.map_or_else(String::new, |ours| {
        format!(
            " {:16.2} {:10.2} {:10.2}",
            ours.per_second / per_second,
            ours.requests / requests,
            ours.wait_p99_ms / p99
        )
    });
    format!(
        "{:32} {per_second:7.1} {requests:8.2} {p50:8.0} {p99:8.0} {fewest:5.0} {most:5.0} {jain:6.3} {held_ms:5.1} {node:6.2} {bridge:6.2} {redis:6.2}{ratios}",
        case.name
    )
}
