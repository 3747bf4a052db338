//! How many calls a second are answered while 64 are in flight on two workers, beside the engine alone?
//!
//! Batches of one kind, in turn. `ours_per_s` is until the last answer; `ours_durable_per_s` is until every record of
//! the batch is on disk too, which is what can be kept up.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::{ground::on_a_worker, guest::Guest, ours::Ours, raw::Raw, times::Times};

#[derive(Default)]
struct Measured {
    raw: Times,
    ours: Times,
    durable: Times,
}

/// Measures one function.
///
/// # Errors
/// A call failed.
pub(crate) fn measure(name: &str, artifact: &str, function: &str, args: Value) -> Result<String> {
    let guest = Guest::new(artifact)?;
    let (raw, ours) = (Raw::new(&guest, function)?, Ours::new(&guest, function)?);
    let Measured { raw, ours, durable } = on_a_worker(batches(raw, ours, args))?;
    Ok(format!(
        "{name} ratio={:.2}x budget_min=0.50x raw_per_s={:.0} ours_per_s={:.0} ours_durable_per_s={:.0} \
         raw_max_per_s={:.0} ours_max_per_s={:.0} batches={BATCHES} calls={CALLS}",
        rate(ours.median()) / rate(raw.median()),
        rate(raw.median()),
        rate(ours.median()),
        rate(durable.median()),
        rate(raw.least()),
        rate(ours.least()),
    ))
}

async fn batches(raw: Raw, ours: Ours, args: Value) -> Result<Measured> {
    let text: Arc<str> = Arc::from(args.to_string());
    let (raw, ours, args) = (Arc::new(raw), Arc::new(ours), Arc::new(args));
    let call_raw = move || {
        let (raw, text) = (Arc::clone(&raw), Arc::clone(&text));
        async move { raw.call(&text).await }
    };
    let (records, callee) = (Arc::clone(&ours), ours);
    let call_ours = move || {
        let (ours, args) = (Arc::clone(&callee), Arc::clone(&args));
        async move { ours.call(&args).await }
    };
    let mut measured = Measured::default();
    for batch in 0..WARM_UPS + BATCHES {
        let raw = answered(call_raw.clone()).await?;
        let began = Instant::now();
        let ours = answered(call_ours.clone()).await?;
        records.flush().await?;
        let durable = began.elapsed();
        if batch >= WARM_UPS {
            measured.raw.add(raw);
            measured.ours.add(ours);
            measured.durable.add(durable);
        }
    }
    Ok(measured)
}

/// How long one batch takes until its last answer.
async fn answered<F, C>(call: F) -> Result<Duration>
where
    F: Fn() -> C + Clone + Send + Sync + 'static,
    C: Future<Output = Result<()>> + Send + 'static,
{
    let began = Instant::now();
    let mut askers = JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let call = call.clone();
        askers.spawn(async move {
            for _ in 0..CALLS_EACH {
                call().await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = askers.join_next().await {
        done??;
    }
    Ok(began.elapsed())
}

/// Calls a second.
fn rate(batch: Duration) -> f64 {
    f64::from(CALLS) / batch.as_secs_f64()
}

const IN_FLIGHT: u32 = 64;
const CALLS_EACH: u32 = 48;
/// Calls in one batch. Two records each, and the queue holds 16,384.
const CALLS: u32 = IN_FLIGHT * CALLS_EACH;
const WARM_UPS: u32 = 2;
const BATCHES: u32 = 15;
