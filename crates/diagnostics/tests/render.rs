//! What people see: whole messages, letter by letter.

use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Place, SourceId, SourceMap, Span};

fn file(name: &str, text: &str) -> (SourceMap, SourceId) {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    (sources, id)
}

/// The span of the first occurrence of `part`.
fn find(sources: &SourceMap, id: SourceId, part: &str) -> Span {
    let start = sources.get(id).unwrap().text().find(part).expect("part of the text");
    sources.span(id, start..start + part.len())
}

fn show(sources: &SourceMap, diagnostic: Diagnostic) -> String {
    diagnostic.render(sources, false, 80)
}

/// Where the marks stand: the column (from 0) and length of the run of `sign` in the last line that has one.
fn marks(rendered: &str, sign: char) -> (usize, usize) {
    let line = rendered
        .lines()
        .rfind(|line| line.contains(" | ") && line.contains(sign))
        .expect("a marked line");
    let start = line.chars().position(|c| c == sign).unwrap();
    (start, line.chars().skip(start).take_while(|&c| c == sign).count())
}

#[test]
fn a_wrong_dimension() {
    let text = format!("{}cracking_pressure = \"120 l/min\"\n", "\n".repeat(40));
    let (sources, id) = file("servo.toml", &text);
    let diagnostic = Diagnostic::error(
        Code::WrongDimension,
        "`relief.cracking_pressure` is a pressure, but \"120 l/min\" is a volume flow",
    )
    .at(find(&sources, id, "\"120 l/min\""), "expected a pressure such as \"120 bar\", \"12 MPa\"")
    .help("did you mean `nominal_flow`?");
    assert_eq!(
        show(&sources, diagnostic),
        r#"error[F0302]: `relief.cracking_pressure` is a pressure, but "120 l/min" is a volume flow
  --> servo.toml:41:21
   |
41 | cracking_pressure = "120 l/min"
   |                     ^^^^^^^^^^^ expected a pressure such as "120 bar", "12 MPa"
help: did you mean `nominal_flow`?
"#
    );
}

#[test]
fn several_labels_notes_and_helps() {
    let text = "[[connect]]\nfrom = \"pump.outlet\"\nto = \"valve.p\"\n\n[[connect]]\nfrom = \"pump.outlet\" # x\nto = \"relief.inlet\"\n";
    let (sources, id) = file("a.toml", text);
    let again = text.rfind("\"pump.outlet\"").unwrap();
    let diagnostic =
        Diagnostic::error(Code::PortConnectedTwice, "`pump.outlet` is connected twice")
            .at(sources.span(id, again..again + 13), "connected again here")
            .also(find(&sources, id, "\"pump.outlet\""), "first connected here")
            .also(find(&sources, id, "# x"), "")
            .note("a junction is one volume")
            .help("name all partners in one connection:\nto = [\"valve.p\", \"relief.inlet\"]");
    assert_eq!(
        show(&sources, diagnostic),
        r#"error[F0401]: `pump.outlet` is connected twice
 --> a.toml:6:8
  |
2 | from = "pump.outlet"
  |        ------------- first connected here
...
6 | from = "pump.outlet" # x
  |        ^^^^^^^^^^^^^ connected again here
  |                      ---
note: a junction is one volume
help: name all partners in one connection:
      to = ["valve.p", "relief.inlet"]
"#
    );
}

#[test]
fn labels_in_two_files() {
    let (mut sources, main) = file("main.toml", "use = \"boom.toml\"\n");
    let boom = sources.add("parts/boom.toml", "a = 1\nuse = \"main.toml\"\n");
    let diagnostic = Diagnostic::error(
        Code::SubcircuitIncludesItself,
        "`main` contains itself: main → boom → main",
    )
    .at(find(&sources, boom, "\"main.toml\""), "used here again")
    .also(find(&sources, main, "\"boom.toml\""), "from here");
    assert_eq!(
        show(&sources, diagnostic),
        r#"error[F0602]: `main` contains itself: main → boom → main
 --> parts/boom.toml:2:7
  |
2 | use = "main.toml"
  |       ^^^^^^^^^^^ used here again
  |
 ::: main.toml:1:7
  |
1 | use = "boom.toml"
  |       ----------- from here
"#
    );
}

