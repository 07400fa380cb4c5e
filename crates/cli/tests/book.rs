//! The book and the README are run: their circuits are checked, their commands are executed and
//! what they print is compared, their generated parts are up to date, their links lead somewhere.
//!
//! In a page,
//!
//! - a `toml` or `csv` block that begins with `# file: NAME` is written to the page's own folder,
//!   one with `# add to: NAME` is appended; a circuit must then pass `fluxline check`, unless the
//!   block is marked `toml,mistake` or `toml,part` (a sub-circuit that cannot stand alone);
//! - a `toml,fragment` block is only parsed;
//! - in a `console` block the lines `$ fluxline …` are run in that folder. They end with exit code
//!   0, or N where the line ends with `# exit N`. Lines below a command must be what it prints:
//!   `…` stands for anything within a line, and on a line of its own for any number of lines;
//! - the repository's `examples` lie in that folder;
//! - what stands between `<!-- generated: WHAT -->` and `<!-- /generated -->` is generated.
//!
//! `FLUXLINE_UPDATE_BOOK=1 cargo test -p fluxline --test book` writes the generated parts anew.

use fluxline_core::component::ComponentType;
use fluxline_core::domain::Domain;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../../docs/src/code/leakage.rs"]
mod leakage;

const UPDATE: &str = "FLUXLINE_UPDATE_BOOK=1 cargo test -p fluxline --test book";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All pages of the book, sorted.
fn pages() -> Vec<PathBuf> {
    files(&root().join("docs/src"), "md")
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == ending)).collect();
    all.sort();
    all
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

// ---- Pages as they are written --------------------------------------------------------------

/// A fenced block of a page.
struct Block {
    /// Its first line, from 1.
    line: usize,
    /// Words behind the fence: `toml`, `fragment`.
    words: Vec<String>,
    text: String,
}

impl Block {
    fn is(&self, word: &str) -> bool {
        self.words.iter().any(|one| one == word)
    }
}

fn blocks(page: &str) -> Vec<Block> {
    let mut all = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let words = info.split(',').map(|word| word.trim().to_owned()).collect();
                open = Some(Block { line: index + 2, words, text: String::new() });
            }
            (Some(_), Some(_)) => all.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    all
}

