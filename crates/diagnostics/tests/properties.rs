//! Laws that hold for every text and every span, also nonsensical ones.

use fluxline_diagnostics::{Code, Diagnostic, SourceMap, Span, nearest};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

/// Texts with all that makes columns hard: line ends of both kinds, tabs, control, wide, combining and marks of
/// direction.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ -~]{0,30}",
        3 => Just("\n".to_owned()),
        1 => prop::sample::select(vec![
            "\r\n", "\r", "\t", "\u{feff}", "µ", "油圧", "🚜", "e\u{301}", "\u{1b}[2J", "\u{202e}", "\0", "\u{2028}",
        ]).prop_map(str::to_owned),
        1 => ".{0,5}",
        1 => "(ab\t油){100}",
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

fn offsets() -> impl Strategy<Value = (u32, u32)> {
    let offset = || prop_oneof![8 => 0..400u32, 1 => 0..3000u32, 1 => any::<u32>()];
    (offset(), offset())
}

proptest! {
    #[test]
    fn any_span_of_any_text_is_rendered_within_the_width(
        text in text(),
        spans in prop::collection::vec(offsets(), 1..5),
        width in 0..200usize,
        color: bool,
        label in "[a-z]{0,3}(\n[a-z]{1,3})?",
    ) {
        let mut sources = SourceMap::new();
        let id = sources.add("t", text);
        let span = |(start, end)| Span { source: id, start, end };
        let mut diagnostic = Diagnostic::error(Code::WrongType, "m").at(span(spans[0]), label.clone());
        for &other in &spans[1..] {
            diagnostic = diagnostic.also(span(other), label.clone());
        }
        let rendered = diagnostic.render(&sources, color, width);
        prop_assert!(rendered.ends_with('\n'));
        if !color {
            for line in rendered.lines() {
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
                // A mark may stand behind a line of full width, and then a space and a label of three letters.
                prop_assert!(line.width() <= width.max(40) + 5, "{line:?}");
            }
        }
        let json: serde_json::Value = serde_json::from_str(&diagnostic.to_json(&sources)).unwrap();
        prop_assert!(json["line"].as_u64().unwrap() >= 1);
        prop_assert!(json["column"].as_u64().unwrap() >= 1);
    }

    #[test]
    fn the_mark_stands_below_the_marked_text(before in "[a-z\t油µ]{0,200}", after in "[a-z\t油µ]{0,200}") {
        let line = format!("{before}@#@{after}");
        let mut sources = SourceMap::new();
        let id = sources.add("t", line);
        let span = sources.span(id, before.len()..before.len() + 3);
        let rendered = Diagnostic::error(Code::WrongType, "m").at(span, "").render(&sources, false, 80);
        let lines: Vec<&str> = rendered.lines().collect();
        let (source, marks) = (lines[3], lines[4]);
        prop_assert!(marks.ends_with(" ^^^") || marks.ends_with("| ^^^"));
        let column = |line: &str, part: &str| line[..line.find(part).unwrap()].width();
        prop_assert_eq!(column(source, "@#@"), column(marks, "^^^"));
    }

    #[test]
    fn positions_agree_with_a_naive_count(text in text(), offset in 0..700usize) {
        prop_assume!(!text.starts_with('\u{feff}'));
        let offset = text.floor_char_boundary(offset);
        let before = &text[..offset];
        let (line, mut column) = (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap().chars().count());
        if before.ends_with('\r') && text[offset..].starts_with('\n') {
            column -= 1;
        }
        let mut sources = SourceMap::new();
        let id = sources.add("t", text.clone());
        let position = sources.get(id).unwrap().position(offset as u32);
        prop_assert_eq!((position.line as usize, position.column as usize), (line, column + 1));
    }

    #[test]
    fn any_text_survives_json(message in any::<String>(), help in any::<String>()) {
        let text = Diagnostic::error(Code::WrongType, message.clone()).help(help.clone()).to_json(&SourceMap::new());
        prop_assert_eq!(text.lines().count(), 1);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(json["message"].as_str().unwrap(), message);
        prop_assert_eq!(json["help"][0].as_str().unwrap(), help);
    }

    #[test]
    fn any_bytes_can_be_added(bytes in any::<Vec<u8>>()) {
        let mut sources = SourceMap::new();
        match sources.add_bytes("t", bytes.clone()) {
            Ok(_) => prop_assert!(std::str::from_utf8(&bytes).is_ok()),
            Err(error) => {
                prop_assert_eq!(sources.slice(error.primary().unwrap().span), "\u{fffd}");
                error.render(&sources, false, 80);
            }
        }
    }

    #[test]
    fn a_name_is_nearest_to_itself(name in "[a-z_]{2,20}", others in prop::collection::vec("[a-z_]{2,20}", 0..5)) {
        let candidates = others.iter().map(String::as_str).chain([name.as_str()]);
        prop_assert_eq!(nearest(&name, candidates)[0], &name);
    }
}
