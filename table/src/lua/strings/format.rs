//! `string.format`.

use crate::lua::library::Args;
use crate::lua::run::Run;
use crate::lua::value::{Outcome, Value, general};

pub(super) fn format(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let template = run.text(args, 0)?;
    let (mut out, mut rest, mut at) = (Vec::new(), &template[..], 0);
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        if let Some(behind) = rest.strip_prefix(b"%") {
            out.push(b'%');
            rest = behind;
            continue;
        }
        let length = rest.iter().position(u8::is_ascii_alphabetic);
        let length = length.ok_or_else(|| run.error("invalid option to 'format'"))?;
        at += 1;
        out.extend(written(run, args, at, &rest[..length], rest[length])?);
        rest = &rest[length + 1..];
    }
    Ok(vec![Value::text(out)])
}

/// One value in a format such as `5.2f`.
fn written(
    run: &Run<'_>,
    args: &[Value],
    at: usize,
    how: &[u8],
    what: u8,
) -> Result<Vec<u8>, Value> {
    let refused = || run.error("invalid option to 'format'");
    let how = std::str::from_utf8(how).map_err(|_| refused())?;
    let width = how.trim_start_matches(['-', '0', '+', ' ', '#']);
    let is_left = how.starts_with('-');
    let is_zeros = how.starts_with('0') && what != b's';
    let (width, digits) = match width.split_once('.') {
        Some((width, digits)) => (width, Some(if digits.is_empty() { "0" } else { digits })),
        None => (width, None),
    };
    let size =
        |text: &str| text.parse::<usize>().ok().filter(|size| *size < 100).ok_or_else(refused);
    let width = if width.is_empty() { 0 } else { size(width)? };
    let digits = digits.map(size).transpose()?;
    let text = match what {
        b'd' | b'i' => format!("{}", run.number(args, at)? as i64).into_bytes(),
        b'u' => format!("{}", run.number(args, at)? as u64).into_bytes(),
        b'x' => format!("{:x}", run.number(args, at)? as i64).into_bytes(),
        b'X' => format!("{:X}", run.number(args, at)? as i64).into_bytes(),
        b'f' => format!("{:.*}", digits.unwrap_or(6), run.number(args, at)?).into_bytes(),
        b'g' => general(run.number(args, at)?, digits.unwrap_or(6)).into_bytes(),
        b'c' => vec![run.number(args, at)? as u8],
        b's' => {
            let value = args.get(at).ok_or_else(|| run.error("no value to format"))?;
            let mut text = run.shown(value).to_vec();
            text.truncate(digits.unwrap_or(usize::MAX));
            text
        }
        _ => return Err(refused()),
    };
    let missing = width.saturating_sub(text.len());
    if is_left {
        return Ok([text, vec![b' '; missing]].concat());
    }
    let sign = usize::from(is_zeros && text.first() == Some(&b'-'));
    let fill = vec![if is_zeros { b'0' } else { b' ' }; missing];
    Ok([&text[..sign], &fill, &text[sign..]].concat())
}
