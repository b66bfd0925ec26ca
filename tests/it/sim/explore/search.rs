//! Looks at every history of a small world, the shortest first. Each next world is made anew from
//! its history. The search goes on from it only if it has seen none that is like it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::plan::Plan;
use super::program;
use super::server::Server;
use super::stage::Stage;
use super::step::Step;
use crate::check::Violation;
use crate::sabotage::Broken;
use crate::script::replaced;
use crate::trace::Trace;

/// How the scripts are broken when they arrive at a server; `None` if they are not.
pub(crate) type Bend = Option<&'static Broken>;

/// When a search stops.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    pub(crate) states: usize,
    pub(crate) shows_progress: bool,
}

/// What a search found.
pub(crate) struct Found {
    /// How many different worlds.
    pub(crate) states: usize,
    /// How many steps lead from one world to another.
    pub(crate) steps: usize,
    /// How many ways lead from the beginning to an end. Histories that pass through the same world
    /// are counted each.
    pub(crate) histories: u128,
    /// How many steps the longest history has.
    pub(crate) depth: usize,
    pub(crate) took: Duration,
    /// Whether no world was left to go on from.
    pub(crate) is_whole: bool,
    /// The shortest history that breaks a promise.
    pub(crate) broken: Option<(Violation, Vec<Step>)>,
}

/// Where the worlds of `plan` are made.
pub(crate) struct Bench {
    plan: Plan,
    servers: Vec<Rc<Server>>,
}

impl Bench {
    pub(crate) fn new(plan: Plan, bend: Bend) -> Self {
        let server = |_| {
            Rc::new(Server::new(Box::new(move |text| match bend {
                Some(broken) => replaced(text, broken.part, broken.by).0,
                None => text.to_owned(),
            })))
        };
        let servers: Vec<_> = (0..plan.servers).map(server).collect();
        let bench = Self { plan, servers };
        for number in 0..plan.clients {
            let quiet = Plan { faults: super::step::Faults::NONE, ..plan };
            for _ in 0..3 {
                let stage = Stage::new(quiet, &bench.servers, Trace::OFF);
                program::rehearse(&stage, number);
                stage.world.poll_ready();
                while let Some(step) = stage.steps().first() {
                    stage.take(*step);
                }
                stage.end();
                for server in &bench.servers {
                    server.learn();
                }
            }
        }
        bench
    }

    /// The world that these steps lead to.
    fn look(&self, steps: &[Step]) -> Seen {
        let stage = Stage::after(self.plan, &self.servers, steps, Trace::OFF);
        let next = stage.steps();
        stage.look(&next);
        let digest = stage.digest();
        let violation = stage.end();
        Seen { digest, next, violation }
    }

    /// The story of these steps, line by line, and the promise that they break.
    pub(crate) fn tell(&self, steps: &[Step]) -> (String, Option<Violation>) {
        let stage = Stage::after(self.plan, &self.servers, steps, Trace::on());
        let next = stage.steps();
        stage.look(&next);
        let lines = stage.trace.lines();
        (lines, stage.end())
    }
}

/// What the search knows of a world.
struct Seen {
    digest: u64,
    next: Vec<Step>,
    violation: Option<Violation>,
}

/// A world to go on from: the steps that lead there, and those that can be next.
struct Here {
    node: u32,
    steps: Vec<Step>,
    next: Vec<Step>,
}

struct Level {
    all: Vec<Here>,
    taken: AtomicUsize,
}

/// A world of the present level by its number, and the worlds behind it.
type Looked = (usize, Vec<Seen>);

/// Looks at all histories of `plan`.
pub(crate) fn search(plan: Plan, bend: Bend, bounds: Bounds) -> Found {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let (results, looked) = channel();
    thread::scope(|scope| {
        let workers: Vec<Sender<Arc<Level>>> = (0..threads)
            .map(|_| {
                let (orders, levels) = channel();
                let results = results.clone();
                scope.spawn(move || work(&Bench::new(plan, bend), &levels, &results));
                orders
            })
            .collect();
        Search::new(plan, bend, bounds).run(&workers, &looked)
    })
}

fn work(bench: &Bench, levels: &Receiver<Arc<Level>>, results: &Sender<Looked>) {
    for level in levels {
        loop {
            let at = level.taken.fetch_add(1, Relaxed);
            let Some(here) = level.all.get(at) else { break };
            let mut steps = here.steps.clone();
            let seen = here.next.iter().map(|step| {
                steps.push(*step);
                let seen = bench.look(&steps);
                steps.pop();
                seen
            });
            if results.send((at, seen.collect())).is_err() {
                return;
            }
        }
    }
}

