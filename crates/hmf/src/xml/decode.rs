//! From bytes to text: the encodings in which model files have been saved.

/// A text, and what had to be guessed to get it.
pub(crate) struct Decoded {
    pub text: String,
    /// Why the text may be wrong, if it may.
    pub doubt: Option<String>,
}

/// What Windows-1252 has at 0x80 to 0x9F; its five gaps keep the control characters of Latin-1.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The text of a file. Never fails: what is no text at all is refused by the XML reader.
pub(crate) fn decode(bytes: Vec<u8>) -> Decoded {
    match bytes.as_slice() {
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8_or_windows(rest.to_vec()),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [b'<', 0, ..] => utf16(&bytes, u16::from_le_bytes),
        [0, b'<', ..] => utf16(&bytes, u16::from_be_bytes),
        _ => utf8_or_windows(bytes),
    }
}

fn utf8_or_windows(bytes: Vec<u8>) -> Decoded {
    let declared = declared_encoding(&bytes).unwrap_or_default().to_ascii_lowercase();
    let is_windows =
        ["iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "windows-1252", "cp1252"]
            .contains(&declared.as_str());
    if is_windows {
        return Decoded { text: windows_1252(&bytes), doubt: None };
    }
    match String::from_utf8(bytes) {
        Ok(text) => Decoded { text, doubt: None },
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let line = 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
            let doubt = format!(
                "line {line} holds the byte 0x{:02X}, which is not UTF-8; the file is read as Windows-1252",
                bytes[at]
            );
            Decoded { text: windows_1252(&bytes), doubt: Some(doubt) }
        }
    }
}

fn windows_1252(bytes: &[u8]) -> String {
    let character = |&byte: &u8| match byte {
        0x80..=0x9F => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    };
    bytes.iter().map(character).collect()
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Decoded {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let mut bad = bytes.len() % 2;
    let characters = char::decode_utf16(units).map(|character| {
        character.unwrap_or_else(|_| {
            bad += 1;
            char::REPLACEMENT_CHARACTER
        })
    });
    let text: String = characters.collect();
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    let doubt = (bad > 0).then(|| format!("the file is UTF-16 with {bad} damaged characters"));
    Decoded { text, doubt }
}

/// The name after `encoding=` in the XML declaration.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(256)];
    let head = String::from_utf8_lossy(head);
    let declaration = head.trim_start().strip_prefix("<?xml")?.split("?>").next()?;
    let (_, after) = declaration.split_once("encoding")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value[1..].split(quote).next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> (String, bool) {
        let decoded = decode(bytes.to_vec());
        (decoded.text, decoded.doubt.is_some())
    }

    #[test]
    fn the_encodings_in_use_all_give_the_same_text() {
        let expected = "<a>é€</a>";
        assert_eq!(text(expected.as_bytes()), (expected.into(), false));
        assert_eq!(
            text(&[b"\xEF\xBB\xBF", expected.as_bytes()].concat()),
            (expected.into(), false)
        );
        let units: Vec<u16> = expected.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        assert_eq!(text(&[&[0xFF, 0xFE], little.as_slice()].concat()), (expected.into(), false));
        assert_eq!(text(&[&[0xFE, 0xFF], big.as_slice()].concat()), (expected.into(), false));
        assert_eq!(text(&little), (expected.into(), false));
        assert_eq!(text(&big), (expected.into(), false));
        let guessed = decode(b"<a>\xE9\x80</a>".to_vec());
        assert_eq!(guessed.text, expected);
        assert!(guessed.doubt.unwrap().contains("0xE9"));
        let declared = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE9\x80</a>";
        assert_eq!(text(declared).0.split_once("?>").unwrap().1, expected);
        assert!(!text(declared).1);
    }

    #[test]
    fn damaged_utf_16_is_told() {
        assert!(text(&[0xFF, 0xFE, b'<', 0, 0x00, 0xD8]).1);
        assert!(text(&[0xFF, 0xFE, b'<']).1);
        assert_eq!(text(&[]), (String::new(), false));
    }
}
