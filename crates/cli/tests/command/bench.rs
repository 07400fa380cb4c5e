//! A folder of its own for each test, and the command run in it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A pump that feeds a volume with an orifice to tank; its flow triples at 0.1 s.
pub const PUMP: &str = r#"
title = "Pump and orifice"

[run]
stop = "0.2 s"
step = "0.1 ms"

[components.demand]
type = "signal.step"
base = 1e-4
amplitude = 2e-4
time = "0.1 s"

[components.pump]
type = "hydraulic.flow_source"

[components.volume]
type = "hydraulic.volume"
volume = "1 l"

[components.orifice]
type = "hydraulic.turbulent_orifice"
area = "5 mm^2"

[components.tank]
type = "hydraulic.tank"

[[connect]]
from = "demand.out"
to = "pump.flow"

[[connect]]
from = "pump.outlet"
to = "volume.port1"

[[connect]]
from = "volume.port2"
to = "orifice.inlet"

[[connect]]
from = "orifice.outlet"
to = "tank.port"
"#;

/// A mass on a spring that hangs on a second mass.
pub const SWING: &str = r#"
[run]
stop = "2 s"
step = "1 ms"

[components.mass]
type = "translational.mass"
start_position = "10 mm"

[components.block]
type = "translational.mass"
mass = "1 t"

[components.spring]
type = "translational.spring"
stiffness = "1e4 N/m"

[[connect]]
from = "mass.b"
to = "spring.a"

[[connect]]
from = "spring.b"
to = "block.a"
"#;

/// A pump whose flow grows with its pressure: diverges.
pub const RUNAWAY: &str = r#"
[run]
stop = "1 s"
step = "0.1 ms"

[components.pump]
type = "hydraulic.flow_source"

[components.feedback]
type = "signal.gain"
gain = 1e-8

[components.orifice]
type = "hydraulic.turbulent_orifice"
area = "0.1 mm^2"

[components.tank]
type = "hydraulic.tank"

[[connect]]
from = "pump.outlet.pressure"
to = "feedback.input"

[[connect]]
from = "feedback.out"
to = "pump.flow"

[[connect]]
from = "pump.outlet"
to = "orifice.inlet"
line = { volume = "1 l" }

[[connect]]
from = "orifice.outlet"
to = "tank.port"
"#;

/// A folder that is removed when the test is over.
pub struct Bench {
    folder: PathBuf,
}

/// What the command said.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Bench {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fluxline-test-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    /// With a circuit file.
    pub fn with(name: &str, text: &str) -> Self {
        let bench = Self::new();
        bench.write(name, text);
        bench
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Length of a file, where it is there.
    #[cfg(unix)]
    pub fn length(&self, name: &str) -> Option<u64> {
        Some(std::fs::metadata(self.path(name)).ok()?.len())
    }

    /// Names of all files, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_fluxline")));
        command.args(arguments).current_dir(&self.folder);
        command
    }

    pub fn fluxline(&self, arguments: &[&str]) -> Said {
        Said::from(self.command(arguments).output().unwrap())
    }

    /// The command with `--json`: exit code and what it printed.
    pub fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let all: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let said = self.fluxline(&all);
        let value = serde_json::from_str(&said.out)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", said.out, said.err));
        (said.code, value)
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