/// A folder that is removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("fluxline-book-{}-{}", std::process::id(), name.replace('.', "-"));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// With the examples of the repository in it.
    fn with_examples(name: &str) -> Self {
        let folder = Self::new(name);
        copy(&root().join("examples"), &folder.0.join("examples"));
        folder
    }

    fn fluxline(&self, arguments: &[String]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_fluxline"))
            .args(arguments)
            .current_dir(&self.0)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => copy(&path, &to.join(name(&path))),
            false => drop(std::fs::copy(&path, to.join(name(&path))).unwrap()),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Said {
    code: i32,
    out: String,
    err: String,
}

fn fluxline(arguments: &[&str]) -> Said {
    let here = Folder::new(&format!("command-{}", arguments.join("-").replace('/', "-")));
    let all: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
    here.fluxline(&all)
}

/// Does everything that a page does.
fn follow(page: &Path, folder: &Folder) {
    let page_name = name(page);
    for block in blocks(&read(page)) {
        let place = format!("{page_name}:{}", block.line);
        match block.words[0].as_str() {
            "toml" if block.is("fragment") => {
                if let Err(problem) = fluxline_formats::Document::parse(&block.text) {
                    panic!("{place}: {}", problem.message());
                }
            }
            "toml" | "csv" => write_file(&block, folder, &place),
            "console" => run_console(&block, folder, &place),
            "rust" | "text" | "json" | "" => {}
            other => panic!("{place}: unknown kind of block `{other}`"),
        }
    }
}

fn write_file(block: &Block, folder: &Folder, place: &str) {
    let first = block.text.lines().next().unwrap_or("");
    let (file, text) = if let Some(file) = first.strip_prefix("# file: ") {
        (file, block.text.clone())
    } else if let Some(file) = first.strip_prefix("# add to: ") {
        (file, format!("{}\n{}", read(&folder.0.join(file)), block.text))
    } else {
        panic!("{place}: begin with `# file: NAME` or `# add to: NAME`, or mark it as fragment");
    };
    std::fs::write(folder.0.join(file), text).unwrap();
    if file.ends_with(".toml") && !block.is("mistake") && !block.is("part") {
        let said = folder.fluxline(&["check".to_owned(), file.to_owned()]);
        assert_eq!(said.code, 0, "{place}: {}", said.err);
    }
}

fn run_console(block: &Block, folder: &Folder, place: &str) {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block.text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, Vec::new())),
            (None, Some((_, expected))) => expected.push(line),
            (None, None) => panic!("{place}: a console begins with `$ `"),
        }
    }
    for (command, expected) in commands {
        let (command, code) = match command.rsplit_once("# exit ") {
            Some((command, code)) => (command.trim_end(), code.trim().parse().unwrap()),
            None => (command, 0),
        };
        let words = split(command);
        let arguments = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["fluxline", ..] => &words[1..],
            ["cargo", "run", "--release", "--", ..] => &words[4..],
            // This very test is run by them; nothing is printed under them.
            ["cargo", "test" | "build" | "install", ..] => {
                assert!(expected.is_empty(), "{place}: `{command}` is not run here");
                continue;
            }
            _ => panic!("{place}: `{command}` is not a command of this book"),
        };
        let said = folder.fluxline(arguments);
        assert_eq!(said.code, code, "{place}: `{command}`\n{}{}", said.err, said.out);
        if !expected.is_empty() {
            // Thousands are set apart by a thin space, which is hard to type.
            let printed = format!("{}{}", said.err, said.out).replace('\u{202f}', " ");
            let lines: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
            let expected: Vec<&str> = expected.iter().map(|line| line.trim_end()).collect();
            assert!(
                lines_match(&expected, &lines),
                "{place}: `{command}` prints\n\n{printed}\nbut the page says\n\n{}\n",
                expected.join("\n")
            );
        }
    }
}

/// Words of a command line; quotes hold words together.
fn split(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (' ', None) => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn lines_match(expected: &[&str], actual: &[&str]) -> bool {
    match expected {
        [] => actual.is_empty(),
        [first, rest @ ..] if first.trim() == "…" => {
            (0..=actual.len()).any(|skip| lines_match(rest, &actual[skip..]))
        }
        [first, rest @ ..] => match actual {
            [line, others @ ..] => line_matches(first, line) && lines_match(rest, others),
            [] => false,
        },
    }
}

fn line_matches(expected: &str, actual: &str) -> bool {
    match expected.split_once('…') {
        None => expected == actual,
        Some((head, tail)) => actual.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| line_matches(tail, &rest[at..]))
        }),
    }
}

#[test]
fn wildcards_stand_for_what_they_should() {
    assert!(line_matches("a … c", "a long way to c") && !line_matches("a … c", "a b"));
    assert!(line_matches("… ms", "1.05 ms") && line_matches("x…", "x"));
    assert!(lines_match(&["a", "…", "b"], &["a", "1", "2", "b"]));
    assert!(lines_match(&["a", "…"], &["a"]) && !lines_match(&["a"], &["a", "b"]));
    assert_eq!(split("run x --set \"a.b=1 bar\" ''"), ["run", "x", "--set", "a.b=1 bar", ""]);
}

// ---- What is run ----------------------------------------------------------------------------

#[test]
fn every_page_of_the_book_does_what_it_says() {
    for page in pages() {
        follow(&page, &Folder::with_examples(&name(&page)));
    }
}

#[test]
fn the_readme_does_what_it_says() {
    let folder = Folder::with_examples("readme");
    follow(&root().join("README.md"), &folder);
    let report = read(&folder.0.join("servo.html"));
    assert!(report.contains("<html") && report.contains("Position servo"));
}

