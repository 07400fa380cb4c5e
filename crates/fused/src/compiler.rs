//! The compiler of the machine.
//!
//! Code is kept in a cache under a hash of its text. What the compiler makes is for this
//! processor, so its kind is part of the text. A library is opened before it is kept: a compiler may say
//! that all is well and write nothing of use.

use crate::cache::{self, Cache, Workplace};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
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

/// A compiler that takes longer hangs: to begin with, and per line of code. On machines of the day a line
/// takes a fifth to half a millisecond.
const LONGEST: Duration = Duration::from_secs(60);
const LONGEST_PER_LINE: Duration = Duration::from_millis(5);
/// Between looks whether it is done.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Why there is no compiled code.
#[derive(Debug)]
pub enum NotCompiled {
    /// No compiler was found.
    NoCompiler,
    /// The processor has not the instructions.
    NoInstructions,
    /// Fluxline could not write them.
    NotWritten(String),
    /// The compiler refused the code.
    Refused(String),
    /// The compiler did not come to an end.
    Hangs(PathBuf, Duration),
    /// The user did not want to wait.
    Interrupted,
    /// A file could not be written or read.
    File(PathBuf, io::Error),
    /// The library could not be opened.
    NotOpened(String),
}

impl fmt::Display for NotCompiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCompiler => f.write_str("no C compiler was found (`cc`, or what CC names)"),
            Self::NoInstructions => {
                f.write_str("the processor lacks AVX2, or AVX-512 for eight variants side by side")
            }
            Self::NotWritten(why) => write!(f, "its instructions cannot be written: {why}"),
            Self::Refused(why) => write!(f, "the C compiler refused the code: {why}"),
            Self::Hangs(compiler, limit) => {
                let (name, seconds) = (compiler.display(), limit.as_secs_f64());
                write!(f, "the C compiler `{name}` had not finished after {seconds:.0} s")
            }
            Self::Interrupted => f.write_str("interrupted"),
            Self::File(path, why) => write!(f, "`{}`: {why}", path.display()),
            Self::NotOpened(why) => write!(f, "the compiled code cannot be opened: {why}"),
        }
    }
}

impl std::error::Error for NotCompiled {}

/// Who made code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Fluxline itself.
    Fluxline,
    /// The C compiler.
    Compiler,
}

/// How code came to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Made {
    /// What it took; nothing when it was there.
    pub took: Option<Duration>,
    /// Who made it.
    pub by: By,
}

/// A C compiler, and what it is always told.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiler {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Compiler {
    /// A call of it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

/// The C compiler: what CC names, with its arguments, or `cc`.
pub fn find() -> Option<Compiler> {
    find_in(std::env::var_os("CC").as_deref(), std::env::var_os("PATH").as_deref())
}

fn find_in(wanted: Option<&OsStr>, path: Option<&OsStr>) -> Option<Compiler> {
    let program = |name: &OsStr| {
        if Path::new(name).components().count() > 1 {
            return is_program(Path::new(name)).then(|| PathBuf::from(name));
        }
        std::env::split_paths(path?).map(|folder| folder.join(name)).find(|file| is_program(file))
    };
    let is_blank = |name: &&OsStr| name.to_str().is_some_and(|text| text.trim().is_empty());
    let wanted = wanted.filter(|name| !is_blank(name)).unwrap_or(OsStr::new("cc"));
    // The name of a file may have blanks, too.
    if let Some(program) = program(wanted) {
        return Some(Compiler { program, arguments: Vec::new() });
    }
    let mut words = wanted.to_str()?.split_whitespace();
    let program = program(OsStr::new(words.next()?))?;
    Some(Compiler { program, arguments: words.map(OsString::from).collect() })
}

fn is_program(file: &Path) -> bool {
    #[cfg(unix)]
    let may_run = |of: &fs::Metadata| std::os::unix::fs::MetadataExt::mode(of) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = |_: &fs::Metadata| true;
    fs::metadata(file).is_ok_and(|of| of.is_file() && may_run(&of))
}

/// What the processor calls itself and can do: code made for one may not run on another.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line =
        |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or("").to_owned();
    format!("{} {}", line("model name"), line("flags"))
}

/// Whether code was compiled before.
pub fn is_kept(code: &str) -> bool {
    let (text, name) = whole(code);
    let cache = cache::folder().and_then(|folder| Cache::at(&folder));
    cache.is_some_and(|cache| cache.find(&name, &text).is_some())
}

fn whole(code: &str) -> (String, String) {
    let mut hash = DefaultHasher::new();
    processor().hash(&mut hash);
    let machine = hash.finish();
    let text = format!("// {} {machine:016x}\n{code}", FLAGS.join(" "));
    text.hash(&mut hash);
    (text, format!("{:016x}", hash.finish()))
}

