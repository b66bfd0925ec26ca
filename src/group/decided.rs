//! What a turn decided, and what its items are told once it is written.

use super::reads::failed;
use crate::command::{Command, Reply};
use crate::error::{Error, Fault};
use crate::resp::is_left_out;

/// The decisions, up to the item with which the writes became too many for a request.
pub(super) struct Decided<A> {
    /// The places in the turn of the items that are decided.
    pub(super) places: Vec<usize>,
    pub(super) answers: Vec<Result<A, Error>>,
    pub(super) writes: Vec<Command>,
    /// Which answer each write belongs to. The writes behind these belong to the turn.
    pub(super) owners: Vec<usize>,
    /// The first answer that depends on a write.
    pub(super) first_write: usize,
}

impl<A> Decided<A> {
    pub(super) const NOTHING: Self = Self {
        places: Vec::new(),
        answers: Vec::new(),
        writes: Vec::new(),
        owners: Vec::new(),
        first_write: 0,
    };

    /// The places in the turn of the items that have writes.
    pub(super) fn writers(&self) -> impl Iterator<Item = usize> {
        let owners = self.owners.chunk_by(|left, right| left == right);
        owners.filter_map(|owners| self.places.get(owners[0]).copied())
    }

    /// What the next turn will read stands behind the writes. The replies to it.
    pub(super) fn split_off_found(&self, replies: &mut Vec<Reply>) -> Vec<Reply> {
        replies.split_off(self.writes.len().min(replies.len()))
    }

    /// The outcomes of the items whose answers depend on the commit, by the replies to its
    /// commands.
    pub(super) fn committed(
        &self,
        answers: Vec<Result<A, Error>>,
        mut replies: Vec<Reply>,
    ) -> Vec<Result<A, Error>> {
        if replies.len() < self.writes.len() {
            let missing = Fault::unexpected("a reply to each write is missing");
            return answers.iter().map(|_| Err(missing.clone())).collect();
        }
        // These were executed, and nobody asks for their replies.
        for reply in replies.iter_mut().filter(|reply| is_left_out(reply)) {
            *reply = Reply::Nil;
        }
        let (of_items, of_all) = replies.split_at(self.owners.len().min(replies.len()));
        let commands = self.writes.iter().skip(of_items.len());
        if let Some(Error::CommandFailed { command, message, .. }) = failed(commands, of_all) {
            let what = format!("{command}, written for all items of the turn, failed: {message}");
            return answers
                .iter()
                .map(|_| Err(Fault::unavailable(what.clone(), true).into()))
                .collect();
        }
        let own = |place: usize| {
            let from = self.owners.partition_point(|owner| *owner < place);
            let to = self.owners.partition_point(|owner| *owner <= place);
            failed(self.writes[from..to].iter(), &of_items[from..to])
        };
        let numbered = (self.first_write..).zip(answers);
        numbered.map(|(place, answer)| own(place).map_or(answer, Err)).collect()
    }
}
