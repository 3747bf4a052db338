//! What the model is told about each function: what it does, its arguments, and its effects.

use chitin_sdk::{Effects, Schema, Tool};

pub(crate) fn tools() -> Vec<Tool> {
    vec![now(), time_convert(), date_add(), date_diff()]
}

fn now() -> Tool {
    Tool::new("now", "Tell the time", "Gives the current time in UTC: ISO 8601, milliseconds since 1970, weekday.")
        .effects(Effects::READS | Effects::REPEATABLE)
}

fn time_convert() -> Tool {
    Tool::new(
        "time_convert",
        "Convert a time",
        "Gives a point in time in every form: ISO 8601 in UTC, milliseconds since 1970, weekday, day of the year, ISO week.",
    )
    .input(Schema::object().required("value", time("The time to convert.")))
    .effects(Effects::IDEMPOTENT)
}

fn date_add() -> Tool {
    let amount = |unit: &str| Schema::integer(&format!("How many {unit} to add; negative to go back."));
    Tool::new(
        "date_add",
        "Add to a date",
        "Moves a point in time by calendar units. A day that a month does not have becomes its last one: January 31st \
         and one month is the end of February.",
    )
    .input(
        Schema::object()
            .optional("from", time("Where to start; now when left out."))
            .optional("years", amount("years"))
            .optional("months", amount("months"))
            .optional("weeks", amount("weeks"))
            .optional("days", amount("days"))
            .optional("hours", amount("hours"))
            .optional("minutes", amount("minutes"))
            .optional("seconds", amount("seconds")),
    )
    .effects(Effects::IDEMPOTENT)
}

fn date_diff() -> Tool {
    Tool::new(
        "date_diff",
        "Compare two dates",
        "Gives how far it is from one point in time to another: in calendar units that add up, and as a sum in days and \
         in seconds. Negative when the second lies before the first.",
    )
    .input(
        Schema::object()
            .optional("from", time("The first time; now when left out."))
            .required("to", time("The second time.")),
    )
    .effects(Effects::IDEMPOTENT)
}

fn time(description: &str) -> Schema {
    let forms = "ISO 8601 (`2026-03-01`, `2026-03-01T12:00:00Z`, with an offset like `+02:00`; UTC without one), `now`, \
                 or digits: seconds since 1970, milliseconds from 12 digits on.";
    Schema::string(&format!("{description} {forms}")).min_length(1).max_length(64)
}
