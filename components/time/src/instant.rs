//! `now` and `time_convert`: points in time, how they are read and how they are shown.

use std::time::SystemTime;

use chitin_sdk::{Argument, Failure, Json, Schema, tool};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::Offset;
use serde::{Deserialize, Serialize};

/// A point in time as a call writes it.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct TimeText(pub(crate) String);

impl Argument for TimeText {
    fn schema(description: &str) -> Schema {
        Schema::string(&format!("{description} {FORMS}")).min_length(1).max_length(64)
    }
}

/// A point in time as every function shows it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Shown {
    utc: String,
    unix_ms: i64,
    weekday: &'static str,
}

#[derive(Serialize)]
pub(crate) struct Converted {
    #[serde(flatten)]
    shown: Shown,
    day_of_year: i16,
    iso_week: String,
}

/// Gives the current time in UTC: ISO 8601, milliseconds since 1970, weekday.
#[tool(reads, repeatable, title = "Tell the time")]
pub(crate) fn now() -> Result<Json<Shown>, Failure> {
    Ok(Json(shown(clock()?)))
}

/// Gives a point in time in every form: ISO 8601 in UTC, milliseconds since 1970, weekday, day of the year, ISO week.
#[tool(idempotent, title = "Convert a time")]
pub(crate) fn time_convert(
    /// The time to convert.
    value: TimeText,
) -> Result<Json<Converted>, Failure> {
    let found = parse("value", &value.0, clock()?)?;
    let date = civil(found).date();
    let week = date.iso_week_date();
    let iso_week = format!("{:04}-W{:02}", week.year(), week.week());
    Ok(Json(Converted { shown: shown(found), day_of_year: date.day_of_year(), iso_week }))
}

/// The only place where the clock is read.
///
/// # Errors
///
/// `internal` when the clock of the host is outside of the years -9999 to 9999.
pub(crate) fn clock() -> Result<Timestamp, Failure> {
    Timestamp::try_from(SystemTime::now())
        .map_err(|error| Failure::internal(format!("the clock cannot be right: {error}")))
}

/// # Errors
///
/// `invalid-input` that names the argument and the forms that are read.
pub(crate) fn parse(argument: &str, text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Ok(now);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let found = if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        from_digits(text, digits.len())
    } else {
        from_iso(text)
    };
    found.ok_or_else(|| {
        let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
        let message = format!(
            "argument `{argument}`: `{shown}` is not a time; write it as 2026-03-01, 2026-03-01T12:00:00Z, now, or \
             seconds since 1970"
        );
        Failure::invalid_input(message).with_code("bad-time")
    })
}

pub(crate) fn shown(found: Timestamp) -> Shown {
    let weekday = match civil(found).weekday() {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    };
    Shown { utc: format!("{found:.3}"), unix_ms: found.as_millisecond(), weekday }
}

pub(crate) fn civil(found: Timestamp) -> DateTime {
    Offset::UTC.to_datetime(found)
}

fn from_digits(text: &str, digits: usize) -> Option<Timestamp> {
    let number: i64 = text.parse().ok()?;
    if digits >= MILLISECOND_DIGITS {
        Timestamp::from_millisecond(number).ok()
    } else {
        Timestamp::from_second(number).ok()
    }
}

fn from_iso(text: &str) -> Option<Timestamp> {
    if let Ok(with_offset) = text.parse::<Timestamp>() {
        return Some(with_offset);
    }
    // A zone in brackets without an offset would be read as if it were not there, and the answer would be hours off.
    if text.contains('[') {
        return None;
    }
    let date_time = match text.parse::<DateTime>() {
        Ok(date_time) => date_time,
        Err(_) => text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight()),
    };
    Offset::UTC.to_timestamp(date_time).ok()
}

const FORMS: &str = "ISO 8601 (`2026-03-01`, `2026-03-01T12:00:00Z`, with an offset like `+02:00`; UTC without one), \
                     `now`, or digits: seconds since 1970, milliseconds from 12 digits on.";
/// 12 digits of seconds are 30,000 years away, 12 digits of milliseconds are the year 1973.
const MILLISECOND_DIGITS: usize = 12;
const SHOWN_CHARACTERS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let now = Timestamp::from_second(1_000_000_000).expect("in range");
        let said = parse("value", text, now).map_or_else(
            |failure| failure.code.unwrap_or_default(),
            |found| {
                let shown = shown(found);
                format!("{} {} {}", shown.utc, shown.unix_ms, shown.weekday)
            },
        );
        assert_eq!(said, expected, "{text}");
    }

    #[test]
    fn times_are_read_in_all_their_forms() {
        check("now", "2001-09-09T01:46:40.000Z 1000000000000 Sunday");
        check("2026-03-01", "2026-03-01T00:00:00.000Z 1772323200000 Sunday");
        check("2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000Z 1772366400000 Sunday");
        check("2026-03-01 12:00", "2026-03-01T12:00:00.000Z 1772366400000 Sunday");
        check("2026-03-01T01:30:00+02:00", "2026-02-28T23:30:00.000Z 1772321400000 Saturday");
        check("2026-03-01T12:00:00.1234Z", "2026-03-01T12:00:00.123Z 1772366400123 Sunday");
        check("0", "1970-01-01T00:00:00.000Z 0 Thursday");
        check("-1", "1969-12-31T23:59:59.000Z -1000 Wednesday");
        check("1772323200000", "2026-03-01T00:00:00.000Z 1772323200000 Sunday");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "-",
            "tomorrow",
            "2026-02-30",
            "2026-13-01",
            "99999999999999999999",
            "12:00",
            "2026-03-01T12:00[Europe/Rome]",
            "2026-03-01T12:00+99:00",
        ] {
            check(text, "bad-time");
        }
    }
}
