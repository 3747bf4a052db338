//! `date_add` and `date_diff`: how far from one point in time to another.

use chitin_sdk::{Failure, Part};
use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{Span, Timestamp, Unit};
use serde::{Deserialize, Serialize};

use crate::instant::{civil, parse, shown};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Add {
    from: Option<String>,
    #[serde(default)]
    years: i64,
    #[serde(default)]
    months: i64,
    #[serde(default)]
    weeks: i64,
    #[serde(default)]
    days: i64,
    #[serde(default)]
    hours: i64,
    #[serde(default)]
    minutes: i64,
    #[serde(default)]
    seconds: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Diff {
    from: Option<String>,
    to: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Distance {
    years: i16,
    months: i32,
    days: i32,
    hours: i32,
    minutes: i64,
    seconds: i64,
    total_days: f64,
    total_seconds: i64,
}

pub(crate) fn date_add(wanted: &Add, now: Timestamp) -> Result<Vec<Part>, Failure> {
    let from = parse("from", wanted.from.as_deref().unwrap_or("now"), now)?;
    let moved = moved(from, wanted).map_err(|error| out_of_range(&error))?;
    Ok(vec![Part::data(&shown(moved))?])
}

pub(crate) fn date_diff(wanted: &Diff, now: Timestamp) -> Result<Vec<Part>, Failure> {
    let from = parse("from", wanted.from.as_deref().unwrap_or("now"), now)?;
    let to = parse("to", &wanted.to, now)?;
    let distance = distance(from, to).map_err(|error| out_of_range(&error))?;
    Ok(vec![Part::data(&distance)?])
}

/// One unit after the other, the largest first: the units of one span would all have to go the same way.
fn moved(from: Timestamp, by: &Add) -> Result<Timestamp, jiff::Error> {
    let steps = [
        Span::new().try_years(by.years)?,
        Span::new().try_months(by.months)?,
        Span::new().try_weeks(by.weeks)?,
        Span::new().try_days(by.days)?,
        Span::new().try_hours(by.hours)?,
        Span::new().try_minutes(by.minutes)?,
        Span::new().try_seconds(by.seconds)?,
    ];
    let moved = steps.into_iter().try_fold(civil(from), DateTime::checked_add)?;
    Offset::UTC.to_timestamp(moved)
}

fn distance(from: Timestamp, to: Timestamp) -> Result<Distance, jiff::Error> {
    let span = civil(from).until((Unit::Year, civil(to)))?;
    let total_seconds = to.duration_since(from).as_secs();
    #[expect(clippy::cast_precision_loss, reason = "a whole number of days below 8 million, with its fraction")]
    let total_days = total_seconds as f64 / SECONDS_PER_DAY;
    Ok(Distance {
        years: span.get_years(),
        months: span.get_months(),
        days: span.get_days(),
        hours: span.get_hours(),
        minutes: span.get_minutes(),
        seconds: span.get_seconds(),
        total_days,
        total_seconds,
    })
}

fn out_of_range(error: &jiff::Error) -> Failure {
    Failure::invalid_input(format!("the result is outside of the years -9999 to 9999: {error}"))
        .with_code("out-of-range")
}

const SECONDS_PER_DAY: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn check(from: &str, by: &Add, expected: &str) {
        let said = moved(at(from), by).map_or_else(|_| "out of range".to_owned(), |moved| moved.to_string());
        assert_eq!(said, expected);
    }

    #[test]
    fn calendar_units_are_added() {
        check("2026-01-31T12:00:00Z", &Add { months: 1, ..Add::default() }, "2026-02-28T12:00:00Z");
        check("2024-02-29T00:00:00Z", &Add { years: 1, ..Add::default() }, "2025-02-28T00:00:00Z");
        check("2026-01-01T00:00:00Z", &Add { weeks: 1, days: 1, hours: 25, ..Add::default() }, "2026-01-10T01:00:00Z");
        check("2026-01-01T00:00:00Z", &Add { seconds: -1, ..Add::default() }, "2025-12-31T23:59:59Z");
        check("2026-01-10T00:00:00Z", &Add { months: 1, days: -1, ..Add::default() }, "2026-02-09T00:00:00Z");
        check("2026-01-01T00:00:00Z", &Add { years: 9000, ..Add::default() }, "out of range");
        check("2026-01-01T00:00:00Z", &Add { hours: i64::MAX, ..Add::default() }, "out of range");
    }

    #[test]
    fn distances_add_up_and_have_a_sign() {
        let there = distance(at("2026-01-01T00:00:00Z"), at("2027-03-04T05:06:07Z")).expect("in range");
        let units = (there.years, there.months, there.days, there.hours, there.minutes, there.seconds);
        assert_eq!((units, there.total_seconds), ((1, 2, 3, 5, 6, 7), 36_911_167));
        let back = distance(at("2026-01-02T00:00:00Z"), at("2026-01-01T12:00:00Z")).expect("in range");
        assert_eq!((back.days, back.hours, back.total_seconds), (0, -12, -43_200));
        assert!((back.total_days + 0.5).abs() < f64::EPSILON);
    }
}
