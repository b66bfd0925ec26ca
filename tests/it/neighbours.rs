//! Other libraries' locks on the same key: they exclude ours, and ours exclude them. These are the
//! real packages, on the Redis that is installed and on 6.2.

mod program;
mod promises;
mod quorum;
mod redisson;
mod redisson_kinds;
mod semaphores;
mod several_names;
mod signal_list;

use testkit::stack::Bridge;

use self::program::Neighbour;
use crate::support::{Stack, TestLock};

/// A client of another library.
#[derive(Clone, Copy)]
struct Client {
    start: fn(&[&Bridge]) -> Neighbour,
    /// What the library puts before each name.
    prefix: &'static str,
}

/// What a user of either library calls the lock.
const NAME: &str = "sku:42";

impl Client {
    /// Their lock, our lock, and the key of both.
    fn beside(&self, stack: &Stack) -> (Neighbour, TestLock, String) {
        let ours = stack.client().prefix(self.prefix).lock(NAME);
        ((self.start)(&[&stack.bridge]), ours, format!("{}{NAME}", self.prefix))
    }
}

macro_rules! promises {
    ($stack:expr) => {
        promises!(
            $stack,
            each_excludes_the_other_until_it_releases,
            neither_ends_nor_extends_what_has_become_the_others,
            our_waiter_gets_the_lock_that_they_release,
        );
    };
    ($stack:expr, $($promise:ident,)*) => { $(
        #[test]
        fn $promise() {
            crate::support::run(crate::neighbours::promises::$promise($stack, super::CLIENT));
        }
    )* };
}

macro_rules! neighbours {
    ($($name:ident: $prefix:literal, $start:expr;)*) => { $(
        mod $name {
            use super::{Client, Neighbour, Stack};

            pub(super) const CLIENT: Client = Client { start: $start, prefix: $prefix };

            mod on_the_installed_redis {
                promises!(super::Stack::spawn());
            }

            mod on_redis_6_2 {
                promises!(super::Stack::on_redis_6_2());
            }
        }
    )* };
}

neighbours! {
    redlock_py: "", |bridges| Neighbour::script("redlock_py.py", bridges);
    python_redis_lock: "lock:", |bridges| Neighbour::script("python_redis_lock.py", bridges);
    pottery: "redlock:", |bridges| Neighbour::script("pottery_redlock.py", bridges);
    redlock_4: "", |bridges| Neighbour::script("redlock_4.mjs", bridges);
    redlock_5: "", |bridges| Neighbour::script("redlock_5.mjs", bridges);
    redis_semaphore: "mutex:", |bridges| Neighbour::script("redis_semaphore.mjs", bridges);
    upstash_lock: "", |bridges| Neighbour::script("upstash_lock.mjs", bridges);
    rslock: "", Neighbour::rslock;
}
