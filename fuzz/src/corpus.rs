//! The texts that inputs begin as: one on each line of a file in the repository.

use crate::text::Text;

/// The texts in `file`. Empty lines and those that begin with `# ` are left out.
///
/// # Panics
/// If a line is not as [`Text`] prints it.
pub(crate) fn parse(file: &str) -> Vec<Text> {
    let is_text = |line: &&str| !line.is_empty() && !line.starts_with("# ");
    let texts = file.lines().filter(is_text);
    texts
        .map(|line| Text::parse(line).unwrap_or_else(|| panic!("not as it is printed: {line}")))
        .collect()
}
