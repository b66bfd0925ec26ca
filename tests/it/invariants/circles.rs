//! Which module of a crate uses which, as far as a reader of the paths can tell.

use std::collections::{BTreeMap, BTreeSet};

/// The names on the way to it; none for `lib.rs` or `main.rs`.
type Path = Vec<String>;

/// A file, at its path.
struct Module {
    /// What its `use`s bring into it, by the name that each has here.
    names: BTreeMap<String, Path>,
    /// What its code names, apart from what it only re-exports.
    used: BTreeSet<Path>,
}

type Modules = BTreeMap<Path, Module>;

/// A module uses another if its code names something that is defined there, whether it names it
/// where it is defined or where it is re-exported. A parent that declares or re-exports a child
/// does not use it by that.
///
/// Among the modules of one folder, each stands for all that is below it, beside the parent's own
/// code. So no two files use each other, and no two folders, directly or by others.
#[test]
fn no_modules_go_round_in_circles() {
    let path = |text: &str| words(text);
    assert!(uses(&modules("src")).contains(&(path("client::multi"), path("lock"))));
    assert!(uses(&typescript("npm/ts")).contains(&(path("cli::run"), path("quoted"))));
    let circles: Vec<String> = (ROOMS.iter())
        .map(|room| (*room, modules(room)))
        .chain([("npm/ts", typescript("npm/ts"))])
        .flat_map(|(room, modules)| circles(room, &modules))
        .collect();
    assert!(circles.is_empty(), "among these are circles: {circles:#?}");
}

/// The sources of crates. The table, and those in npm/, still have circles.
const ROOMS: [&str; 11] = [
    "src",
    "bench/src",
    "bridge/src",
    "chaos/src",
    "fuzz/src",
    "lock-service/src",
    "lottery/src",
    "testkit/src",
    "worker/shared/src",
    "worker/src",
    "xtask/src",
];

/// Which module uses which.
fn uses(modules: &Modules) -> BTreeSet<(Path, Path)> {
    let uses = modules.iter().flat_map(|(path, module)| {
        let used = (module.used.iter()).map(|used| defined_in(used, modules));
        used.map(|used| (path.clone(), used))
    });
    uses.collect()
}

fn circles(room: &str, modules: &Modules) -> Vec<String> {
    let uses = uses(modules);
    let mut circles = Vec::new();
    let parents = modules.keys().flat_map(|path| (0..=path.len()).map(|at| &path[..at]));
    for parent in parents.collect::<BTreeSet<_>>() {
        let below = |module: &Path| {
            let below = module.strip_prefix(parent)?;
            Some(below.first().map_or("the parent", String::as_str).to_owned())
        };
        let mut among: BTreeSet<(String, String)> = (uses.iter())
            .filter_map(|(from, to)| Some((below(from)?, below(to)?)))
            .filter(|(from, to)| from != to)
            .collect();
        // What uses none of the others, or what none of them uses, is in no circle.
        loop {
            let using: BTreeSet<_> = among.iter().map(|(from, _)| from.clone()).collect();
            let used: BTreeSet<_> = among.iter().map(|(_, to)| to.clone()).collect();
            let before = among.len();
            among.retain(|(from, to)| used.contains(from) && using.contains(to));
            if among.len() == before {
                break;
            }
        }
        circles.extend(among.iter().map(|(from, to)| {
            let folder = [&[room.to_owned()], parent].concat().join("::");
            format!("in {folder:?}: {from} uses {to}")
        }));
    }
    circles
}

fn modules(room: &str) -> Modules {
    let texts: Vec<(Path, String)> = (super::sources_of(room).into_iter())
        .filter(|(name, _)| name.ends_with(".rs"))
        .filter(|(name, _)| !name.ends_with("/tests.rs") && !name.ends_with("/fuzz.rs"))
        .map(|(name, text)| {
            let path = name.trim_end_matches(".rs").split('/');
            let path = path.filter(|name| !["lib", "main"].contains(name)).map(str::to_owned);
            (path.collect(), code(&text))
        })
        .collect();
    let all: BTreeSet<Path> = texts.iter().map(|(path, _)| path.clone()).collect();
    let module = |(path, code): (Path, String)| {
        let mut module = Module { names: BTreeMap::new(), used: BTreeSet::new() };
        let mut rest = String::new();
        for statement in code.split_inclusive(';') {
            let Some((is_export, tree)) = split_use(statement) else {
                rest.push_str(statement);
                continue;
            };
            for (name, used) in leaves(tree) {
                let Some(used) = absolute(&used, &path, &module.names, &all) else {
                    continue;
                };
                module.names.insert(name, used.clone());
                if !is_export {
                    module.used.insert(used);
                }
            }
        }
        let named = paths(&rest).filter_map(|used| absolute(&used, &path, &module.names, &all));
        module.used.extend(named.collect::<Vec<_>>());
        (path, module)
    };
    texts.into_iter().map(module).collect()
}