/// Compiles code and opens it, or what it became before. `go_on` is asked while the compiler works, and
/// ends that when it returns false.
pub fn make<T>(
    code: &str,
    go_on: &mut dyn FnMut() -> bool,
    open: impl Fn(&Path) -> Result<T, NotCompiled>,
) -> Result<(Made, T), NotCompiled> {
    let cache = cache::folder().and_then(|folder| Cache::at(&folder));
    let lines = u32::try_from(code.lines().count()).unwrap_or(u32::MAX);
    let limit = LONGEST + LONGEST_PER_LINE * lines;
    make_by(find, limit, cache.as_ref(), code, go_on, open)
}

fn make_by<T>(
    compiler: impl FnOnce() -> Option<Compiler>,
    limit: Duration,
    cache: Option<&Cache>,
    code: &str,
    go_on: &mut dyn FnMut() -> bool,
    open: impl Fn(&Path) -> Result<T, NotCompiled>,
) -> Result<(Made, T), NotCompiled> {
    let (text, name) = whole(code);
    if let Some(cache) = cache
        && let Some(library) = cache.find(&name, &text)
    {
        match open(&library) {
            Ok(opened) => return Ok((Made { took: None, by: By::Compiler }, opened)),
            // For a machine that is not quite this one.
            Err(_) => cache.remove(&name),
        }
    }
    let begin = Instant::now();
    let compiler = compiler().ok_or(NotCompiled::NoCompiler)?;
    // A cache that cannot be written to is none.
    let workplace = match cache.map(|cache| cache.workplace(&name)) {
        Some(Ok(workplace)) => workplace,
        _ => Workplace::private().map_err(|e| NotCompiled::File(std::env::temp_dir(), e))?,
    };
    compile(&compiler, limit, &workplace, &text, go_on)?;
    let opened = open(&workplace.library())?;
    if let Some(cache) = cache {
        // If not, it is compiled again next time.
        let _ = cache.keep(&workplace, &name, &text);
    }
    Ok((Made { took: Some(begin.elapsed()), by: By::Compiler }, opened))
}

fn compile(
    compiler: &Compiler,
    limit: Duration,
    workplace: &Workplace,
    text: &str,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), NotCompiled> {
    let file = |path: &Path, error| NotCompiled::File(path.to_owned(), error);
    let (source, messages) = (workplace.text(), workplace.path().join("messages"));
    fs::write(&source, text).map_err(|e| file(&source, e))?;
    // Into a file: nobody reads while the compiler works.
    let said = fs::File::create(&messages).map_err(|e| file(&messages, e))?;
    let mut command = compiler.command();
    command.args(FLAGS).args(["-x", "c"]).arg(&source).arg("-o").arg(workplace.library());
    command.arg("-lm").stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    // What it starts by itself is ended with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command.spawn().map_err(|e| file(&compiler.program, e))?;
    let status = match wait(child, limit, go_on).map_err(|e| file(&compiler.program, e))? {
        Waited::Ended(status) => status,
        Waited::TooLong => return Err(NotCompiled::Hangs(compiler.program.clone(), limit)),
        Waited::Interrupted => return Err(NotCompiled::Interrupted),
    };
    let said = fs::read(&messages).unwrap_or_default();
    let _ = fs::remove_file(&messages);
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&said);
    let first = said.lines().find(|line| line.contains("error")).map(str::to_owned);
    Err(NotCompiled::Refused(first.unwrap_or_else(|| format!("it gave no reason ({status})"))))
}

enum Waited {
    Ended(ExitStatus),
    TooLong,
    Interrupted,
}

fn wait(mut child: Child, limit: Duration, go_on: &mut dyn FnMut() -> bool) -> io::Result<Waited> {
    let begin = Instant::now();
    let given_up = loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Waited::Ended(status));
        }
        if !go_on() {
            break Waited::Interrupted;
        }
        if begin.elapsed() >= limit {
            break Waited::TooLong;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    kill(&mut child);
    child.wait()?;
    Ok(given_up)
}

