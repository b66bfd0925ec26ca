//! A long pipeline goes to Redis piece by piece, each once the one before it is answered.
//!
//! Redis serves nobody else while it executes what arrived in one piece. Ten thousand commands of a
//! tenth of a second each would keep all others waiting for a quarter of an hour, even if their
//! client is long gone.

use std::sync::Arc;
use std::time::Duration;

use redis::Pipeline;

/// How many commands the first piece has, and the largest.
const FIRST: usize = 8;
const MOST: usize = 32;

/// After a piece that took longer, the next one is a single command.
const SLOW: Duration = Duration::from_millis(100);

pub(crate) struct Pieces<'a> {
    commands: &'a Arc<Pipeline>,
    taken: usize,
    size: usize,
}

impl<'a> Pieces<'a> {
    pub(crate) const fn of(commands: &'a Arc<Pipeline>) -> Self {
        Self {
            commands,
            taken: 0,
            size: FIRST,
        }
    }

    pub(crate) fn next(&mut self) -> Option<Arc<Pipeline>> {
        if !self.are_left() {
            return None;
        }
        let (count, from) = (self.commands.len(), self.taken);
        if count <= FIRST {
            self.taken = count;
            return Some(Arc::clone(self.commands));
        }
        let mut piece = Pipeline::new();
        for command in self.commands.cmd_iter().skip(from).take(self.size) {
            piece.add_command(command.clone());
        }
        self.taken += piece.len();
        Some(Arc::new(piece))
    }

    /// Whether another piece follows.
    pub(crate) fn are_left(&self) -> bool {
        self.taken < self.commands.len()
    }

    /// The last piece was answered after this time.
    pub(crate) fn answered(&mut self, after: Duration) {
        self.size = match after > SLOW {
            true => 1,
            false => (2 * self.size).min(MOST),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(count: usize, took: impl Fn(usize) -> Duration) -> Vec<usize> {
        let mut commands = Pipeline::new();
        (0..count).for_each(|number| {
            commands.cmd("ECHO").arg(number);
        });
        let commands = Arc::new(commands);
        let (mut pieces, mut sizes, mut sent) = (Pieces::of(&commands), Vec::new(), Vec::new());
        while let Some(piece) = pieces.next() {
            sizes.push(piece.len());
            sent.extend(piece.cmd_iter().map(redis::Cmd::get_packed_command));
            pieces.answered(took(sizes.len()));
        }
        let all: Vec<_> = commands
            .cmd_iter()
            .map(redis::Cmd::get_packed_command)
            .collect();
        assert!(sent == all, "each once, in order");
        sizes
    }

    #[test]
    fn a_long_pipeline_goes_piece_by_piece_and_one_by_one_where_redis_is_slow() {
        let quick = |_| Duration::ZERO;
        assert!(sizes(0, quick).is_empty());
        assert_eq!(sizes(8, quick), [8]);
        assert_eq!(sizes(100, quick), [8, 16, 32, 32, 12]);
        assert_eq!(sizes(12, |_| 2 * SLOW), [8, 1, 1, 1, 1]);
        let once = |piece| if piece == 1 { 2 * SLOW } else { SLOW };
        assert_eq!(sizes(16, once), [8, 1, 2, 4, 1]);
    }
}
