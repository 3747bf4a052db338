//! The tool `chitin/time`: tells the time and calculates with dates, all in UTC.
//!
//! `instant` reads and shows points in time, `calculate` moves and compares them.
//!
//! Never: time zones. Their rules change several times a year, and a component is pinned; a text with an offset is read.

mod calculate;
mod instant;

chitin_sdk::export_tools!(instant::now, instant::time_convert, calculate::date_add, calculate::date_diff);
