//! One look.

use super::Look;
use crate::group::known::Known;
use crate::group::reads::Reads;
use crate::group::section::{Peek, Section};
use crate::lock::Lock;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// Reads for all items of `look` in one request, and tells each its result.
pub(in crate::group) async fn drive<S: Section, T: Transport, R: Runtime>(
    section: &S,
    peek: Peek<S>,
    mut look: Look<S::Item, S::Answer>,
    lock: &Lock<T, R>,
    known: &Known,
) {
    let asked_at = lock.runtime().now();
    let reads = Reads::of(look.items.iter().map(|waiting| &*waiting.item));
    let found = lock.read(&reads.commands).await;
    look.took = Some(lock.runtime().now().since(asked_at));
    // What is looked at for what it reads says nothing of others.
    let (mut others, mut answered) = (0, 0);
    for (place, waiting) in look.items.iter().enumerate() {
        let is_met = known.has_met(lock.key(), &waiting.item.reads);
        let replies = found.as_ref().ok().map(|found| {
            let lacks_room = reads.lacks_room(place, found);
            (reads.replies(place, found), lacks_room)
        });
        let seen = match replies {
            Some((Ok(replies), _)) => {
                let seen = peek(section, &waiting.item.item, &replies);
                if seen.is_none() {
                    waiting.item.look(replies);
                }
                Ok(seen)
            }
            // In a turn it would cost the others a round trip.
            Some((Err(error), false)) if is_met => Err(error),
            // Whatever went wrong, the turn will show whether it still does.
            _ => Ok(None),
        };
        if !is_met {
            others += 1;
            answered += usize::from(matches!(seen, Ok(Some(_))));
        }
        waiting.slot.put(seen);
    }
    if others > 0 {
        known.habits.learn(lock.key(), 2 * answered <= others);
    }
}
