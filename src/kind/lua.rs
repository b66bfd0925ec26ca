//! The scripts in the form that is sent (`parts.rs`). They have the same bytes in every build, so
//! that a bridge can allow them by their digest.

use std::sync::OnceLock;

/// Makes Upstash lock the script's keys instead of the whole database.
const KEY_LOCKING: &str = "#!lua flags=allow-key-locking\n";

/// A script that Redis runs. It consists of parts, many of which scripts share. They are put
/// together when the script is first needed.
pub(crate) struct Script {
    parts: &'static [&'static str],
    /// For real Redis, and for Upstash.
    texts: [OnceLock<String>; 2],
    /// Their SHA-1.
    digests: [OnceLock<String>; 2],
}

impl Script {
    pub(super) const fn of(parts: &'static [&'static str]) -> Self {
        Self {
            parts,
            texts: [const { OnceLock::new() }; 2],
            digests: [const { OnceLock::new() }; 2],
        }
    }

    pub(crate) fn text(&self, key_locking: bool) -> &str {
        let first = if key_locking { KEY_LOCKING } else { "" };
        self.texts[usize::from(key_locking)]
            .get_or_init(|| [&[first], self.parts].concat().concat())
    }

    /// The digest that `EVALSHA` uses.
    pub(crate) fn digest(&self, key_locking: bool) -> &str {
        self.digests[usize::from(key_locking)].get_or_init(|| {
            let text = sha1_smol::Sha1::from(self.text(key_locking));
            text.digest().to_string()
        })
    }
}

/// The parts of each script, which `build.rs` has put in order.
pub(super) mod composed {
    include!(concat!(env!("OUT_DIR"), "/scripts.rs"));
}

macro_rules! script {
    ($kind:ident::$script:ident) => {
        $crate::kind::lua::Script::of($crate::kind::lua::composed::$kind::$script)
    };
}

/// Those that every lock has.
macro_rules! scripts {
    ($kind:ident) => {
        $crate::kind::lua::Scripts {
            acquire: $crate::kind::lua::script!($kind::ACQUIRE),
            renew: $crate::kind::lua::script!($kind::RENEW),
            release: $crate::kind::lua::script!($kind::RELEASE),
            abandon: $crate::kind::lua::script!($kind::ABANDON),
            inspect: $crate::kind::lua::script!($kind::INSPECT),
            force_release: $crate::kind::lua::script!($kind::FORCE_RELEASE),
        }
    };
}

pub(super) use {script, scripts};

/// The scripts of one kind of lock.
pub(crate) struct Scripts {
    pub(crate) acquire: Script,
    pub(crate) renew: Script,
    pub(crate) release: Script,
    pub(crate) abandon: Script,
    pub(crate) inspect: Script,
    pub(crate) force_release: Script,
}
