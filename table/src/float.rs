//! Decimal numbers in texts. The standard library's parser would be a seventh of the wasm.

/// Exact for numbers of up to 15 digits and powers of up to 22, as locks and scores have. Others
/// may differ from C's in their last bits.
pub(crate) fn parse(text: &[u8]) -> Option<f64> {
    let (sign, rest) = match text {
        [b'-', rest @ ..] => (-1.0, rest),
        [b'+', rest @ ..] => (1.0, rest),
        rest => (1.0, rest),
    };
    if ["inf", "infinity"].iter().any(|name| rest.eq_ignore_ascii_case(name.as_bytes())) {
        return Some(sign * f64::INFINITY);
    }
    let is_power = |byte: &u8| matches!(byte, b'e' | b'E');
    let (digits, power) = match rest.iter().position(is_power) {
        Some(at) => (&rest[..at], std::str::from_utf8(&rest[at + 1..]).ok()?.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (mut number, mut power, mut is_behind, mut count) =
        (0_u64, power.clamp(-9_999, 9_999), false, 0);
    for byte in digits {
        match byte {
            b'.' if !is_behind => is_behind = true,
            b'0'..=b'9' => {
                count += 1;
                // What is behind the nineteenth digit counts no more than its place.
                let is_full = number >= u64::MAX / 10 - 1;
                if !is_full {
                    number = number * 10 + u64::from(byte - b'0');
                }
                power += i32::from(is_full) - i32::from(is_behind);
            }
            _ => return None,
        }
    }
    (count > 0).then(|| sign * scaled(number as f64, power))
}

fn scaled(mut number: f64, mut power: i32) -> f64 {
    while power != 0 && number != 0.0 && number.is_finite() {
        let step = power.clamp(-22, 22);
        let by = (0..step.abs()).fold(1.0, |by, _| by * 10.0);
        number = if step > 0 { number * by } else { number / by };
        power -= step;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them() {
        for text in [
            "0",
            "1",
            "-1",
            "+7",
            "1.5",
            ".5",
            "5.",
            "01",
            "1e3",
            "1E-3",
            "-2.5e+10",
            "0.1",
            "123456789012345",
            "9007199254740993",
            "1700000000000000",
            "3.14159265358979",
            "1e22",
            "18446744073709551615",
            "inf",
            "-INF",
            "+infinity",
            "1e400",
            "1e-400",
            "0e9",
        ] {
            assert_eq!(parse(text.as_bytes()), text.parse().ok(), "{text}");
        }
        for text in ["", "-", ".", "e5", "1e", "1e1.5", "1x", " 1", "--1", "1.2.3", "nan", "1_0"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
