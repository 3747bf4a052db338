//! `date_add` and `date_diff`: how far from one point in time to another.

use chitin_sdk::{Argument, Failure, Json, tool};
use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{Span, Timestamp, Unit};
use serde::Serialize;

use crate::instant::{Shown, TimeText, civil, clock, parse, shown};

#[derive(Argument, Default)]
pub(crate) struct Add {
    /// Where to start; now when left out.
    from: Option<TimeText>,
    /// How many years to add; negative to go back.
    years: Option<i64>,
    /// How many months to add; negative to go back.
    months: Option<i64>,
    /// How many weeks to add; negative to go back.
    weeks: Option<i64>,
    /// How many days to add; negative to go back.
    days: Option<i64>,
    /// How many hours to add; negative to go back.
    hours: Option<i64>,
    /// How many minutes to add; negative to go back.
    minutes: Option<i64>,
    /// How many seconds to add; negative to go back.
    seconds: Option<i64>,
}

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Distance {
    years: i16,
    months: i32,
    days: i32,
    hours: i32,
    minutes: i64,
    seconds: i64,
    total_days: f64,
    total_seconds: i64,
}

/// Moves a point in time by calendar units. A day that a month does not have becomes its last one: January 31st and one
/// month is the end of February.
#[tool(idempotent, title = "Add to a date")]
pub(crate) fn date_add(#[args] wanted: Add) -> Result<Json<Shown>, Failure> {
    let from = or_now("from", wanted.from.as_ref(), clock()?)?;
    let moved = moved(from, &wanted).map_err(|error| out_of_range(&error))?;
    Ok(Json(shown(moved)))
}

/// Gives how far it is from one point in time to another: in calendar units that add up, and as a sum in days and in
/// seconds. Negative when the second lies before the first.
#[tool(idempotent, title = "Compare two dates")]
pub(crate) fn date_diff(
    /// The first time; now when left out.
    from: Option<TimeText>,
    /// The second time.
    to: TimeText,
) -> Result<Json<Distance>, Failure> {
    let now = clock()?;
    let from = or_now("from", from.as_ref(), now)?;
    let to = parse("to", &to.0, now)?;
    Ok(Json(distance(from, to).map_err(|error| out_of_range(&error))?))
}

fn or_now(argument: &str, text: Option<&TimeText>, now: Timestamp) -> Result<Timestamp, Failure> {
    text.map_or(Ok(now), |text| parse(argument, &text.0, now))
}

/// One unit after the other, the largest first: the units of one span would all have to go the same way.
fn moved(from: Timestamp, by: &Add) -> Result<Timestamp, jiff::Error> {
    let steps = [
        Span::new().try_years(by.years.unwrap_or(0))?,
        Span::new().try_months(by.months.unwrap_or(0))?,
        Span::new().try_weeks(by.weeks.unwrap_or(0))?,
        Span::new().try_days(by.days.unwrap_or(0))?,
        Span::new().try_hours(by.hours.unwrap_or(0))?,
        Span::new().try_minutes(by.minutes.unwrap_or(0))?,
        Span::new().try_seconds(by.seconds.unwrap_or(0))?,
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
        check("2026-01-31T12:00:00Z", &Add { months: Some(1), ..Add::default() }, "2026-02-28T12:00:00Z");
        check("2024-02-29T00:00:00Z", &Add { years: Some(1), ..Add::default() }, "2025-02-28T00:00:00Z");
        check(
            "2026-01-01T00:00:00Z",
            &Add { weeks: Some(1), days: Some(1), hours: Some(25), ..Add::default() },
            "2026-01-10T01:00:00Z",
        );
        check("2026-01-01T00:00:00Z", &Add { seconds: Some(-1), ..Add::default() }, "2025-12-31T23:59:59Z");
        check(
            "2026-01-10T00:00:00Z",
            &Add { months: Some(1), days: Some(-1), ..Add::default() },
            "2026-02-09T00:00:00Z",
        );
        check("2026-01-01T00:00:00Z", &Add { years: Some(9000), ..Add::default() }, "out of range");
        check("2026-01-01T00:00:00Z", &Add { hours: Some(i64::MAX), ..Add::default() }, "out of range");
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
