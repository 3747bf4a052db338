//! The tool `chitin/time`: tells the time and calculates with dates, all in UTC.
//!
//! `instant` reads and shows points in time, `calculate` moves and compares them. The clock is read here and nowhere else.
//!
//! Never: time zones. Their rules change several times a year, and a component is pinned; a text with an offset is read.

mod calculate;
mod describe;
mod instant;

use std::time::SystemTime;

use chitin_sdk::{Call, Failure, Part, Tool, ToolPack, export_pack};

struct Time;

impl ToolPack for Time {
    fn tools() -> Vec<Tool> {
        describe::tools()
    }

    fn invoke(call: Call) -> Result<Vec<Part>, Failure> {
        let now = instant::from_clock(SystemTime::now())?;
        match call.tool.as_str() {
            "now" => instant::now(now),
            "time_convert" => instant::time_convert(&call.args()?, now),
            "date_add" => calculate::date_add(&call.args()?, now),
            "date_diff" => calculate::date_diff(&call.args()?, now),
            _ => Err(call.unknown_tool()),
        }
    }
}

export_pack!(Time);
