//! The keys of a command, by their positions.

use redis::Cmd;

use crate::refuse;
use crate::script_classifier::{word, words};

/// The script, if a script reads the key, and the key.
pub(super) type Key<'c> = (Option<&'c [u8]>, Option<&'c [u8]>);

/// The keys of which the command may read or write much. For most commands that is the first
/// argument. For scripts it includes the script, since one serves many keys.
pub(super) fn keys<'c>(name: &[u8], command: &'c Cmd) -> Vec<Key<'c>> {
    let counted = |at: usize| {
        let count = word(command, at).and_then(|count| str::from_utf8(count).ok()?.parse().ok());
        words(command).skip(at + 1).take(count.unwrap_or_default())
    };
    let plain = |key| (None, Some(key));
    match name {
        b"MGET" | b"SUNION" | b"SINTER" | b"SDIFF" => words(command).skip(1).map(plain).collect(),
        b"MSET" | b"MSETNX" => words(command).skip(1).step_by(2).map(plain).collect(),
        b"ZUNION" | b"ZINTER" | b"ZDIFF" => counted(1).map(plain).collect(),
        _ if refuse::runs_script(name) => {
            let script = word(command, 1);
            let keys: Vec<_> = counted(2).map(|key| (script, Some(key))).collect();
            match keys.is_empty() {
                true => vec![(script, None)],
                false => keys,
            }
        }
        _ => vec![(None, word(command, 1))],
    }
}
