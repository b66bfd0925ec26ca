//! The words of a command, one behind the other in one text: a script takes twenty, and each as a
//! text of its own would be an allocation.

#[derive(Clone)]
pub(crate) struct Words {
    text: String,
    ends: Vec<usize>,
}

impl Words {
    pub(crate) const NONE: Self = Self {
        text: String::new(),
        ends: Vec::new(),
    };

    /// Adds a word of these parts.
    pub(crate) fn add(&mut self, parts: &[&str]) {
        for part in parts {
            self.text += part;
        }
        self.ends.push(self.text.len());
    }

    pub(crate) const fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let mut begin = 0;
        self.ends.iter().map(move |&end| {
            let word = self.text.get(begin..end).unwrap_or_default();
            begin = end;
            word
        })
    }
}