#[test]
fn every_example_runs_to_its_end() {
    let examples = files(&root().join("examples"), "toml");
    assert!(!examples.is_empty());
    for example in examples {
        let shown = name(&example);
        let text = read(&example);
        let header: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let header = header.join(" ").to_lowercase();
        assert!(
            header.contains("look at") || header.contains("try "),
            "{shown} does not begin with a comment that says what to look at"
        );
        let path = example.display().to_string();
        let said = fluxline(&["check", &path]);
        assert_eq!(said.code, 0, "{shown}: {}", said.err);
        let said = fluxline(&["run", &path, "--json"]);
        assert_eq!(said.code, 0, "{shown}: {}", said.err);
        let verdict: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(verdict["ended"], "done", "{shown}");
        assert!(verdict["unconverged"].is_null(), "{shown}: {}", verdict["unconverged"]);
    }
}

#[test]
fn every_example_of_hopsan_runs_to_its_end_and_agrees_with_what_is_stored() {
    let folder = root().join("examples/hopsan");
    let (models, validations) = (files(&folder, "hmf"), files(&folder, "hvc"));
    assert!(!models.is_empty() && !validations.is_empty());
    for model in models {
        let path = model.display().to_string();
        let said = fluxline(&["check", &path]);
        assert!(said.code == 0 && said.err.is_empty(), "{path}: {}", said.err);
        let said = fluxline(&["run", &path, "--json"]);
        let verdict: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!((said.code, &verdict["ended"]), (0, &"done".into()), "{path}: {}", said.err);
    }
    for validation in validations {
        let said = fluxline(&["validate", &validation.display().to_string()]);
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    }
}

// ---- What is generated ----------------------------------------------------------------------

