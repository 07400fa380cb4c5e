//! The whole program: command lines, files, exit codes.

mod bench;
mod catalogue;
mod failures;
mod hopsan;
mod plots;
mod results;
mod solvers;
mod starter;
mod states;
mod verdict;