/// Ends a compiler and all that it has started.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Ok(id) = i32::try_from(child.id()) {
        use nix::sys::signal::{Signal, killpg};
        let _ = killpg(nix::unistd::Pid::from_raw(id), Signal::SIGKILL);
    }
    let _ = child.kill();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::library::AlikeCode;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    const CODE: &str = "void fluxline_prepare(void) {}\nvoid fluxline_steps(void) {}\n";
    const LIMIT: Duration = Duration::from_secs(60);

    /// An empty folder for a test.
    fn fresh(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("fluxline-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A compiler that does as it is told: its output is `$out`.
    fn script(folder: &Path, text: &str) -> Compiler {
        let program = folder.join("script");
        let out = "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done";
        // Written by another process: no child of this one still holds it open when it is run.
        let write = format!("cat > '{}' && chmod 755 '{0}'", program.display());
        let mut shell =
            Command::new("sh").args(["-c", &write]).stdin(Stdio::piped()).spawn().unwrap();
        let text = format!("#!/bin/sh\n{out}\n{text}\n");
        io::Write::write_all(&mut shell.stdin.take().unwrap(), text.as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success());
        Compiler { program, arguments: Vec::new() }
    }

    fn entries(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    fn by(compiler: &Compiler, cache: Option<&Cache>) -> Result<Made, NotCompiled> {
        let some = || Some(compiler.clone());
        make_by(some, LIMIT, cache, CODE, &mut || true, AlikeCode::open).map(|(made, _)| made)
    }

    #[test]
    fn a_damaged_library_is_compiled_anew_and_never_opened() {
        let Some(compiler) = find() else { return eprintln!("skipped: no C compiler") };
        let folder = fresh("damaged");
        let cache = Cache::at(&folder.join("fused")).unwrap();
        assert!(by(&compiler, Some(&cache)).unwrap().took.is_some());
        assert!(by(&compiler, Some(&cache)).unwrap().took.is_none(), "it is there");
        let kept = entries(&folder.join("fused"));
        assert_eq!(kept.len(), 1, "{kept:?}");
        let damage = |file: &str, how: &dyn Fn(&mut Vec<u8>)| {
            let path = kept[0].join(file);
            let mut bytes = fs::read(&path).unwrap();
            how(&mut bytes);
            fs::write(&path, bytes).unwrap();
            let (text, name) = whole(CODE);
            assert!(cache.find(&name, &text).is_none(), "{file}");
            assert!(!kept[0].exists(), "what is damaged is removed");
            assert!(by(&compiler, Some(&cache)).unwrap().took.is_some());
            assert!(by(&compiler, Some(&cache)).unwrap().took.is_none());
        };
        for file in ["code.so", "code.c"] {
            for length in [0, 100] {
                damage(file, &|bytes| bytes.truncate(length));
            }
            damage(file, &|bytes| bytes.truncate(bytes.len() - 1));
            damage(file, &|bytes| bytes.push(0));
            damage(file, &|bytes| {
                let middle = bytes.len() / 2;
                bytes[middle..middle + 64].iter_mut().for_each(|byte| *byte = !*byte);
            });
        }
        for file in ["code.so", "code.c"] {
            fs::remove_file(kept[0].join(file)).unwrap();
            assert!(by(&compiler, Some(&cache)).unwrap().took.is_some());
        }
        fs::remove_dir_all(&kept[0]).unwrap();
        fs::write(&kept[0], "a file in its place").unwrap();
        assert!(by(&compiler, Some(&cache)).unwrap().took.is_some());
        assert!(by(&compiler, Some(&cache)).unwrap().took.is_none());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_cannot_be_opened_is_not_kept_and_a_good_compiler_comes_later() {
        let folder = fresh("garbage");
        let cache = Cache::at(&folder.join("fused")).unwrap();
        for wrote in ["echo garbage > \"$out\"", ": > \"$out\"", "true"] {
            let why = by(&script(&folder, wrote), Some(&cache)).unwrap_err();
            assert!(matches!(why, NotCompiled::NotOpened(_)), "{why}");
            assert_eq!(entries(&folder.join("fused")), Vec::<PathBuf>::new());
        }
        let why = by(&script(&folder, "echo 'error: no' >&2; exit 1"), Some(&cache)).unwrap_err();
        assert_eq!(why.to_string(), "the C compiler refused the code: error: no");
        let why = by(&script(&folder, "kill -9 $$"), Some(&cache)).unwrap_err();
        assert!(why.to_string().contains("signal: 9"), "{why}");
        if let Some(compiler) = find() {
            assert!(by(&compiler, Some(&cache)).is_ok());
            assert_eq!(entries(&folder.join("fused")).len(), 1);
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_compiler_that_hangs_is_ended_with_all_that_it_has_started_and_leaves_nothing() {
        let folder = fresh("hangs");
        let cache = Cache::at(&folder.join("fused")).unwrap();
        let child = folder.join("child");
        let hangs = format!("sleep 600 & echo $! > '{}'; wait", child.display());
        let compiler = script(&folder, &hangs);
        let begin = Instant::now();
        let try_for = |limit: Duration, go_on: &mut dyn FnMut() -> bool| {
            let some = || Some(compiler.clone());
            make_by(some, limit, Some(&cache), CODE, go_on, AlikeCode::open).unwrap_err()
        };
        let is_child_gone = || {
            let id: i32 = fs::read_to_string(&child).unwrap().trim().parse().unwrap();
            // Dead, though nobody may have asked for its end yet.
            let state = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let is_gone = || nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), None).is_err();
            state.contains(") Z ") || is_gone()
        };
        let is_so_soon = |holds: &dyn Fn() -> bool| {
            (0..1000).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                holds()
            })
        };
        let why = try_for(Duration::from_secs(1), &mut || true);
        assert!(why.to_string().contains("had not finished after 1 s"), "{why}");
        assert!(is_so_soon(&is_child_gone));
        // An interruption ends it as soon as it comes.
        fs::remove_file(&child).unwrap();
        let has_begun = || fs::read_to_string(&child).is_ok_and(|id| id.ends_with('\n'));
        let why = try_for(LIMIT * 10, &mut || !has_begun());
        assert!(matches!(why, NotCompiled::Interrupted), "{why}");
        assert!(is_so_soon(&is_child_gone));
        assert!(begin.elapsed() < LIMIT);
        assert_eq!(entries(&folder.join("fused")), Vec::<PathBuf>::new());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_others_can_write_to_or_own_is_no_cache() {
        let folder = fresh("shared");
        let shared = folder.join("fused");
        let set_mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        assert!(Cache::at(&shared).is_some());
        assert_eq!(shared.metadata().unwrap().mode() & 0o777, 0o700);
        for mode in [0o777, 0o1777, 0o770, 0o702] {
            set_mode(&shared, mode);
            assert!(Cache::at(&shared).is_none(), "{mode:o}");
        }
        set_mode(&shared, 0o755);
        assert!(Cache::at(&shared).is_some());
        // Where everybody may rename what is in a folder above.
        set_mode(&folder, 0o777);
        assert!(Cache::at(&shared).is_none());
        set_mode(&folder, 0o1777);
        assert!(Cache::at(&shared).is_some());
        let linked = folder.join("linked");
        match nix::unistd::geteuid().is_root() {
            true => {
                std::os::unix::fs::chown(&shared, Some(1), None).unwrap();
                symlink(&shared, &linked).unwrap();
            }
            false => symlink("/", &linked).unwrap(),
        }
        assert!(Cache::at(&linked).is_none(), "another's");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn without_a_cache_code_is_compiled_in_a_private_folder_that_does_not_stay() {
        let Some(compiler) = find() else { return eprintln!("skipped: no C compiler") };
        let seen = std::cell::RefCell::new(PathBuf::new());
        let open = |path: &Path| {
            let of = path.parent().unwrap().metadata().unwrap();
            assert_eq!(of.mode() & 0o777, 0o700);
            assert_eq!(of.uid(), nix::unistd::geteuid().as_raw());
            *seen.borrow_mut() = path.to_owned();
            AlikeCode::open(path)
        };
        let some = || Some(compiler.clone());
        let (made, _code) = make_by(some, LIMIT, None, CODE, &mut || true, open).unwrap();
        assert!(made.took.is_some());
        assert!(!seen.borrow().parent().unwrap().exists());
    }

    #[test]
    fn a_compiler_is_found_by_words_and_only_where_it_can_be_run() {
        let folder = fresh("found");
        let [first, second] = ["first", "second place"].map(|name| folder.join(name));
        for (at, mode) in [(&first, 0o644), (&second, 0o755)] {
            fs::create_dir_all(at).unwrap();
            fs::write(at.join("cc"), "").unwrap();
            fs::set_permissions(at.join("cc"), fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths([&first, &second]).unwrap();
        let find = |wanted: Option<&str>| find_in(wanted.map(OsStr::new), Some(&path));
        let good = second.join("cc");
        let with = |arguments: &[&str]| {
            let arguments = arguments.iter().map(OsString::from).collect();
            Some(Compiler { program: good.clone(), arguments })
        };
        assert_eq!(find(None), with(&[]));
        assert_eq!(find(Some("")), with(&[]));
        assert_eq!(find(Some("  ")), with(&[]));
        assert_eq!(find(Some("cc -m64  -pipe")), with(&["-m64", "-pipe"]));
        assert_eq!(find(good.to_str()), with(&[]), "a blank in its name");
        assert_eq!(find(first.join("cc").to_str()), None);
        assert_eq!(find(Some("no-such-compiler -m64")), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