#[test]
fn a_span_over_several_lines_marks_its_ends() {
    let (sources, id) = file("t.toml", "points = [\n  [0, 1],\n  [1, 2],\n  ]\n\n");
    let all = sources.span(id, 9..34);
    assert_eq!(
        show(
            &sources,
            Diagnostic::error(Code::TableTooShort, "two points").at(all, "at least three")
        ),
        "\
error[F0804]: two points
 --> t.toml:1:10
  |
1 | points = [
  |          ^
...
4 |   ]
  |   ^ at least three
"
    );
    // A line left out alone would need as much room as its sign.
    let three = sources.span(id, 9..29);
    assert_eq!(
        show(&sources, Diagnostic::error(Code::TableTooShort, "two points").at(three, "")),
        "\
error[F0804]: two points
 --> t.toml:1:10
  |
1 | points = [
  |          ^
2 |   [0, 1],
3 |   [1, 2],
  |   ^^^^^^
"
    );
}

#[test]
fn a_place_in_the_model_stands_in_for_a_file() {
    let sources = SourceMap::new();
    let diagnostic = Diagnostic::error(
        Code::Diverged,
        "the pressure of `boom.pilot` is not a number at t = 0.0132 s",
    )
    .on(Place::component("boom.pilot").port("outlet"))
    .note("last good step 131: 182.4 bar");
    assert_eq!(
        show(&sources, diagnostic),
        "\
error[F0901]: the pressure of `boom.pilot` is not a number at t = 0.0132 s
  --> component `boom.pilot`, port `outlet`
note: last good step 131: 182.4 bar
"
    );
    assert_eq!(
        show(&sources, Diagnostic::new(Code::Interrupted, "interrupted")),
        "error[F0904]: interrupted\n"
    );
}

#[test]
fn a_span_of_another_map_is_left_out() {
    let (_, id) = file("a", "text");
    let diagnostic = Diagnostic::error(Code::UnknownKey, "m").at(Span::new(id, 0..2), "here");
    assert_eq!(show(&SourceMap::new(), diagnostic), "error[F0104]: m\n");
}

#[test]
fn tabs_and_wide_characters_do_not_misplace_the_mark() {
    for (text, column, length) in [
        ("\tx = BAD", 4 + 4, 3),
        ("油圧 = BAD", 4 + 3, 3),
        ("µ\u{301} = BAD", 1 + 3, 3),
        ("\u{feff}a = BAD", 1 + 3, 3),
        ("a\u{1b}[31m = BAD", 6 + 3, 3),
    ] {
        let (sources, id) = file("t", text);
        let rendered = show(
            &sources,
            Diagnostic::error(Code::WrongType, "m").at(find(&sources, id, "BAD"), ""),
        );
        assert_eq!(marks(&rendered, '^'), (column + 4, length), "{rendered}");
        assert!(!rendered.contains(['\t', '\u{1b}']));
    }
    let (sources, id) = file("t", "a = \"油圧\"");
    let rendered =
        show(&sources, Diagnostic::error(Code::WrongType, "m").at(find(&sources, id, "油圧"), ""));
    assert_eq!(marks(&rendered, '^'), (4 + 5, 4));
}

#[test]
fn crlf_files_look_like_others() {
    let body = |text: &str| {
        let (sources, id) = file("t", text);
        show(&sources, Diagnostic::error(Code::WrongType, "m").at(find(&sources, id, "BAD"), "x"))
    };
    assert_eq!(body("a = 1\r\nb = BAD\r\n"), body("a = 1\nb = BAD\n"));
}

#[test]
fn the_end_of_a_file_can_be_marked() {
    let (sources, id) = file("t", "a = \"open\n");
    let at = |range| {
        show(
            &sources,
            Diagnostic::error(Code::InvalidToml, "m").at(sources.span(id, range), "here"),
        )
    };
    assert_eq!(at(10..10), "error[F0101]: m\n --> t:2:1\n  |\n2 |\n  | ^ here\n");
    assert_eq!(
        at(9..10),
        "error[F0101]: m\n --> t:1:10\n  |\n1 | a = \"open\n  |          ^ here\n"
    );
    assert_eq!(at(900..901), at(10..10));
}

#[test]
fn a_long_line_is_cut_around_the_mark() {
    let text = format!("a = [{}BAD{}]", "1, ".repeat(300_000), ", 2".repeat(300_000));
    let (sources, id) = file("t", &text);
    let rendered = show(
        &sources,
        Diagnostic::error(Code::WrongType, "m").at(find(&sources, id, "BAD"), "a number"),
    );
    assert_eq!(
        rendered,
        "\
error[F0105]: m
 --> t:1:900006
  |
1 | ..., 1, 1, 1, 1, 1, 1, 1, BAD, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, ...
  |                           ^^^ a number
"
    );
    // The whole line, its far ends, and a mark next to the end.
    let first = sources.span(id, 0..1);
    let diagnostic = Diagnostic::error(Code::WrongType, "m")
        .at(sources.span(id, 0..text.len()), "all of it")
        .also(first, "the start")
        .also(sources.span(id, text.len() - 1..text.len()), "the end");
    assert_eq!(
        show(&sources, diagnostic),
        "\
error[F0105]: m
 --> t:1:1
  |
1 | a = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,...
  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ all of it
  | - the start
1 | ..., 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]
  |                                                                         - the end
"
    );
}

