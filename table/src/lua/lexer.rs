//! A script's text as tokens.

use super::value::Text;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Name(Text),
    Number(f64),
    Text(Text),
    /// A keyword or an operator.
    Sign(&'static str),
    End,
}

const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Those that begin as others do come first.
const OPERATORS: [&str; 26] = [
    "...", "..", "==", "~=", "<=", ">=", "+", "-", "*", "/", "%", "^", "#", "<", ">", "=", "(",
    ")", "{", "}", "[", "]", ";", ":", ",", ".",
];

struct Lexer<'s> {
    rest: &'s [u8],
    line: u32,
}

/// Each token with its line.
///
/// # Errors
/// What no script has, with its line.
pub(crate) fn tokens(source: &[u8]) -> Result<Vec<(Token, u32)>, (String, u32)> {
    let mut lexer = Lexer { rest: source, line: 1 };
    let mut found = Vec::new();
    loop {
        let token = lexer.next().map_err(|error| (error, lexer.line))?;
        let is_last = token == Token::End;
        found.push((token, lexer.line));
        if is_last {
            return Ok(found);
        }
    }
}

impl<'s> Lexer<'s> {
    fn take(&mut self, count: usize) -> &'s [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.line += taken.iter().filter(|byte| **byte == b'\n').count() as u32;
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, is_in: impl Fn(u8) -> bool) -> &'s [u8] {
        let end = self.rest.iter().position(|byte| !is_in(*byte));
        self.take(end.unwrap_or(self.rest.len()))
    }

    fn next(&mut self) -> Result<Token, String> {
        self.skip()?;
        let Some(&first) = self.rest.first() else {
            return Ok(Token::End);
        };
        let second = self.rest.get(1).copied().unwrap_or_default();
        match first {
            b'"' | b'\'' => self.quoted(first).map(|text| Token::Text(text.into())),
            b'[' if matches!(second, b'[' | b'=') => {
                let text = self.long()?.ok_or("a text of several lines begins by [[")?;
                Ok(Token::Text(text.into()))
            }
            b'0'..=b'9' => self.number(),
            b'.' if second.is_ascii_digit() => self.number(),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                let word = self.take_while(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
                let keyword = KEYWORDS.iter().find(|keyword| keyword.as_bytes() == word);
                Ok(keyword.map_or_else(|| Token::Name(word.into()), |word| Token::Sign(word)))
            }
            _ => {
                let sign = OPERATORS.iter().find(|sign| self.rest.starts_with(sign.as_bytes()));
                let sign =
                    sign.ok_or_else(|| format!("unexpected symbol near '{}'", first as char))?;
                self.take(sign.len());
                Ok(Token::Sign(sign))
            }
        }
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), String> {
        loop {
            self.take_while(|byte| byte.is_ascii_whitespace());
            if !self.rest.starts_with(b"--") {
                return Ok(());
            }
            self.take(2);
            if self.long()?.is_none() {
                self.take_while(|byte| byte != b'\n');
            }
        }
    }

    /// What stands between `[[` and `]]`, if that begins here.
    fn long(&mut self) -> Result<Option<&'s [u8]>, String> {
        let Some(level) = self.rest.strip_prefix(b"[") else {
            return Ok(None);
        };
        let level = level.iter().take_while(|byte| **byte == b'=').count();
        if self.rest.get(level + 1) != Some(&b'[') {
            return Ok(None);
        }
        self.take(level + 2);
        if self.rest.first() == Some(&b'\n') {
            self.take(1);
        }
        let close = [b"]".as_slice(), &vec![b'='; level], b"]"].concat();
        let at = (self.rest.windows(close.len())).position(|window| window == close);
        let text = self.take(at.ok_or("unfinished long string")?);
        self.take(close.len());
        Ok(Some(text))
    }

    fn quoted(&mut self, quote: u8) -> Result<Vec<u8>, String> {
        self.take(1);
        let mut text = Vec::new();
        loop {
            text.extend(self.take_while(|byte| byte != quote && byte != b'\\' && byte != b'\n'));
            match self.take(1) {
                [byte] if *byte == quote => return Ok(text),
                [b'\\'] => text.push(self.escaped()?),
                _ => return Err("unfinished string".into()),
            }
        }
    }

    fn escaped(&mut self) -> Result<u8, String> {
        if self.rest.first().is_some_and(u8::is_ascii_digit) {
            let count = self.rest.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
            let number = self.take(count).iter();
            let number = number.fold(0_u32, |number, digit| number * 10 + u32::from(digit - b'0'));
            return u8::try_from(number).map_err(|_| "escape sequence too large".into());
        }
        Ok(match self.take(1) {
            [b'n'] => b'\n',
            [b't'] => b'\t',
            [b'r'] => b'\r',
            [b'a'] => 7,
            [b'b'] => 8,
            [b'v'] => 11,
            [b'f'] => 12,
            [byte] => *byte,
            _ => return Err("unfinished string".into()),
        })
    }

    fn number(&mut self) -> Result<Token, String> {
        let mut before = 0;
        let end = self.rest.iter().position(|&byte| {
            let is_sign = matches!(byte, b'+' | b'-') && matches!(before, b'e' | b'E');
            before = byte;
            !(is_sign || byte == b'.' || byte.is_ascii_alphanumeric())
        });
        let text = self.take(end.unwrap_or(self.rest.len()));
        let number = super::value::Value::text(text).number();
        let malformed = || format!("malformed number near '{}'", String::from_utf8_lossy(text));
        number.map(Token::Number).ok_or_else(malformed)
    }
}
