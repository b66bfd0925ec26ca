//! The little JSON that bridges speak: a request is an array of strings, an answer an object of numbers, strings, nils, and flat
//! arrays of those.
//!
//! By hand, since what a library brings for floats and nesting weighs more than everything else in this room (docs/cost.md).
//! Nothing here calls itself, so that no hostile answer can nest its way through the stack.

use crate::command::Reply;

/// `words`, of which there is at least one, as an array of strings.
pub(super) fn array(words: &[&str]) -> String {
    let bytes: usize = words.iter().map(|word| word.len() + 4).sum();
    let mut json = String::with_capacity(bytes);
    let mut open = "[\"";
    for word in words {
        json.push_str(open);
        append(word, &mut json);
        open = "\",\"";
    }
    json.push_str("\"]");
    json
}

fn append(word: &str, json: &mut String) {
    let mut rest = word;
    while let Some((plain, behind)) = first_special(rest).and_then(|at| rest.split_at_checked(at)) {
        json.push_str(plain);
        let mut chars = behind.chars();
        chars.next().into_iter().for_each(|char| escape(char, json));
        rest = chars.as_str();
    }
    json.push_str(rest);
}

/// Where the first character is that cannot stand as it is. Eight at a time: a script has thousands, none of which is special, and an
/// edge that has just started runs each step here unoptimised.
fn first_special(text: &str) -> Option<usize> {
    let (chunks, rest) = text.as_bytes().as_chunks();
    let mut last = [b' '; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let mut chunks = chunks.iter().chain([&last]);
    let plain = 8 * chunks.position(|chunk| has_special(u64::from_le_bytes(*chunk)))?;
    let at = text.bytes().skip(plain).position(is_special)?;
    Some(plain + at)
}

/// Whether one of eight bytes is special: each test borrows from a byte's highest bit if the byte is low enough.
/// <https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord>
const fn has_special(bytes: u64) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    const fn less(bytes: u64, than: u8) -> u64 {
        bytes.wrapping_sub(ONES * than as u64) & !bytes & (ONES << 7)
    }
    const fn equal(bytes: u64, to: u8) -> u64 {
        less(bytes ^ (ONES * to as u64), 1)
    }
    less(bytes, b' ') | equal(bytes, b'"') | equal(bytes, b'\\') != 0
}

const fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..b' ')
}

fn escape(char: char, json: &mut String) {
    match char {
        '"' | '\\' => json.extend(['\\', char]),
        '\n' => json.push_str("\\n"),
        '\0'..' ' => {
            let code = u32::from(char);
            let digits = [code >> 4, code & 15].map(|digit| char::from_digit(digit, 16));
            json.push_str("\\u00");
            json.extend(digits.into_iter().flatten());
        }
        _ => json.push(char),
    }
}

/// The members of an object, of those that have these names.
type Members<const N: usize> = [Option<Reply>; N];

/// The members of an object that have these names. `None` if `text` is no object, or if what one of them holds is no such value.
pub(super) fn members<const N: usize>(text: &str, names: [&str; N]) -> Option<Members<N>> {
    let mut reader = Reader(text.as_bytes());
    let members = reader.members(&names)?;
    reader.next().is_none().then_some(members)
}

/// The same of each object in a list.
pub(super) fn members_of_each<const N: usize>(
    text: &str,
    names: [&str; N],
) -> Option<Vec<Members<N>>> {
    let mut objects = Vec::new();
    let mut reader = Reader(text.as_bytes());
    reader.list([b'[', b']'], &mut |reader| {
        objects.push(reader.members(&names)?);
        Some(())
    })?;
    reader.next().is_none().then_some(objects)
}

/// Whether an object has a member of this name that is `false`.
pub(super) fn is_false(text: &str, name: &str) -> bool {
    let mut is_false = false;
    let mut reader = Reader(text.as_bytes());
    let members = reader.list([b'{', b'}'], &mut |reader| {
        let is_it = reader.name()? == name.as_bytes();
        reader.peek()?;
        is_false |= is_it && reader.0.starts_with(b"false");
        reader.skip()
    });
    is_false && members.is_some() && reader.next().is_none()
}

