//! Every name has keys of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::kinds::Kind;
use crate::support::noted::{names, noting};
use crate::support::{alone, client, code};

alone! {
    no_key_of_a_lock_is_that_of_another,
    a_name_whose_keys_could_be_those_of_another_is_refused_with_a_prefix_too,
}

/// Parts of names: what companion keys consist of, and what could imitate them.
const PARTS: [&str; 19] = [
    "{",
    "}",
    "{a}",
    "{a}",
    "a",
    ":",
    ":fence",
    ":queue",
    ":holds",
    ":readers",
    ":result",
    ":throttle",
    ":debounce",
    ":confirmed",
    ":receipt",
    ":gone",
    ":receipt:AAAAAAAAAAAAAAAAAAAAAA",
    ":AAAAAAAAAAAAAAAAAAAAAA",
    ":wake:AAAAAAAA",
];

async fn no_key_of_a_lock_is_that_of_another() {
    let (client, noted) = noting();
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let names: BTreeSet<String> = names(&PARTS).take(3_000).collect();
    let mut accepted = 0;
    for name in names {
        // A name that is split into prefix and rest has the same key.
        let (prefix, rest) = match name.char_indices().nth(2) {
            Some((at, _)) if accepted % 2 == 0 => name.split_at(at),
            _ => ("", name.as_str()),
        };
        let client = client.clone().prefix(prefix);
        for keys in noted.keys_of_each(&client, rest).await {
            accepted += 1;
            for key in keys {
                let owner = owners.entry(key.clone()).or_insert_with(|| name.clone());
                assert_eq!(*owner, name, "both have {key:?}");
            }
        }
    }
    assert!(accepted > 1_300, "{accepted}");
}

async fn a_name_whose_keys_could_be_those_of_another_is_refused_with_a_prefix_too() {
    let endings =
        "fence queue holds lost readers result throttle debounce confirmed receipt:x gone:x wake:x";
    let names = endings.split(' ').map(|ending| format!("job:{{7}}:{ending}"));
    for name in names.chain(["{7}".to_owned()]) {
        let client = client("http://127.0.0.1:1", "credential");
        let (prefix, rest) = name.split_at(1);
        let prefixed = client.clone().prefix(prefix);
        let locks = Kind::ALL.map(|kind| kind.lock(&client, &[&name, "a"], "me"));
        for lock in locks.into_iter().chain([prefixed.lock(rest)]) {
            assert_eq!(code(lock.try_acquire().await), "invalid_argument", "{name}");
        }
    }
}