#[test]
fn a_long_message_is_cut() {
    let sources = SourceMap::new();
    let rendered =
        show(&sources, Diagnostic::error(Code::UnparsableQuantity, "x".repeat(1_000_000)));
    assert!(rendered.len() < 3000);
}

#[test]
fn colours_change_nothing_but_colours() {
    let (sources, id) = file("t", "a = BAD\n");
    let diagnostic = Diagnostic::error(Code::WrongType, "m")
        .at(find(&sources, id, "BAD"), "two\nlines")
        .also(find(&sources, id, "a"), "key")
        .note("n")
        .help("h");
    let colored = diagnostic.render(&sources, true, 80);
    assert!(colored.starts_with("\x1b[1;31merror[F0105]\x1b[0m"));
    let mut plain = String::new();
    let mut parts = colored.split('\x1b');
    plain.push_str(parts.next().unwrap());
    parts.for_each(|part| plain.push_str(part.split_once('m').unwrap().1));
    let trimmed =
        |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&plain), trimmed(&diagnostic.render(&sources, false, 80)));
    assert_eq!(
        diagnostic.render(&sources, false, 80),
        "error[F0105]: m\n --> t:1:5\n  |\n1 | a = BAD\n  |     ^^^ two\n  |         lines\n  | - key\nnote: n\nhelp: h\n"
    );
}

#[test]
fn a_collection_is_sorted_separated_and_capped() {
    let (sources, id) = file("t", "a = 1\nb = 2\nc = 3\n");
    let mut found = Diagnostics::with_cap(2);
    for (name, at) in [("c", 12), ("a", 0), ("b", 6)] {
        let message = format!("unknown key `{name}`");
        found.push(Diagnostic::new(Code::UnknownKey, message).at(sources.span(id, at..at + 1), ""));
    }
    found.push(Diagnostic::new(Code::CoarseStep, "coarse"));
    assert_eq!(
        found.render(&sources, false, 80),
        "\
error[F0104]: unknown key `a`
 --> t:1:1
  |
1 | a = 1
  | ^

error[F0104]: unknown key `c`
 --> t:3:1
  |
3 | c = 3
  | ^

warning[W0103]: coarse

error[F0104]: and 1 more: unknown key
"
    );
    assert_eq!(Diagnostics::new().render(&sources, true, 80), "");
}
