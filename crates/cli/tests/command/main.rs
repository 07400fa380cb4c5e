//! The whole program: command lines, files, exit codes.

mod bench;
mod catalogue;
mod compare_solvers;
mod failures;
mod hopsan;
mod parallel;
mod partition;
mod plots;
mod response;
mod results;
mod solvers;
mod starter;
mod states;
mod stiffness;
mod studies;
mod sweep;
mod verdict;
