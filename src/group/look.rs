//! One look for all items that want one: what needs no turn is answered by it.

use super::lines::Driver;
use super::reads::{Asked, Reads};
use super::section::Section;
use super::turn::{alive, fail};
use crate::command::Reply;
use crate::lock::Lock;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// Items that are looked at together, and what they come to without a turn.
pub(super) type Look<S> = Driver<Asked<<S as Section>::Item>, Option<<S as Section>::Answer>>;

/// What an item comes to by what its reads found without the lock, if that is for good.
pub(super) type Peek<S> = fn(&S, &<S as Section>::Item, &[Reply]) -> Option<<S as Section>::Answer>;

/// Reads what all items of `look` read, in one request, and tells each what comes of it.
pub(super) async fn drive<S: Section, T: Transport, R: Runtime>(
    section: &S,
    peek: Peek<S>,
    look: Look<S>,
    lock: &Lock<T, R>,
) {
    let work = async {
        let reads = Reads::of(look.items.iter().map(|item| &**item));
        let replies = match lock.client().read(&reads.commands).await {
            Ok(replies) => replies,
            Err(error) => return fail(&look, &reads, &error),
        };
        let seen = look.items.iter().enumerate().map(|(place, asked)| {
            let replies = reads.replies(place, &replies)?;
            Ok(peek(section, &asked.item, &replies))
        });
        look.end(seen.collect());
    };
    alive(&look, lock, work).await;
}
