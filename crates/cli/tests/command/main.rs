//! The whole program: command lines, files, exit codes.

mod bench;
mod catalogue;
mod failures;
mod hopsan;
mod plots;
mod results;
mod starter;
mod states;
mod sweep;
mod verdict;
