//! Numbers as the C library reads them, which is how the files were meant.

/// The number at the start of a text and how many bytes it takes, as `strtod` finds it; white space in front is not
/// skipped.
pub fn prefix(text: &str) -> Option<(f64, usize)> {
    let bytes = text.as_bytes();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let negative = bytes.first() == Some(&b'-');
    let signed = |value: f64| if negative { -value } else { value };
    let rest = &bytes[sign..];
    for (word, value) in [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)] {
        if rest.len() >= word.len() && rest[..word.len()].eq_ignore_ascii_case(word.as_bytes()) {
            return Some((signed(value), sign + word.len()));
        }
    }
    if let [b'0', b'x' | b'X', after @ ..] = rest
        && let Some((value, length)) = hexadecimal(after)
    {
        return Some((signed(value), sign + 2 + length));
    }
    let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(0);
    let mut end = whole;
    let mut fraction = 0;
    if rest.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(rest.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let value: f64 = text[sign..sign + end].parse().ok()?;
    Some((signed(value), sign + end))
}

/// A hexadecimal mantissa with an optional binary exponent, without its `0x`.
fn hexadecimal(bytes: &[u8]) -> Option<(f64, usize)> {
    let mut mantissa = 0.0_f64;
    let mut exponent = 0_i32;
    let (mut at, mut digits, mut after_point) = (0, 0, false);
    while let Some(&byte) = bytes.get(at) {
        match (byte as char).to_digit(16) {
            Some(digit) => {
                mantissa = mantissa * 16.0 + f64::from(digit);
                digits += 1;
                exponent = exponent.saturating_sub(if after_point { 4 } else { 0 });
            }
            None if byte == b'.' && !after_point => after_point = true,
            None => break,
        }
        at += 1;
    }
    if digits == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'p' | b'P')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let from = at + 1 + sign;
        let length =
            bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
        if length > 0 {
            let power = bytes[from..from + length].iter().fold(0_i32, |power, digit| {
                power.saturating_mul(10).saturating_add(i32::from(digit - b'0'))
            });
            let power = if bytes[at + 1] == b'-' { -power } else { power };
            exponent = exponent.saturating_add(power);
            at = from + length;
        }
    }
    Some((mantissa * f64::from(exponent).exp2(), at))
}

/// The number that the whole text is, as `strtod` reads it.
pub fn whole(text: &str) -> Option<f64> {
    prefix(text).filter(|&(_, length)| length == text.len()).map(|(value, _)| value)
}

/// The integer at the start of a text, white space skipped, and how many bytes it takes. Saturates.
pub fn integer_prefix(text: &str) -> Option<(i64, usize)> {
    let skipped = text.len() - text.trim_ascii_start().len();
    let bytes = &text.as_bytes()[skipped..];
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let digits = bytes[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let value = bytes[sign..sign + digits].iter().fold(0_i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    let value = if bytes[0] == b'-' { -value } else { value };
    Some((value, skipped + sign + digits))
}

/// A number written with a decimal comma, where it cannot mean thousands: `0,001` and `1,5` but not `1,000`.
pub fn decimal_comma(text: &str) -> Option<f64> {
    let text = text.trim_ascii();
    let (whole_part, rest) = text.split_once(',')?;
    let digits = whole_part.strip_prefix(['+', '-']).unwrap_or(whole_part);
    let fraction = rest.split(['e', 'E']).next().unwrap_or("");
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_thousands = fraction.len() == 3 && digits != "0";
    if !plain(digits) || !plain(fraction) || is_thousands {
        return None;
    }
    whole(&format!("{whole_part}.{rest}"))
}

/// Digits that read back as the same number.
pub fn text(value: f64) -> String {
    if value != 0.0 && !(1e-5..1e15).contains(&value.abs()) {
        format!("{value:e}")
    } else {
        format!("{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        let cases: [(&str, Option<(f64, usize)>); 18] = [
            ("1", Some((1.0, 1))),
            ("-1.5e3x", Some((-1500.0, 6))),
            ("2e+007", Some((2e7, 6))),
            (".5", Some((0.5, 2))),
            ("5.", Some((5.0, 2))),
            ("1e", Some((1.0, 1))),
            ("1e+", Some((1.0, 1))),
            ("0x10", Some((16.0, 4))),
            ("0x1.8p1", Some((3.0, 7))),
            ("0x", Some((0.0, 1))),
            ("inf", Some((f64::INFINITY, 3))),
            ("-Infinity", Some((f64::NEG_INFINITY, 9))),
            ("1e999", Some((f64::INFINITY, 5))),
            ("", None),
            (".", None),
            ("-", None),
            (" 1", None),
            ("e5", None),
        ];
        for (text, expected) in cases {
            assert_eq!(prefix(text), expected, "{text:?}");
        }
        assert!(whole("nan").is_some_and(f64::is_nan));
        assert_eq!(whole("0.5huj"), None);
    }

    #[test]
    fn integers_are_read_up_to_the_first_other_character() {
        assert_eq!(integer_prefix(" -12.7"), Some((-12, 4)));
        assert_eq!(integer_prefix("2048"), Some((2048, 4)));
        assert_eq!(integer_prefix("99999999999999999999"), Some((i64::MAX, 20)));
        assert_eq!(integer_prefix("x"), None);
    }

    #[test]
    fn a_decimal_comma_is_told_from_thousands() {
        assert_eq!(decimal_comma("0,001"), Some(0.001));
        assert_eq!(decimal_comma("-1,5e3"), Some(-1500.0));
        assert_eq!(decimal_comma("1,000"), None);
        assert_eq!(decimal_comma("1,2,3"), None);
        assert_eq!(decimal_comma("max(1,2)"), None);
        assert_eq!(decimal_comma("1,5.0"), None);
    }

    #[test]
    fn texts_of_numbers_read_back() {
        for value in
            [0.0, 1.0, -0.1, 1e-300, 1.7976931348623157e308, 5e-324, 123456789.125, f64::INFINITY]
        {
            assert_eq!(whole(&text(value)), Some(value), "{value}");
        }
    }
}
