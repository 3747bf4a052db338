//! One file for each noun of the command line.

mod adopt;
mod approve;
mod audit;
mod chat;
mod config;
mod daemon;
mod dev;
mod doctor;
mod grant;
mod install;
mod key;
mod onboard;
mod policy;
mod sandbox;
mod secret;
mod session;
mod status;
mod tool;

pub(crate) use daemon::token_file;
pub(crate) use dispatch::run;

mod dispatch;
