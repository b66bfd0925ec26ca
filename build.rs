//! Puts the scripts of `src/kind` together from their parts, as they are sent.
//!
//! The head of a kind's file lists for each script the parts that it has in any case, in their
//! order. Before each comes what it needs and is not there yet. If several parts provide the same,
//! the kind's own file decides, then the files that the kind is made of, then those that all share.
//! A part that a script lists comes only where it is listed.

#[path = "src/kind/parts.rs"]
mod parts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use parts::Part;

/// What a kind has from what it is made of, unless it lists it itself.
const OF_EVERY_LOCK: [&str; 6] =
    ["acquire", "renew", "release", "abandon", "inspect", "force_release"];

fn main() {
    know_npm();
    let folder = Path::new("src/kind");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").expect("cargo says where");
    let names = parts::Names::of(&parts::sources(folder));
    let (heads, parts): (Vec<_>, Vec<_>) =
        (parts::parts(folder).into_iter()).partition(|part| part.name.is_empty());
    let kinds = Kinds::of(&heads, &parts);
    let mut written = String::new();
    let mut unused: BTreeSet<String> = parts.iter().map(constant).collect();
    for kind in kinds.scripts.keys() {
        write!(written, "pub(crate) mod {kind} {{").expect("text");
        for (script, listed) in kinds.scripts_of(kind) {
            let mut order = Order::new(&kinds, kind);
            let listed: Vec<_> = listed.iter().map(|name| order.listed(name)).collect();
            order.add_all(&listed);
            let order: Vec<_> = order.all.into_iter().map(constant).collect();
            let (script, all) = (script.to_uppercase(), order.join(", super::"));
            write!(written, "pub(crate) const {script}: &[&str] = &[super::{all}];").expect("text");
            unused.retain(|part| !order.contains(part));
        }
        written += "}\n";
    }
    assert!(unused.is_empty(), "no script has {unused:?}");
    for part in &parts {
        let (name, sent) = (constant(part), names.shorten(&part.source));
        writeln!(written, "const {name}: &str = {sent:?};").expect("text");
    }
    fs::write(Path::new(&out).join("scripts.rs"), written).expect("a file can be written");
}

/// The npm package's side of the crate is in `npm/host`, which is not published with it. So `npm`
/// is set where that is there and asked for, in wasm.
fn know_npm() {
    println!("cargo::rustc-check-cfg=cfg(npm)");
    let is_wasm = env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm");
    let is_asked_for = env::var_os("CARGO_FEATURE_HOST_JSON").is_some();
    if is_wasm && is_asked_for && Path::new("npm/host").exists() {
        println!("cargo::rustc-cfg=npm");
    }
}

fn constant(part: &Part) -> String {
    format!("{}_{}", part.file, part.name).to_uppercase()
}

struct Kinds<'p> {
    parts: &'p [Part],
    /// The files that each kind is made of, the nearest first. Files of which nobody says so are
    /// shared by all.
    made_of: BTreeMap<&'p str, Vec<&'p str>>,
    /// By kind and name: the parts that are listed.
    scripts: BTreeMap<&'p str, BTreeMap<&'p str, Vec<&'p str>>>,
    /// All parts that any script lists.
    listed: Vec<&'p Part>,
}

impl<'p> Kinds<'p> {
    fn of(heads: &'p [Part], parts: &'p [Part]) -> Self {
        let (mut made_of, mut scripts) = (BTreeMap::new(), BTreeMap::new());
        for head in heads {
            let file = head.file.as_str();
            let kind = head.head("kind");
            if !kind.is_empty() {
                assert_eq!(kind[0].trim_end_matches(','), file);
                let of = kind.iter().skip(3).map(|kind| kind.trim_end_matches(','));
                made_of.insert(file, of.collect());
            }
            let lines = head.source.lines().filter_map(|line| line.strip_prefix("-- script "));
            let of_file: BTreeMap<_, _> = lines
                .map(|line| line.split_once(": ").expect("a name, a colon and parts"))
                .map(|(name, listed)| (name.trim(), listed.split_whitespace().collect()))
                .collect();
            if !of_file.is_empty() {
                scripts.insert(file, of_file);
            }
        }
        let mut kinds = Self { parts, made_of, scripts, listed: Vec::new() };
        let mut listed = Vec::new();
        for (kind, scripts) in &kinds.scripts {
            let order = Order::new(&kinds, kind);
            listed.extend(scripts.values().flatten().map(|name| order.listed(name)));
        }
        kinds.listed = listed;
        kinds
    }

    fn scripts_of(&self, kind: &'p str) -> BTreeMap<&'p str, Vec<&'p str>> {
        let mut all = self.scripts[kind].clone();
        let below = self.made_of.get(kind).into_iter().flatten();
        for scripts in below.filter_map(|kind| self.scripts.get(kind)) {
            for name in OF_EVERY_LOCK {
                if let Some(listed) = scripts.get(name) {
                    all.entry(name).or_insert_with(|| listed.clone());
                }
            }
        }
        all
    }

    fn is_listed(&self, part: &Part) -> bool {
        self.listed.iter().any(|listed| is_same(listed, part))
    }
}

