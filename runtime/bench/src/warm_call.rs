//! What does one call cost with everything that we do around it, beside the call alone?
//!
//! Raw, ours, raw, ours, in one process. The median counts; records are written behind, and flushed outside of the
//! times before their queue can fill. `ours_idle_us` is a call that finds everything asleep, the writer of the
//! records and the thread of the epoch included.

use std::time::Instant;

use anyhow::Result;
use serde_json::Value;

use crate::{
    ground::on_a_worker,
    guest::Guest,
    ours::Ours,
    raw::Raw,
    times::{Times, us},
};

#[derive(Default)]
struct Measured {
    raw: Times,
    ours: Times,
    idle: Times,
}

/// Measures one function.
///
/// # Errors
/// A call failed.
pub(crate) fn measure(name: &str, artifact: &str, function: &str, args: Value) -> Result<String> {
    let guest = Guest::new(artifact)?;
    let (raw, ours) = (Raw::new(&guest, function)?, Ours::new(&guest, function)?);
    let Measured { raw, ours, idle } = on_a_worker(rounds(raw, ours, args))?;
    Ok(format!(
        "{name} ratio={:.2}x budget=2.00x raw_us={:.1} ours_us={:.1} raw_min_us={:.1} ours_min_us={:.1} \
         ours_idle_us={:.1} rounds={ROUNDS}",
        us(ours.median()) / us(raw.median()),
        us(raw.median()),
        us(ours.median()),
        us(raw.least()),
        us(ours.least()),
        us(idle.median()),
    ))
}

async fn rounds(raw: Raw, ours: Ours, args: Value) -> Result<Measured> {
    let text = args.to_string();
    let mut measured = Measured::default();
    for round in 0..WARM_UPS + ROUNDS {
        let began = Instant::now();
        raw.call(&text).await?;
        let between = Instant::now();
        ours.call(&args).await?;
        let ended = Instant::now();
        if round >= WARM_UPS {
            measured.raw.add(between - began);
            measured.ours.add(ended - between);
        }
        if round.is_multiple_of(ROUNDS_A_FLUSH) {
            ours.flush().await?;
        }
    }
    for _ in 0..IDLE_ROUNDS {
        ours.flush().await?;
        let began = Instant::now();
        ours.call(&args).await?;
        measured.idle.add(began.elapsed());
    }
    Ok(measured)
}

const WARM_UPS: u32 = 200;
const ROUNDS: u32 = 4_000;
/// Two records a round; the queue holds 16,384.
const ROUNDS_A_FLUSH: u32 = 256;
const IDLE_ROUNDS: u32 = 300;
