//! Reading the digits of a number, shared by quantities and expressions.

/// The end of the number that starts at `start`: digits, a point, an exponent.
/// No sign. `None` when there is no digit.
///
/// An `e` belongs to the number only when digits follow it.
pub(crate) fn end_of_number(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits_from = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits_from(start);
    let mut digits = end - start;
    if bytes.get(end) == Some(&b'.') {
        let after = digits_from(end + 1);
        digits += after - (end + 1);
        end = after;
    }
    if digits == 0 {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let first = end + 1 + sign;
        let last = digits_from(first);
        if last > first {
            end = last;
        }
    }
    Some(end)
}

/// A value without superfluous digits: plain near 1, with an exponent far from it.
pub(crate) fn shortest(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-4..1e7).contains(&size) || !value.is_finite() {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// `value` rounded to a number of significant decimal digits.
pub(crate) fn rounded(value: f64, digits: usize) -> f64 {
    let text = format!("{value:.*e}", digits.clamp(1, 17) - 1);
    text.parse().unwrap_or(value)
}
