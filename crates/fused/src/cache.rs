//! What was compiled before, in the user's cache directory: a folder for each text.
//!
//! A folder holds a library and the text that it was compiled from, which ends with the library's sum.
//! It gets its name, a hash of the text, when it is whole: several processes may be at it at a time, and
//! one that dies leaves no half. Text and sum are compared before a library is opened, for damaged code
//! takes the process with it; so does what others may have put there, which is why folders that are not
//! the user's own are left alone.

use std::fs;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TEXT: &str = "code.c";
const LIBRARY: &str = "code.so";
/// What a process that was killed has left is removed after so long a time.
const LEFT: Duration = Duration::from_secs(24 * 3600);

/// Where code is kept: `FLUXLINE_CACHE`, or the user's cache directory; nowhere without a home.
pub(crate) fn folder() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    given("FLUXLINE_CACHE")
        .or_else(|| given("XDG_CACHE_HOME").map(|folder| folder.join("fluxline")))
        .or_else(|| given("HOME").map(|home| home.join(".cache").join("fluxline")))
        .map(|folder| folder.join("fused"))
}

/// A cache that nobody else writes to.
#[derive(Clone, Debug)]
pub(crate) struct Cache(PathBuf);

impl Cache {
    /// A folder of this user alone, which is made where it is not there.
    pub(crate) fn at(folder: &Path) -> Option<Self> {
        if !folder.is_dir() {
            make_folder(folder, true).ok()?;
        }
        let folder = folder.canonicalize().ok()?;
        is_own(&folder).then_some(Self(folder))
    }

    /// The library of a text, if it is what was kept; what is damaged is removed.
    pub(crate) fn find(&self, name: &str, text: &str) -> Option<PathBuf> {
        let folder = self.0.join(name);
        // Not there, which is usual.
        folder.symlink_metadata().ok()?;
        let library = folder.join(LIBRARY);
        let is_sound = || {
            let kept = fs::read(folder.join(TEXT)).ok()?;
            let sum = kept.strip_prefix(text.as_bytes())?;
            (sum == ending(&fs::read(&library).ok()?).as_bytes()).then_some(())
        };
        if is_sound().is_none() {
            self.remove(name);
            return None;
        }
        Some(library)
    }

    /// Removes what is kept of a text.
    pub(crate) fn remove(&self, name: &str) {
        let folder = self.0.join(name);
        // Somebody else may be faster, or a file stands in its place.
        let _ = fs::remove_dir_all(&folder).or_else(|_| fs::remove_file(&folder));
    }

    /// Keeps what was compiled; where somebody else was faster, theirs stays.
    pub(crate) fn keep(&self, made: &Workplace, name: &str, text: &str) -> io::Result<()> {
        let sum = ending(&fs::read(made.library())?);
        fs::write(made.text(), text.to_owned() + &sum)?;
        fs::rename(&made.0, self.0.join(name))
    }

    /// A place to compile in, from which can be kept.
    pub(crate) fn workplace(&self, name: &str) -> io::Result<Workplace> {
        self.tidy();
        Workplace::within(&self.0, name)
    }

    /// Removes places of processes that were killed.
    fn tidy(&self) {
        let Ok(entries) = fs::read_dir(&self.0) else { return };
        for entry in entries.flatten() {
            let is_workplace = entry.file_name().to_string_lossy().contains('.');
            let age = entry.metadata().and_then(|of| of.modified()).map(|then| then.elapsed());
            if is_workplace && matches!(age, Ok(Ok(age)) if age > LEFT) {
                let path = entry.path();
                let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
            }
        }
    }
}

/// What a text is kept with.
fn ending(library: &[u8]) -> String {
    let mut hash = DefaultHasher::new();
    hash.write(library);
    format!("// {:016x} {}\n", hash.finish(), library.len())
}

/// A fresh folder of this process alone, which goes with its owner.
#[derive(Debug)]
pub(crate) struct Workplace(PathBuf);

impl Workplace {
    /// One that nothing is kept from.
    pub(crate) fn private() -> io::Result<Self> {
        let folder = std::env::temp_dir();
        let folder = folder.canonicalize().unwrap_or(folder);
        if !are_safe(&folder) {
            let why = "everybody may rename what is in it; let TMPDIR name another folder";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Self::within(&folder, "fluxline")
    }

    fn within(folder: &Path, name: &str) -> io::Result<Self> {
        // Nobody can have made it before: its name is not known.
        let path =
            folder.join(format!("{name}.{:016x}", RandomState::new().build_hasher().finish()));
        make_folder(&path, false)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
    pub(crate) fn text(&self) -> PathBuf {
        self.0.join(TEXT)
    }
    pub(crate) fn library(&self) -> PathBuf {
        self.0.join(LIBRARY)
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // What was kept is no longer there.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes a folder that only the user gets at.
fn make_folder(path: &Path, with_parents: bool) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(with_parents);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Whether a folder is the user's, and nobody else can write to it.
#[cfg(unix)]
fn is_own(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_mine = |of: fs::Metadata| {
        of.is_dir() && of.uid() == nix::unistd::geteuid().as_raw() && of.mode() & 0o022 == 0
    };
    fs::metadata(folder).is_ok_and(is_mine) && folder.parent().is_none_or(are_safe)
}

/// Whether no folder on the way can be replaced by everybody. Groups may write: many have one member.
#[cfg(unix)]
fn are_safe(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_safe = |of: fs::Metadata| of.mode() & 0o002 == 0 || of.mode() & 0o1000 != 0;
    folder.ancestors().all(|folder| fs::metadata(folder).is_ok_and(is_safe))
}

#[cfg(not(unix))]
fn is_own(_: &Path) -> bool {
    true
}

#[cfg(not(unix))]
fn are_safe(_: &Path) -> bool {
    true
}