struct Search {
    bounds: Bounds,
    begun: Instant,
    told: Instant,
    /// The worlds, by their digests.
    nodes: HashMap<u64, u32>,
    /// For each world, those that come next.
    behind: Vec<Vec<u32>>,
    steps: usize,
    first: Seen,
}

impl Search {
    fn new(plan: Plan, bend: Bend, bounds: Bounds) -> Self {
        let first = Bench::new(plan, bend).look(&[]);
        let now = Instant::now();
        Self {
            bounds,
            begun: now,
            told: now,
            nodes: HashMap::from([(first.digest, 0)]),
            behind: vec![Vec::new()],
            steps: 0,
            first,
        }
    }

    fn run(mut self, workers: &[Sender<Arc<Level>>], looked: &Receiver<Looked>) -> Found {
        let next = std::mem::take(&mut self.first.next);
        let mut all = vec![Here { node: 0, steps: Vec::new(), next }];
        let (mut depth, mut broken) = (0, None);
        while !all.is_empty() && broken.is_none() && !self.is_over() {
            depth += 1;
            let level = Arc::new(Level { all, taken: AtomicUsize::new(0) });
            for worker in workers {
                worker.send(level.clone()).expect("a worker");
            }
            (all, broken) = self.level(&level, looked, depth);
        }
        Found {
            states: self.behind.len(),
            steps: self.steps,
            histories: if broken.is_none() { histories(&self.behind) } else { 0 },
            depth,
            took: self.begun.elapsed(),
            is_whole: all.is_empty(),
            broken,
        }
    }

    /// The worlds behind this level that are new, in an order that does not depend on the threads;
    /// and the first that is broken.
    fn level(
        &mut self,
        level: &Level,
        looked: &Receiver<Looked>,
        depth: usize,
    ) -> (Vec<Here>, Option<(Violation, Vec<Step>)>) {
        let (mut early, mut next, mut broken) = (HashMap::new(), Vec::new(), None);
        for at in 0..level.all.len() {
            let here = &level.all[at];
            let seen = loop {
                if let Some(seen) = early.remove(&at) {
                    break seen;
                }
                let (at, seen) = looked.recv().expect("a worker");
                early.insert(at, seen);
            };
            for (step, seen) in here.next.iter().zip(seen) {
                self.steps += 1;
                let steps = || here.steps.iter().chain([step]).copied().collect();
                if let Some(violation) = seen.violation {
                    broken.get_or_insert_with(|| (violation, steps()));
                    continue;
                }
                let node = self.behind.len() as u32;
                let node = match self.nodes.entry(seen.digest) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => {
                        new.insert(node);
                        self.behind.push(Vec::new());
                        next.push(Here { node, steps: steps(), next: seen.next });
                        node
                    }
                };
                self.behind[here.node as usize].push(node);
            }
            self.tell(depth, at, level.all.len());
        }
        (next, broken)
    }

    fn is_over(&self) -> bool {
        self.begun.elapsed() > self.bounds.time || self.behind.len() > self.bounds.states
    }

    fn tell(&mut self, depth: usize, at: usize, of: usize) {
        if self.bounds.shows_progress && self.told.elapsed() > Duration::from_secs(5) {
            self.told = Instant::now();
            let (states, steps, time) =
                (self.behind.len(), self.steps, self.begun.elapsed().as_secs());
            eprintln!("{time} s: {states} states, {steps} steps; at step {depth}, {at} of {of}");
        }
    }
}

/// How many ways lead from the first world to one that has no next.
fn histories(behind: &[Vec<u32>]) -> u128 {
    let mut ways: Vec<Option<u128>> = vec![None; behind.len()];
    let mut stack = vec![0];
    while let Some(&node) = stack.last() {
        let open =
            behind[node].iter().map(|next| *next as usize).filter(|next| ways[*next].is_none());
        let open: Vec<usize> = open.collect();
        if open.is_empty() {
            let sum = behind[node].iter().map(|next| ways[*next as usize].unwrap_or(0));
            ways[node] =
                Some(if behind[node].is_empty() { 1 } else { sum.fold(0, u128::saturating_add) });
            stack.pop();
        }
        stack.extend(open);
    }
    ways[0].unwrap_or(0)
}
