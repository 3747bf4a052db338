//! What does one call from the guest into the host cost? A call that asks the host many times, less one that never
//! asks, divided by how many times.

use std::time::Instant;

use anyhow::Result;
use serde_json::json;

use crate::{
    ground::on_a_worker,
    guest::Guest,
    ours::Ours,
    times::{Times, us},
};

#[derive(Default)]
struct Measured {
    many: Times,
    none: Times,
}

/// Measures the cheapest function of the host, called in a loop.
///
/// # Errors
/// A call failed.
pub(crate) fn measure(name: &str, artifact: &str) -> Result<String> {
    let guest = Guest::new(artifact)?;
    let ours = Ours::new(&guest, "flood")?;
    let Measured { many, none } = on_a_worker(rounds(ours))?;
    let each = us(many.median().saturating_sub(none.median())) / f64::from(IMPORTS);
    let each_min = us(many.least().saturating_sub(none.least())) / f64::from(IMPORTS);
    Ok(format!(
        "{name} us_per_import={each:.3} budget_us_per_import=1.000 min_us_per_import={each_min:.3} none_us={:.1} \
         many_us={:.1} imports={IMPORTS} rounds={ROUNDS}",
        us(none.median()),
        us(many.median()),
    ))
}

async fn rounds(ours: Ours) -> Result<Measured> {
    let (none, many) = (json!({ "n": 0 }), json!({ "n": IMPORTS }));
    let mut measured = Measured::default();
    for round in 0..WARM_UPS + ROUNDS {
        let began = Instant::now();
        ours.call(&none).await?;
        let between = Instant::now();
        ours.call(&many).await?;
        let ended = Instant::now();
        if round >= WARM_UPS {
            measured.none.add(between - began);
            measured.many.add(ended - between);
        }
        if round.is_multiple_of(ROUNDS_A_FLUSH) {
            ours.flush().await?;
        }
    }
    Ok(measured)
}

const IMPORTS: u32 = 1_000;
const WARM_UPS: u32 = 50;
const ROUNDS: u32 = 1_000;
/// Four records a round; the queue holds 16,384.
const ROUNDS_A_FLUSH: u32 = 256;