/// The parts of one script.
#[derive(Clone)]
struct Order<'k, 'p> {
    kinds: &'k Kinds<'p>,
    /// The files of the kind, its own first. Behind them are those that all share.
    files: Vec<&'p str>,
    all: Vec<&'p Part>,
    /// Those whose names the next part sees, each with those that it needs.
    seen: Vec<(&'p Part, Vec<&'p Part>)>,
    /// The parts that wait for what they need.
    asking: Vec<&'p Part>,
}

impl<'k, 'p> Order<'k, 'p> {
    fn new(kinds: &'k Kinds<'p>, kind: &'p str) -> Self {
        let mut files = vec![kind];
        files.extend(kinds.made_of.get(kind).into_iter().flatten());
        Self { kinds, files, all: Vec::new(), seen: Vec::new(), asking: Vec::new() }
    }

    /// At which place its file decides, if the kind has it.
    fn level(&self, part: &Part) -> Option<usize> {
        let own = self.files.iter().position(|file| *file == part.file);
        let is_shared = !self.kinds.made_of.contains_key(part.file.as_str());
        own.or_else(|| is_shared.then_some(self.files.len()))
    }

    fn sees(&self, part: &Part) -> bool {
        self.seen.iter().any(|(seen, _)| is_same(seen, part))
    }

    /// The part that is listed under this name.
    fn listed(&self, name: &str) -> &'p Part {
        let found = self.kinds.parts.iter().filter(|part| part.name == name);
        let found = found.filter_map(|part| Some((self.level(part)?, part)));
        let nearest = found.min_by_key(|(level, _)| *level);
        nearest.unwrap_or_else(|| panic!("{:?} has no {name}", self.files[0])).1
    }

    /// The part that provides this name from this level on, other than `but`.
    fn provider(&self, name: &str, from: usize, but: &Part) -> &'p Part {
        for level in from..=self.files.len() {
            let here = |part: &&Part| {
                self.level(part) == Some(level)
                    && !is_same(part, but)
                    && part.head("provides").contains(&name)
                    && (self.sees(part) || !self.kinds.is_listed(part))
            };
            let found: Vec<_> = self.kinds.parts.iter().filter(here).collect();
            let listed = found.iter().find(|part| self.kinds.is_listed(part));
            match (&found[..], listed) {
                ([], _) => {}
                (_, Some(part)) | ([part], None) => return part,
                ([one, other, ..], None) => {
                    panic!("{} and {} provide {name}", constant(one), constant(other))
                }
            }
        }
        panic!("nobody provides {name}, which {} of {} needs", constant(but), self.files[0])
    }

    /// Adds a part, and before it what it needs.
    fn add(&mut self, part: &'p Part) {
        if self.sees(part) {
            return;
        }
        let is_circle = self.asking.iter().any(|asking| is_same(asking, part));
        assert!(!is_circle, "{} needs itself", constant(part));
        self.asking.push(part);
        let level = self.level(part).expect("a file of the kind");
        let wraps = part.head("wraps");
        let needs = part.head("needs").into_iter().map(|name| (name, 0));
        let mut needed = Vec::new();
        for (name, from) in wraps.iter().map(|name| (*name, level)).chain(needs) {
            let provider = self.provider(name, from, part);
            self.add(provider);
            needed.push(provider);
        }
        for (seen, _) in &self.seen {
            for name in part.head("provides") {
                let is_new = !seen.head("provides").contains(&name) || wraps.contains(&name);
                assert!(is_new, "{} hides {name} of {}", constant(part), constant(seen));
            }
        }
        self.asking.pop();
        self.seen.push((part, needed));
        self.all.push(part);
    }

    fn add_all(&mut self, listed: &[&'p Part]) {
        let Some((first, mut rest)) = listed.split_first() else {
            return;
        };
        if let Some(block) = first.head("begins").last() {
            let end = rest.iter().position(|part| !part.head("ends").is_empty());
            let (inside, behind) = rest.split_at(end.expect("an end") + 1);
            rest = behind;
            self.add_block(*block == "loop", first, inside, behind);
        } else {
            self.add(first);
        }
        self.add_all(rest);
    }

    /// Before a loop comes what needs nothing of it, since that is to be there once. A branch has
    /// all that nothing behind it needs, since Lua makes each function of a script anew in each
    /// run.
    fn add_block(
        &mut self,
        is_loop: bool,
        first: &'p Part,
        inside: &[&'p Part],
        behind: &[&'p Part],
    ) {
        let [mut block, mut after] = [self.clone(), self.clone()];
        for part in [&first].into_iter().chain(inside) {
            block.add(part);
        }
        if is_loop {
            let mut of_loop = vec![first];
            for (part, needed) in &block.seen[self.seen.len()..] {
                let is_bound = needed.iter().any(|one| of_loop.iter().any(|two| is_same(one, two)));
                if is_bound || inside.iter().any(|one| is_same(one, part)) {
                    of_loop.push(part);
                } else if !is_same(part, first) {
                    self.add(part);
                }
            }
        } else {
            after.add(first);
            after.add_all(behind);
            for part in block.all {
                if after.sees(part) && !is_same(part, first) {
                    self.add(part);
                }
            }
        }
        let before = self.seen.len();
        self.add(first);
        for part in inside {
            self.add(part);
        }
        // Behind the block nobody sees what is in it.
        let last = self.seen.pop().expect("the end");
        self.seen.truncate(before + usize::from(!is_loop));
        self.seen.push(last);
    }
}

fn is_same(one: &Part, other: &Part) -> bool {
    std::ptr::eq(one, other)
}
