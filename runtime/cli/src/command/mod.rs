//! One file for each noun of the command line.

mod audit;
mod chat;
mod doctor;
mod grant;
mod install;
mod key;
mod onboard;
mod policy;
mod session;
mod tool;

pub(crate) use dispatch::run;

mod dispatch;
