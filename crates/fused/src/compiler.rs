//! The compiler of the machine, and what it has made before.
//!
//! Code is kept in the user's cache directory under a hash of its text; the text is kept beside it
//! and compared, so that a hash which meets twice does no harm. What the compiler makes is for this
//! processor, so its kind is part of the text.

use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Every bit as in the engine: nothing is contracted or rearranged, and the functions of the C library
/// are called as they are and not replaced by what the compiler thinks equal.
pub const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O3",
    "-march=native",
    // What is written in order for processors of the day is not put in order for one of them, nor in
    // another order at all.
    "-mtune=generic",
    "-fno-schedule-insns2",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-builtin",
    // Choices stay branches, which a processor guesses and runs ahead: a choice by arithmetic waits for
    // both sides, and a step is one long chain of them.
    "-fno-if-conversion",
    "-fno-if-conversion2",
    // Numbers that come one by one are stored one by one: putting them together first takes longer.
    "-fno-tree-slp-vectorize",
    "-fPIC",
    "-shared",
    "-w",
];

/// Why there is no compiled code.
#[derive(Debug)]
pub enum NotCompiled {
    /// No compiler was found.
    NoCompiler,
    /// The compiler refused the code.
    Refused(String),
    /// A file could not be written or read.
    File(PathBuf, io::Error),
    /// The library could not be opened.
    NotOpened(String),
}

impl fmt::Display for NotCompiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCompiler => f.write_str("no C compiler was found (`cc`, or what CC names)"),
            Self::Refused(why) => write!(f, "the C compiler refused the code: {why}"),
            Self::File(path, why) => write!(f, "`{}`: {why}", path.display()),
            Self::NotOpened(why) => write!(f, "the compiled code cannot be opened: {why}"),
        }
    }
}

impl std::error::Error for NotCompiled {}

/// A compiled library.
#[derive(Clone, Debug)]
pub struct Made {
    /// Where it is.
    pub path: PathBuf,
    /// What it took; nothing when it was there.
    pub took: Option<Duration>,
}

/// The C compiler: what CC names, or `cc`.
pub fn find() -> Option<PathBuf> {
    let wanted = std::env::var_os("CC").filter(|cc| !cc.is_empty()).unwrap_or("cc".into());
    let wanted = PathBuf::from(wanted);
    if wanted.components().count() > 1 {
        return wanted.is_file().then_some(wanted);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(&wanted)).find(|file| file.is_file())
}

/// Where code is kept: `FLUXLINE_CACHE`, the user's cache directory, or that for files that do not
/// last.
pub fn cache() -> PathBuf {
    let given = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    given("FLUXLINE_CACHE")
        .or_else(|| given("XDG_CACHE_HOME").map(|folder| folder.join("fluxline")))
        .or_else(|| given("HOME").map(|home| home.join(".cache").join("fluxline")))
        .unwrap_or_else(|| std::env::temp_dir().join("fluxline"))
        .join("fused")
}

/// What the processor calls itself and can do: code made for one may not run on another.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line =
        |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or("").to_owned();
    format!("{} {}", line("model name"), line("flags"))
}

/// Code that was made before, if it was.
pub fn kept(code: &str) -> Option<PathBuf> {
    let (text, name) = whole(code);
    let folder = cache();
    let library = folder.join(format!("{name}.so"));
    let is_same = fs::read_to_string(folder.join(format!("{name}.c"))).is_ok_and(|old| old == text);
    (is_same && library.is_file()).then_some(library)
}

fn whole(code: &str) -> (String, String) {
    let mut hash = DefaultHasher::new();
    processor().hash(&mut hash);
    let machine = hash.finish();
    let text = format!("// {} {machine:016x}\n{code}", FLAGS.join(" "));
    text.hash(&mut hash);
    (text, format!("{:016x}", hash.finish()))
}

/// Compiles code, or finds what it became before.
pub fn make(code: &str) -> Result<Made, NotCompiled> {
    if let Some(path) = kept(code) {
        return Ok(Made { path, took: None });
    }
    let begin = Instant::now();
    let compiler = find().ok_or(NotCompiled::NoCompiler)?;
    let (text, name) = whole(code);
    let folder = cache();
    let file = |path: &Path, error| NotCompiled::File(path.to_owned(), error);
    fs::create_dir_all(&folder).map_err(|e| file(&folder, e))?;
    // Under a name of its own until it is complete: others may be at it, too.
    let own = |end: &str| folder.join(format!("{name}.{}.{end}", unique()));
    let (source, library) = (own("c"), own("so"));
    let made = (|| {
        fs::write(&source, &text).map_err(|e| file(&source, e))?;
        let output = Command::new(&compiler)
            .args(FLAGS)
            .args(["-x", "c"])
            .arg(&source)
            .arg("-o")
            .arg(&library)
            .arg("-lm")
            .output()
            .map_err(|e| file(&compiler, e))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let first =
                said.lines().find(|line| line.contains("error")).unwrap_or("no reason given");
            return Err(NotCompiled::Refused(first.to_owned()));
        }
        let path = folder.join(format!("{name}.so"));
        fs::rename(&library, &path).map_err(|e| file(&path, e))?;
        let beside = folder.join(format!("{name}.c"));
        fs::rename(&source, &beside).map_err(|e| file(&beside, e))?;
        Ok(path)
    })();
    if made.is_err() {
        // Nothing half-written is left.
        let _ = fs::remove_file(&source);
        let _ = fs::remove_file(&library);
    }
    Ok(Made { path: made?, took: Some(begin.elapsed()) })
}

fn unique() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
