//! What JavaScript says: values one after the other, as `npm/ts/words.ts` writes them.

use std::time::Duration;
use std::vec::IntoIter;

use edgelock::web::driven::{command, text, values};
use edgelock::{Command, Reply};

/// Values that are read in their order. What is missing, or something else than is asked for, is
/// nothing: the default.
pub(crate) struct Words(IntoIter<Reply>);

impl Words {
    pub(crate) fn of(text: &str) -> Self {
        Self(values(text).into_iter())
    }

    fn value(&mut self) -> Reply {
        self.0.next().unwrap_or(Reply::Nil)
    }

    /// A text.
    pub(crate) fn maybe_text(&mut self) -> Option<String> {
        text(self.value())
    }

    /// A text that has no default.
    pub(crate) fn text(&mut self) -> String {
        self.maybe_text().unwrap_or_default()
    }

    /// A whole number, 0 or more, which has no default.
    pub(crate) fn number(&mut self) -> u64 {
        self.maybe_number().unwrap_or_default()
    }

    fn maybe_number(&mut self) -> Option<u64> {
        match self.value() {
            Reply::Int(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    /// A whole number that `npm/ts/check.ts` has bounded.
    pub(crate) fn maybe_count(&mut self) -> Option<u32> {
        self.maybe_number().map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// The same, which has no default.
    pub(crate) fn count(&mut self) -> u32 {
        self.maybe_count().unwrap_or_default()
    }

    /// A time in milliseconds.
    pub(crate) fn maybe_time(&mut self) -> Option<Duration> {
        self.maybe_number().map(Duration::from_millis)
    }

    /// A time that has no default.
    pub(crate) fn time(&mut self) -> Duration {
        self.maybe_time().unwrap_or_default()
    }

    /// Yes or no: 1 or 0.
    pub(crate) fn maybe_flag(&mut self) -> Option<bool> {
        self.maybe_number().map(|number| number > 0)
    }

    /// Whether it says yes.
    pub(crate) fn flag(&mut self) -> bool {
        self.maybe_flag() == Some(true)
    }

    /// Values of a list.
    pub(crate) fn list(&mut self) -> Self {
        Self(elements(self.value()))
    }

    /// The values of a list, as they are.
    pub(crate) fn values(&mut self) -> Vec<Reply> {
        self.list().0.collect()
    }

    /// The lists in a list.
    pub(crate) fn lists(&mut self) -> impl Iterator<Item = Self> + use<> {
        self.list().0.map(|list| Self(elements(list)))
    }

    /// The texts of a list.
    pub(crate) fn texts(&mut self) -> Vec<String> {
        self.list().0.filter_map(text).collect()
    }

    /// Commands: lists of words. A key is a list of one word.
    pub(crate) fn commands(&mut self) -> Vec<Command> {
        self.lists().map(|words| command(words.0)).collect()
    }
}

fn elements(value: Reply) -> IntoIter<Reply> {
    match value {
        Reply::Array(elements) => elements.into_iter(),
        _ => Vec::new().into_iter(),
    }
}
