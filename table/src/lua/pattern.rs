//! Lua's patterns.

/// So deep a match recurses at most.
const DEEPEST: u32 = 200;

/// So many steps a match takes at most. Some patterns take a time that grows without bound.
const LONGEST: u32 = 2_000_000;

/// A part of the text: from where, and to where. Of a mere position it is open.
pub(crate) type Part = (usize, Option<usize>);

pub(crate) struct Match {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) parts: Vec<Part>,
}

type Found = Result<Option<usize>, &'static str>;

struct Matcher<'t> {
    text: &'t [u8],
    pattern: &'t [u8],
    /// Each with whether it is closed; a position is closed at once.
    parts: Vec<(Part, bool)>,
    depth: u32,
    left: u32,
}

const MALFORMED: &str = "malformed pattern";

/// The first match in `text` from `from` on.
///
/// # Errors
/// Why the pattern is none.
pub(crate) fn find(
    text: &[u8],
    pattern: &[u8],
    from: usize,
) -> Result<Option<Match>, &'static str> {
    let (anchored, pattern) = match pattern.strip_prefix(b"^") {
        Some(pattern) => (true, pattern),
        None => (false, pattern),
    };
    let mut matcher = Matcher { text, pattern, parts: Vec::new(), depth: 0, left: LONGEST };
    for start in from..=text.len() {
        matcher.parts.clear();
        if let Some(end) = matcher.matches(start, 0)? {
            let parts = matcher.parts.iter();
            return match parts.clone().all(|(_, is_closed)| *is_closed) {
                true => {
                    Ok(Some(Match { start, end, parts: parts.map(|(part, _)| *part).collect() }))
                }
                false => Err("unfinished capture"),
            };
        }
        if anchored {
            break;
        }
    }
    Ok(None)
}