/// Compares a file with what it should be, or writes it.
fn hold(path: &Path, wanted: &str) {
    if std::env::var_os("FLUXLINE_UPDATE_BOOK").is_some() {
        std::fs::write(path, wanted).unwrap();
        return;
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    if found != wanted {
        let differs = found.lines().zip(wanted.lines()).position(|(a, b)| a != b);
        let line = differs.map_or_else(
            || "at its end".to_owned(),
            |at| {
                format!(
                    "in line {}, which should be\n  {}",
                    at + 1,
                    wanted.lines().nth(at).unwrap()
                )
            },
        );
        panic!("{} is out of date {line}\nwrite it anew: {UPDATE}", name(path));
    }
}

#[test]
fn generated_pages_are_up_to_date() {
    let folder = root().join("docs/src");
    let said = fluxline(&["describe", "--all", "--markdown"]);
    assert_eq!(said.code, 0);
    hold(&folder.join("components.md"), &said.out);
    hold(&folder.join("errors.md"), &fluxline_diagnostics::book_page());
}

#[test]
fn generated_parts_of_pages_are_up_to_date() {
    for page in pages().into_iter().chain([root().join("README.md")]) {
        let text = read(&page);
        let mut wanted = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("<!-- generated: ") {
            let (what, after) = after.split_once(" -->").expect("the end of the comment");
            let (_, after) = after.split_once("<!-- /generated -->").expect("`/generated`");
            let content = generate(what);
            let content = content.trim();
            write!(
                wanted,
                "{before}<!-- generated: {what} -->\n\n{content}\n\n<!-- /generated -->"
            )
            .unwrap();
            rest = after;
        }
        wanted.push_str(rest);
        hold(&page, &wanted);
    }
}

fn generate(what: &str) -> String {
    match what.split_once(' ') {
        Some(("describe", setting)) => {
            let said = fluxline(&["describe", setting, "--markdown"]);
            assert_eq!(said.code, 0, "{}", said.err);
            // The page has a heading of its own.
            said.out.split_once('\n').unwrap().1.replace("**Settings**\n", "")
        }
        None if what == "counts" => counts(),
        None if what == "hopsan-types" => hopsan_types(),
        None if what == "units" => units(),
        None if what == "domains" => domains(),
        None if what == "methods" => methods(),
        _ => panic!("nothing generates `{what}`"),
    }
}

fn types() -> Vec<ComponentType> {
    fluxline_library::registry().types().to_vec()
}

/// All component types: name and summary.
fn listed() -> Vec<(String, String)> {
    let said = fluxline(&["list", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let text = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(|one| (text(one, "name"), text(one, "summary"))).collect()
}

/// How many component types there are, by family. Those for models of Hopsan stand apart: nobody
/// builds with them.
fn counts() -> String {
    let all = listed();
    let mut families: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, _) in &all {
        let (family, kind) = name.split_once('.').unwrap();
        families.entry(family).or_default().push(kind);
    }
    let imported = families.remove("hopsan").unwrap_or_default();
    let mut out = String::from("| family | types | such as |\n|---|---|---|\n");
    for (family, kinds) in &families {
        let few: Vec<String> =
            kinds.iter().step_by(kinds.len().div_ceil(6)).map(|kind| format!("`{kind}`")).collect();
        writeln!(out, "| {family} | {} | {} |", kinds.len(), few.join(", ")).unwrap();
    }
    writeln!(out, "| **together** | {} | |", all.len() - imported.len()).unwrap();
    let page = "[models from Hopsan](docs/src/hopsan.md)";
    writeln!(out, "| hopsan | {} | for {page} |", imported.len()).unwrap();
    out
}

/// The types for models of Hopsan, by the first word of their names.
fn hopsan_types() -> String {
    const DOMAINS: [&str; 5] = ["Hydraulic", "Pneumatic", "Mechanic", "Electric", "Signal"];
    let mut domains: BTreeMap<usize, Vec<(String, String)>> = BTreeMap::new();
    for (name, summary) in listed() {
        let Some(name) = name.strip_prefix("hopsan.") else { continue };
        let domain = DOMAINS.iter().position(|domain| name.starts_with(domain));
        let row = (name.to_owned(), summary.replace('|', "\\|"));
        domains.entry(domain.unwrap_or(DOMAINS.len())).or_default().push(row);
    }
    let mut out = String::new();
    for (domain, mut types) in domains {
        types.sort();
        let title = DOMAINS.get(domain).unwrap_or(&"Others");
        writeln!(out, "## {title}\n\n| type | what it is |\n|---|---|").unwrap();
        for (name, summary) in types {
            writeln!(out, "| `{name}` | {summary} |").unwrap();
        }
        out.push('\n');
    }
    out
}

/// Unit symbols, by the quantity they measure.
fn units() -> String {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for &symbol in fluxline_units::unit_symbols() {
        let unit = fluxline_units::Unit::parse(symbol).unwrap();
        let dimension = unit.dimension();
        let kind = match dimension.is_dimensionless() {
            true => "number, angle".to_owned(),
            false => dimension.to_string(),
        };
        match rows.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, symbols)) => symbols.push(symbol),
            None => rows.push((kind, vec![symbol])),
        }
    }
    let mut out = String::from("| quantity | symbols |\n|---|---|\n");
    for (kind, symbols) in rows {
        let symbols: Vec<String> = symbols.iter().map(|s| format!("`{s}`")).collect();
        writeln!(out, "| {kind} | {} |", symbols.join(", ")).unwrap();
    }
    out
}

/// Methods of optimisation, with their settings.
fn methods() -> String {
    let mut out = String::from("| method | what it is | settings |\n|---|---|---|\n");
    for method in fluxline_optimise::method::METHODS {
        let setting = |one: &fluxline_optimise::method::Setting| match one.default.is_nan() {
            true => format!("`{}`: {}", one.name, one.meaning),
            false => format!("`{}` = {}: {}", one.name, one.default, one.meaning),
        };
        let settings: Vec<String> = method.settings.iter().map(setting).collect();
        let mut what = method.summary.to_owned();
        if !method.takes_constraints {
            what.push_str("; no constraints");
        }
        if !method.takes_levels {
            what.push_str("; no levels");
        }
        writeln!(out, "| `{}` | {what} | {} |", method.name, settings.join("; ")).unwrap();
    }
    out
}

