//! Texts of a corpus, changed in a few places.

use bolero::{Driver, ValueGenerator};

use crate::corpus;
use crate::edit::edit;
use crate::text::Text;

/// The most changes that are made in one text.
const MOST_EDITS: usize = 6;

/// Draws a text of a corpus, and changes it in a few places.
#[derive(Clone)]
pub struct Mutants(Vec<Text>);

impl Mutants {
    /// `file` has a text on each line, as [`Text`] prints it.
    ///
    /// # Panics
    /// If it has none, or one that is written in another way.
    pub fn of(file: &str) -> Self {
        let texts = corpus::parse(file);
        assert!(!texts.is_empty(), "the corpus is empty");
        Self(texts)
    }

    /// The texts of the corpus, unchanged.
    pub fn texts(&self) -> &[Text] {
        &self.0
    }

    /// Draws several texts at a time.
    pub const fn up_to(self, most: usize) -> Several {
        Several { of: self, most }
    }

    fn any<D: Driver>(&self, driver: &mut D) -> Option<&Text> {
        self.0.get((0..self.0.len()).generate(driver)?)
    }
}

impl ValueGenerator for Mutants {
    type Output = Text;

    fn generate<D: Driver>(&self, driver: &mut D) -> Option<Text> {
        let mut text = self.any(driver)?.clone();
        // One text in seven stays as it is.
        for _ in 0..(0..=MOST_EDITS).generate(driver)? {
            let other = self.any(driver)?;
            edit(&mut text.0, &other.0, driver)?;
        }
        Some(text)
    }
}

/// Draws from one to `most` texts.
#[derive(Clone)]
pub struct Several {
    of: Mutants,
    most: usize,
}

impl ValueGenerator for Several {
    type Output = Vec<Text>;

    fn generate<D: Driver>(&self, driver: &mut D) -> Option<Vec<Text>> {
        let count = (1..=self.most).generate(driver)?;
        (0..count).map(|_| self.of.generate(driver)).collect()
    }
}