impl Matcher<'_> {
    /// Where a match of the pattern from `p` on ends, if it begins at `s`.
    fn matches(&mut self, s: usize, p: usize) -> Found {
        if self.depth == DEEPEST {
            return Err("pattern too complex");
        }
        self.depth += 1;
        let found = self.matches_here(s, p);
        self.depth -= 1;
        found
    }

    fn matches_here(&mut self, mut s: usize, mut p: usize) -> Found {
        loop {
            self.left = self.left.checked_sub(1).ok_or("pattern too complex")?;
            let Some(&first) = self.pattern.get(p) else {
                return Ok(Some(s));
            };
            let second = self.pattern.get(p + 1).copied();
            match (first, second) {
                (b'(', Some(b')')) => return self.begin(s, (s, None), true, p + 2),
                (b'(', _) => return self.begin(s, (s, None), false, p + 1),
                (b')', _) => return self.close(s, p + 1),
                (b'$', None) => return Ok((s == self.text.len()).then_some(s)),
                (b'%', Some(b'b')) => match self.balanced(s, p + 2)? {
                    Some(end) => (s, p) = (end, p + 4),
                    None => return Ok(None),
                },
                (b'%', Some(b'f')) => {
                    let end = self.class_end(p + 2)?;
                    let byte = |at: Option<usize>| {
                        at.and_then(|at| self.text.get(at)).copied().unwrap_or(0)
                    };
                    let (before, here) = (byte(s.checked_sub(1)), byte(Some(s)));
                    if self.is_in(before, p + 2, end) || !self.is_in(here, p + 2, end) {
                        return Ok(None);
                    }
                    p = end;
                }
                (b'%', Some(digit @ b'0'..=b'9')) => match self.again(s, digit)? {
                    Some(end) => (s, p) = (end, p + 2),
                    None => return Ok(None),
                },
                _ => {
                    let end = self.class_end(p)?;
                    let is_here =
                        |at: usize| self.text.get(at).is_some_and(|byte| self.is_in(*byte, p, end));
                    match self.pattern.get(end) {
                        Some(b'?') => {
                            if is_here(s)
                                && let Some(end) = self.matches(s + 1, end + 1)?
                            {
                                return Ok(Some(end));
                            }
                            p = end + 1;
                        }
                        Some(b'-') => return self.fewest(s, p, end),
                        Some(b'*') => return self.most(s, 0, p, end),
                        Some(b'+') => return self.most(s, 1, p, end),
                        _ if is_here(s) => (s, p) = (s + 1, end),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    fn most(&mut self, s: usize, least: usize, p: usize, end: usize) -> Found {
        let rest = self.text[s..].iter();
        let mut count = rest.take_while(|byte| self.is_in(**byte, p, end)).count();
        while count >= least {
            if let Some(end) = self.matches(s + count, end + 1)? {
                return Ok(Some(end));
            }
            if count == 0 {
                break;
            }
            count -= 1;
        }
        Ok(None)
    }

    fn fewest(&mut self, mut s: usize, p: usize, end: usize) -> Found {
        loop {
            if let Some(end) = self.matches(s, end + 1)? {
                return Ok(Some(end));
            }
            if !self.text.get(s).is_some_and(|byte| self.is_in(*byte, p, end)) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn begin(&mut self, s: usize, part: Part, is_closed: bool, p: usize) -> Found {
        self.parts.push((part, is_closed));
        let found = self.matches(s, p)?;
        if found.is_none() {
            self.parts.pop();
        }
        Ok(found)
    }

    fn close(&mut self, s: usize, p: usize) -> Found {
        let open = self.parts.iter().rposition(|(_, is_closed)| !is_closed);
        let open = open.ok_or("invalid pattern capture")?;
        self.parts[open].0.1 = Some(s);
        self.parts[open].1 = true;
        let found = self.matches(s, p)?;
        if found.is_none() {
            self.parts[open].0.1 = None;
            self.parts[open].1 = false;
        }
        Ok(found)
    }

    fn balanced(&self, s: usize, p: usize) -> Found {
        let Some([open, close]) = self.pattern.get(p..p + 2) else {
            return Err("unbalanced pattern");
        };
        if self.text.get(s) != Some(open) {
            return Ok(None);
        }
        let mut depth = 0_usize;
        for (at, byte) in self.text.iter().enumerate().skip(s) {
            if byte == close && at > s {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + 1));
                }
            } else if byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// What an earlier part has, once more.
    fn again(&self, s: usize, digit: u8) -> Found {
        let part =
            usize::from(digit).checked_sub(usize::from(b'1')).and_then(|at| self.parts.get(at));
        let Some(((start, Some(end)), true)) = part else {
            return Err("invalid capture index");
        };
        let part = &self.text[*start..*end];
        Ok(self.text[s..].starts_with(part).then_some(s + part.len()))
    }

    /// Where the class ends that begins at `p`.
    fn class_end(&self, p: usize) -> Result<usize, &'static str> {
        match self.pattern.get(p) {
            None => Err(MALFORMED),
            Some(b'%') => match self.pattern.get(p + 1) {
                Some(_) => Ok(p + 2),
                None => Err(MALFORMED),
            },
            Some(b'[') => {
                let mut at = p + 1;
                if self.pattern.get(at) == Some(&b'^') {
                    at += 1;
                }
                // A bracket that comes first is one of the set.
                let first = at;
                loop {
                    match self.pattern.get(at) {
                        None => return Err(MALFORMED),
                        Some(b'%') => at += 2,
                        Some(b']') if at > first => return Ok(at + 1),
                        Some(_) => at += 1,
                    }
                }
            }
            Some(_) => Ok(p + 1),
        }
    }

    /// Whether the class from `p` to `end` has `byte`.
    fn is_in(&self, byte: u8, p: usize, end: usize) -> bool {
        match &self.pattern[p..end] {
            [b'.'] => true,
            [b'%', class] => is_of(byte, *class),
            [b'[', b'^', set @ .., b']'] => !is_in_set(byte, set),
            [b'[', set @ .., b']'] => is_in_set(byte, set),
            [own] => byte == *own,
            _ => false,
        }
    }
}

fn is_in_set(byte: u8, mut set: &[u8]) -> bool {
    loop {
        let (is_in, rest) = match set {
            [] => return false,
            [b'%', class, rest @ ..] => (is_of(byte, *class), rest),
            [from, b'-', to, rest @ ..] => ((*from..=*to).contains(&byte), rest),
            [own, rest @ ..] => (byte == *own, rest),
        };
        if is_in {
            return true;
        }
        set = rest;
    }
}

fn is_of(byte: u8, class: u8) -> bool {
    let is = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 11,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return byte == class,
    };
    is != class.is_ascii_uppercase()
}
