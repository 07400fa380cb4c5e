//! A file that is whole or not there.

use fluxline_diagnostics::{Code, Diagnostic};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file in the making: `NAME.part` until [`finish`](Self::finish) gives it its name.
///
/// Dropped unfinished, the part is removed. `-` stands for standard output; devices and pipes are
/// written to directly.
#[derive(Debug)]
pub struct OutputFile {
    target: PathBuf,
    part: Option<PathBuf>,
    /// `None` once finished.
    writer: Option<Writer>,
}

#[derive(Debug)]
enum Writer {
    File(BufWriter<File>),
    Standard(BufWriter<io::Stdout>),
}

/// Large enough that a row costs no system call of its own.
const BUFFER: usize = 1 << 18;

impl OutputFile {
    /// Opens a file to write, before there is anything to write: a wrong name is then found before
    /// a long run and not after it.
    pub fn create(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            let writer = Writer::Standard(BufWriter::with_capacity(BUFFER, io::stdout()));
            return Ok(Self { target: path.to_owned(), part: None, writer: Some(writer) });
        }
        let existing = fs::metadata(path);
        if existing.as_ref().is_ok_and(|found| found.is_dir()) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        let is_special = existing.is_ok_and(|found| !found.is_file());
        let part = (!is_special).then(|| part_of(path));
        let file = match &part {
            Some(part) => File::create(part)?,
            None => File::options().write(true).open(path)?,
        };
        let writer = Some(Writer::File(BufWriter::with_capacity(BUFFER, file)));
        Ok(Self { target: path.to_owned(), part, writer })
    }

    /// The name that the file will have.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Writes what is left to the disk and gives the file its name.
    pub fn finish(mut self) -> io::Result<()> {
        match self.writer.take() {
            Some(Writer::File(writer)) => {
                let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
                if let Some(part) = &self.part {
                    // Some file systems report a full disk only here.
                    file.sync_all()?;
                    drop(file);
                    fs::rename(part, &self.target)?;
                    self.part = None;
                }
            }
            Some(Writer::Standard(mut writer)) => writer.flush()?,
            None => {}
        }
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Some(Writer::File(writer)) => writer.write(bytes),
            Some(Writer::Standard(writer)) => writer.write(bytes),
            None => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Some(Writer::File(writer)) => writer.flush(),
            Some(Writer::Standard(writer)) => writer.flush(),
            None => Ok(()),
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            // Without this the buffer would be written once more on its way out.
            match writer {
                Writer::File(writer) => drop(writer.into_parts()),
                Writer::Standard(writer) => drop(writer.into_parts()),
            }
        }
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part);
        }
    }
}

/// What a file is called until it is finished.
fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// Clears away what a process that was killed has left of a file.
pub fn remove_unfinished(path: &Path) {
    // There may be nothing.
    let _ = fs::remove_file(part_of(path));
}

/// An error of the system while writing, for the user.
pub fn write_problem(path: &Path, error: &io::Error) -> Diagnostic {
    let name = path.display();
    let (code, message) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (Code::DiskFull, format!("`{name}` cannot be written: the disk is full"))
        }
        io::ErrorKind::NotFound => {
            (Code::CannotWrite, format!("`{name}` cannot be written: there is no such folder"))
        }
        io::ErrorKind::BrokenPipe => (
            Code::CannotWrite,
            "standard output was closed before all results were written".to_owned(),
        ),
        _ => (Code::CannotWrite, format!("`{name}` cannot be written: {error}")),
    };
    Diagnostic::error(code, message).help(code.info().cure)
}

/// An error of the system while reading, for the user.
pub fn read_problem(path: &Path, error: &io::Error) -> Diagnostic {
    let name = path.display();
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    };
    Diagnostic::error(Code::CannotRead, format!("`{name}` cannot be read: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("fluxline-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let folder = folder("whole");
        let path = folder.join("a.csv");
        let mut output = OutputFile::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        assert!(!path.exists());
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(!folder.join("a.csv.part").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_unfinished_file_leaves_the_old_one() {
        let folder = folder("unfinished");
        let path = folder.join("a.csv");
        fs::write(&path, b"old").unwrap();
        let mut output = OutputFile::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        drop(output);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert!(!folder.join("a.csv.part").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_wrong_folder_is_found_at_once() {
        let error = OutputFile::create(Path::new("no/such/folder/a.csv")).unwrap_err();
        let problem = write_problem(Path::new("no/such/folder/a.csv"), &error);
        assert_eq!(problem.code(), Code::CannotWrite);
        assert!(problem.message().contains("no such folder"));
        assert!(OutputFile::create(&std::env::temp_dir()).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told() {
        let path = Path::new("/dev/full");
        let mut output = OutputFile::create(path).unwrap();
        output.write_all(b"x").unwrap();
        let error = output.finish().unwrap_err();
        assert_eq!(write_problem(path, &error).code(), Code::DiskFull);
    }
}