/// The files of a folder, which use what they import or export on.
fn typescript(room: &str) -> Modules {
    let path = |name: &str| name.split('/').map(str::to_owned).collect::<Path>();
    let sources = super::sources_of(room).into_iter();
    let file = |(name, text): (String, String)| {
        let own = path(name.strip_suffix(".ts")?);
        let mut used = BTreeSet::new();
        for import in text.split(" from \"").skip(1) {
            let name = import.split('"').next().unwrap_or_default();
            let Some(name) = name.strip_suffix(".js") else {
                continue;
            };
            let mut at = own[..own.len() - 1].to_vec();
            for step in path(name) {
                match step.as_str() {
                    "." => {}
                    ".." => drop(at.pop()),
                    _ => at.push(step),
                }
            }
            used.insert(at);
        }
        let names = BTreeMap::new();
        Some((own, Module { names, used }))
    };
    sources.filter_map(file).collect()
}

/// Without comments, tests, and the paths that say how far something is visible.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next();
    let lines = text.unwrap_or_default().lines();
    let code = lines.map(|line| line.split("//").next().unwrap_or_default());
    let code: Vec<&str> = code.collect();
    let code = code.join("\n");
    let mut pieces = code.split("pub(in ");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |code, piece| {
        code + "pub " + piece.split_once(')').map_or("", |(_, rest)| rest)
    })
}

/// Whether it is a re-export, and the tree, if a statement is a `use`.
fn split_use(statement: &str) -> Option<(bool, &str)> {
    let (head, tree) = statement.rsplit_once("use ")?;
    let visibility = head.lines().last().unwrap_or_default().trim();
    // In a text, there are other characters.
    let is_tree = |char: char| char.is_alphanumeric() || "_:{},*; \n".contains(char);
    let is_use = visibility.is_empty() || visibility.starts_with("pub");
    (is_use && tree.chars().all(is_tree))
        .then_some((!visibility.is_empty(), tree.trim_end_matches(';')))
}

/// What a tree of a `use` names, each with its name here.
fn leaves(tree: &str) -> Vec<(String, Path)> {
    let Some((head, rest)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let mut path = words(path);
        path.pop_if(|last| last == "self");
        let name = [name.trim(), path.last().map_or("", String::as_str)]
            .into_iter()
            .find(|name| !name.is_empty());
        return vec![(name.unwrap_or_default().to_owned(), path)];
    };
    let head = words(head);
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let mut depth = 0_u32;
    let branches = inner.split(|char| {
        depth += u32::from(char == '{');
        depth -= u32::from(char == '}');
        char == ',' && depth == 0
    });
    (branches.filter(|branch| !branch.trim().is_empty()))
        .flat_map(leaves)
        .map(|(name, path)| {
            let path = [head.clone(), path].concat();
            let own = path.last().cloned().unwrap_or_default();
            (if name.is_empty() { own } else { name }, path)
        })
        .collect()
}

/// All paths of two names or more in `code`.
fn paths(code: &str) -> impl Iterator<Item = Path> {
    let apart = |char: char| !char.is_alphanumeric() && !['_', ':'].contains(&char);
    code.split(apart).filter(|text| text.contains("::")).map(words)
}

fn words(path: &str) -> Path {
    let names = path.split("::").map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The path from the root, of what `module` calls so; `None` if that is in another crate.
fn absolute(
    path: &[String],
    module: &[String],
    names: &BTreeMap<String, Path>,
    all: &BTreeSet<Path>,
) -> Option<Path> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            let parent = module.split_last().map_or(module, |(_, parent)| parent);
            match rest.first() {
                Some(next) if next == "super" => absolute(rest, parent, names, all),
                _ => Some([parent, rest].concat()),
            }
        }
        name => match names.get(name) {
            Some(named) => Some([named.as_slice(), rest].concat()),
            None => {
                let child = [module, path].concat();
                all.contains(&child[..=module.len()]).then_some(child)
            }
        },
    }
}

/// The module that has what is at `path`, wherever it is re-exported.
fn defined_in(path: &[String], modules: &Modules) -> Path {
    let mut at = path.len();
    while !modules.contains_key(&path[..at]) {
        at -= 1;
    }
    let (module, rest) = path.split_at(at);
    let elsewhere = rest.first().and_then(|name| modules[module].names.get(name));
    match elsewhere {
        Some(named) => defined_in(&[named.as_slice(), &rest[1..]].concat(), modules),
        None => module.to_vec(),
    }
}
