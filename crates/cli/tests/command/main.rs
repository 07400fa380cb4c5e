//! The whole program: command lines, files, exit codes.

mod bench;
mod catalogue;
mod compare_solvers;
mod failures;
mod hopsan;
mod measuring;
mod own_code;
mod parallel;
mod partition;
mod plots;
#[cfg(target_os = "linux")]
mod ranks;
mod response;
mod results;
mod solvers;
mod starter;
mod states;
mod stiffness;
mod studies;
mod sweep;
mod verdict;