/// The variables of ports, for the domains that have components.
fn domains() -> String {
    let types = types();
    let used = |domain: &Domain| {
        types.iter().any(|one| one.declaration.ports.iter().any(|port| port.domain == *domain))
    };
    let mut out = String::from("| domain | variables at a port | sign |\n|---|---|---|\n");
    for domain in Domain::ALL.iter().filter(|domain| used(domain)) {
        let all: Vec<String> =
            domain.variables().iter().map(|v| format!("`{}` [{}]", v.name, v.unit)).collect();
        writeln!(out, "| {} | {} | {} |", domain.name(), all.join(", "), domain.sign_rule())
            .unwrap();
    }
    out
}

#[test]
fn the_readme_names_every_crate_and_command() {
    let readme = read(&root().join("README.md"));
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let one = name(&entry.unwrap().path());
        assert!(readme.contains(&format!("| `{one}` |")), "README.md leaves out crates/{one}");
    }
    let help = fluxline(&["--help"]).out;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in commands.take_while(|line| !line.is_empty()) {
        let command = line.split_whitespace().next().unwrap();
        assert!(
            command == "help" || readme.contains(&format!("| `fluxline {command}` |")),
            "README.md leaves out `{command}`"
        );
    }
}

// ---- How pages hang together ----------------------------------------------------------------

/// The anchors of a page's headings, as mdBook makes them.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim();
            if let Some((_, id)) = title.split_once("{#") {
                return id.trim_end_matches('}').to_owned();
            }
            let kept = title.to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect()
}

/// Targets of the links of a page, outside fenced blocks.
fn links(page: &str) -> Vec<String> {
    let mut fenced = false;
    let mut all = Vec::new();
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        if fenced {
            continue;
        }
        for part in line.split("](").skip(1) {
            all.extend(part.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    all
}

#[test]
fn links_lead_somewhere() {
    for page in pages().into_iter().chain([root().join("README.md")]) {
        let text = read(&page);
        for link in links(&text) {
            if link.starts_with("http") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file.is_empty() {
                true => page.clone(),
                false => page.parent().unwrap().join(file),
            };
            assert!(target.exists(), "{}: nothing is at `{link}`", name(&page));
            assert!(
                anchor.is_empty() || anchors(&read(&target)).iter().any(|one| one == anchor),
                "{}: no heading for `{link}`",
                name(&page)
            );
        }
    }
}

#[test]
fn the_summary_lists_every_page() {
    let summary = read(&root().join("docs/src/SUMMARY.md"));
    let listed = links(&summary);
    for page in pages() {
        let name = name(&page);
        assert!(name == "SUMMARY.md" || listed.contains(&name), "SUMMARY.md leaves out {name}");
    }
}

// ---- The component that the book writes -----------------------------------------------------

#[test]
fn the_component_of_the_book_is_the_one_that_is_compiled() {
    let source = read(&root().join("docs/src/code/leakage.rs"));
    let page = read(&root().join("docs/src/writing-a-component.md"));
    let rust: Vec<Block> = blocks(&page).into_iter().filter(|block| block.is("rust")).collect();
    assert!(!rust.is_empty());
    for block in rust {
        let mut lines = source.lines();
        for wanted in block.text.lines() {
            assert!(
                lines.any(|line| line == wanted),
                "writing-a-component.md: `{wanted}` is not in code/leakage.rs, or not there"
            );
        }
    }
}

#[test]
fn the_component_of_the_book_works() {
    use fluxline_core::testing::Bench;
    use leakage::Leakage;
    let component = Leakage { conductance: 2e-11 };
    for (wave_a, wave_b) in [(5e5, 1e5), (1e5, 5e5), (3e5, 3e5)] {
        let mount = || {
            let mut bench = Bench::new(&component, 1e-4);
            bench.input(Leakage::CONDUCTANCE, component.conductance);
            bench.line(0, wave_a, 1e9).line(1, wave_b, 2e9);
            bench
        };
        // q = G·(c₁ − c₂)/(1 + G·(Z₁ + Z₂))
        let exact = 2e-11 * (wave_a - wave_b) / (1.0 + 2e-11 * 3e9);
        let (mut closed, mut generic) = (mount(), mount());
        assert!((closed.step().flow(1) - exact).abs() <= 1e-12 * exact.abs());
        assert!((generic.step_generic().flow(1) - exact).abs() <= 1e-9 * exact.abs());
    }
}