/// What is yet to be read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    /// The first byte behind white space, which is yet to be read.
    fn peek(&mut self) -> Option<u8> {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.0 {
            self.0 = rest;
        }
        self.0.first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        self.peek()?;
        self.byte()
    }

    /// What stands between brackets, with commas between.
    fn list(
        &mut self,
        [open, close]: [u8; 2],
        element: &mut dyn FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        (self.next()? == open).then_some(())?;
        if self.peek()? == close {
            self.byte();
            return Some(());
        }
        loop {
            element(self)?;
            match self.next()? {
                b',' => {}
                end => return (end == close).then_some(()),
            }
        }
    }

    fn members<const N: usize>(&mut self, names: &[&str; N]) -> Option<Members<N>> {
        let mut members = [const { None }; N];
        self.list([b'{', b'}'], &mut |reader| {
            let name = reader.name()?;
            let known = names.iter().position(|known| known.as_bytes() == name);
            match known.and_then(|place| members.get_mut(place)) {
                Some(member) => *member = Some(reader.value()?),
                None => reader.skip()?,
            }
            Some(())
        })?;
        Some(members)
    }

    /// The name of a member.
    fn name(&mut self) -> Option<Vec<u8>> {
        (self.next()? == b'"').then_some(())?;
        let name = self.string()?;
        (self.next()? == b':').then_some(name)
    }

    fn value(&mut self) -> Option<Reply> {
        if self.peek()? != b'[' {
            return self.scalar();
        }
        let mut elements = Vec::new();
        self.list([b'[', b']'], &mut |reader| {
            elements.push(reader.element()?);
            Some(())
        })?;
        Some(Reply::Array(elements))
    }

    fn element(&mut self) -> Option<Reply> {
        if self.peek()? != b'f' {
            return self.scalar();
        }
        // Webdis's mark of an error, behind which comes its text.
        self.0 = self.0.strip_prefix(b"false")?;
        Some(Reply::Error(String::new()))
    }

    fn scalar(&mut self) -> Option<Reply> {
        match self.next()? {
            b'n' => {
                self.0 = self.0.strip_prefix(b"ull")?;
                Some(Reply::Nil)
            }
            b'"' => self.string().map(Reply::Text),
            first => self.number(first).map(Reply::Int),
        }
    }

    /// A whole number.
    fn number(&mut self, first: u8) -> Option<i64> {
        let (sign, first) = match first {
            b'-' => (-1, self.byte()?),
            _ => (1, first),
        };
        let mut number = sign * digit(first)?;
        while let Some(next) = self.0.first().copied().and_then(digit) {
            // No number begins with a zero that could be left out.
            (number != 0).then_some(())?;
            number = number.checked_mul(10)?.checked_add(sign * next)?;
            self.byte();
        }
        Some(number)
    }

    /// The rest of a string.
    fn string(&mut self) -> Option<Vec<u8>> {
        let mut string = Vec::new();
        loop {
            let end = self.0.iter().copied().position(is_special)?;
            let (plain, rest) = self.0.split_at_checked(end)?;
            string.extend_from_slice(plain);
            self.0 = rest;
            match self.byte()? {
                b'"' => return Some(string),
                b'\\' => {
                    let char = self.escaped()?;
                    string.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => return None,
            }
        }
    }

    /// The character behind a backslash.
    fn escaped(&mut self) -> Option<char> {
        match self.byte()? {
            byte @ (b'"' | b'\\' | b'/') => Some(char::from(byte)),
            b'b' => Some('\u{8}'),
            b'f' => Some('\u{c}'),
            b'n' => Some('\n'),
            b'r' => Some('\r'),
            b't' => Some('\t'),
            b'u' => {
                let unit = self.utf16()?;
                char::from_u32(unit.into()).or_else(|| {
                    // Beyond 16 bits a character comes in two.
                    self.0 = self.0.strip_prefix(b"\\u")?;
                    char::decode_utf16([unit, self.utf16()?]).next()?.ok()
                })
            }
            _ => None,
        }
    }

    fn utf16(&mut self) -> Option<u16> {
        (0..4).try_fold(0, |unit, _| {
            let digit = char::from(self.byte()?).to_digit(16)?;
            Some(unit << 4 | digit as u16)
        })
    }

    /// Past a value of any kind. Nobody wants it, so it only has to be well bracketed.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.next()? {
                b'"' => drop(self.string()?),
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.checked_sub(1)?,
                _ => {
                    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                    let end = self.0.iter().position(|byte| !is_word(byte))?;
                    self.0 = self.0.get(end..)?;
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
}

fn digit(byte: u8) -> Option<i64> {
    byte.is_ascii_digit().then(|| i64::from(byte - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn value(json: &str) -> Option<Reply> {
        let text = format!(r#"{{"other": {{"a": [1.5, "]"]}}, "value": {json}}}"#);
        let [value] = members(&text, ["value"])?;
        value
    }

    fn text(text: &str) -> Reply {
        Reply::Text(text.as_bytes().to_vec())
    }

    #[test]
    fn a_flat_array_is_read_exactly() {
        let elements = vec![
            Reply::Int(1),
            Reply::Int(-9_007_199_254_740_993),
            Reply::Int(i64::MIN),
            text("aé\n"),
            Reply::Nil,
            text(""),
        ];
        let json = r#"[1, -9007199254740993, -9223372036854775808, "a\u00e9\n", null, ""]"#;
        assert_eq!(value(json), Some(Reply::Array(elements)));
        assert_eq!(value(" [ ] "), Some(Reply::Array(vec![])));
        assert_eq!(value("7"), Some(Reply::Int(7)));
    }

    #[test]
    fn a_list_of_objects_is_read_one_by_one() {
        let list = |json| members_of_each(json, ["a"]);
        let objects = vec![[Some(Reply::Int(1))], [None], [Some(text("}"))]];
        let json = r#" [{"a": 1}, {"b": [{}]}, {"a": "}"}] "#;
        assert_eq!(list(json), Some(objects));
        assert_eq!(list("[]"), Some(vec![]));
        for json in ["", "[", "[{}", "[{},]", "[1]", "[[{}]]", "{}", "[{}] x"] {
            assert_eq!(list(json), None, "{json}");
        }
    }

    #[test]
    fn what_no_script_replies_is_refused() {
        let deep = "[".repeat(1 << 20);
        for json in [
            "[[1]]",
            "{}",
            "[{}]",
            "true",
            "false",
            "[true]",
            "[1.5]",
            "1e3",
            "01",
            "-",
            "9223372036854775808",
            "18446744073709551615",
            "[1,]",
            "[1 2]",
            "nul",
            "\"\n\"",
            r#""\x""#,
            r#""\ud800""#,
            r#""\ud800\u0041""#,
            "",
            &deep,
        ] {
            assert_eq!(value(json), None, "{json:.20}");
        }
    }

    #[test]
    fn members_are_found_among_others() {
        let found = |text| members(text, ["result", "error"]);
        assert_eq!(found("{}"), Some([None, None]));
        let json = r#" {"error":"no" , "more":[{"result":1},true,null], "result" : null}"#;
        assert_eq!(found(json), Some([Some(Reply::Nil), Some(text("no"))]));
        for json in [
            "",
            "[]",
            "{",
            r#"{"result"}"#,
            "{}x",
            r#"{"a":]}"#,
            r#"{"a":[1}"#,
        ] {
            assert_eq!(found(json), None, "{json}");
        }
        let deep = format!(r#"{{"a":{}"#, "[".repeat(1 << 20));
        assert_eq!(found(&deep), None);
    }

    #[test]
    fn what_must_be_escaped_is_found_wherever_it_stands() {
        for place in 0..=24 {
            for special in ['"', '\\', '\n', '\u{0}', '\u{1f}'] {
                let (before, behind) = ("a".repeat(place), "é".repeat(24 - place));
                let word = format!("{before}{special}{behind}");
                let json = array(&[&word]);
                assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [word]);
            }
        }
    }

    #[test]
    fn every_string_survives() {
        let words = [
            "",
            "EVAL",
            "\"\\/\n\r\t\u{0}\u{1f} \u{7f}",
            "aé€😀",
            "\u{2028}",
        ];
        let json = array(&words);
        let expected = Reply::Array(words.map(text).to_vec());
        assert_eq!(value(&json), Some(expected));
        // As another's parser reads it, and as another writes it.
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), words);
        let theirs = serde_json::to_string(&words).unwrap();
        assert_eq!(value(&theirs), value(&json));
        assert_eq!(
            value(r#""\ud83d\uDE00\/\b\f""#),
            Some(text("😀/\u{8}\u{c}"))
        );
    }
}
