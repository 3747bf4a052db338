//! How much happened? Counters that the daemon counts up, rendered as Prometheus reads them.
//!
//! Every label is one of a list, so that nobody from outside can make series without end.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use chitin_types::Event;

/// The counters of one daemon.
#[derive(Debug)]
pub struct Metrics {
    turns: Family,
    tool_calls: Family,
    auth_failures: Family,
    webhooks: Family,
}

/// What is measured at the moment of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gauges {
    pub(crate) channels_running: usize,
    pub(crate) channels_backed_off: usize,
    pub(crate) channels_stopped: usize,
    pub(crate) open_approvals: usize,
    pub(crate) uptime_s: u64,
}

#[derive(Debug)]
struct Family(Mutex<BTreeMap<&'static str, u64>>);

impl Default for Metrics {
    fn default() -> Self {
        Self {
            turns: Family::of(&["done", "error"]),
            tool_calls: Family::of(&OUTCOMES),
            auth_failures: Family::of(&DOOR_RULES),
            webhooks: Family::of(&WEBHOOK_RESULTS),
        }
    }
}

impl Metrics {
    /// Counts what an event tells: a call that ended, a turn that ended. Every way in that does not pass through the
    /// gateway calls this for each event of its turns.
    pub fn observe(&self, event: &Event) {
        match event {
            Event::ToolResult { outcome, .. } => self.tool_calls.add(outcome),
            Event::Done { .. } => self.turns.add("done"),
            Event::Error { .. } => self.turns.add("error"),
            Event::Chunk { .. } | Event::ToolCall { .. } | Event::ApprovalRequest { .. } | Event::Notice { .. } => {}
        }
    }

    pub(crate) fn auth_failure(&self, rule: &str) {
        self.auth_failures.add(rule);
    }

    pub(crate) fn webhook(&self, result: &str) {
        self.webhooks.add(result);
    }

    pub(crate) fn render(&self, gauges: &Gauges) -> String {
        let mut page = Page(String::new());
        page.counter("chitin_turns_total", "Turns that ended, by how.", "end", &self.turns);
        page.counter("chitin_tool_calls_total", "Tool calls that ended, by outcome.", "outcome", &self.tool_calls);
        let help = "Requests that were turned away at a door, by rule.";
        page.counter("chitin_auth_failures_total", help, "rule", &self.auth_failures);
        page.counter("chitin_webhooks_total", "Webhooks, by result.", "result", &self.webhooks);
        page.head("chitin_channels", "Configured channels, by state.", "gauge");
        page.line("chitin_channels{state=\"running\"}", gauges.channels_running);
        page.line("chitin_channels{state=\"backed-off\"}", gauges.channels_backed_off);
        page.line("chitin_channels{state=\"stopped\"}", gauges.channels_stopped);
        page.head("chitin_open_approvals", "Questions that wait for a person.", "gauge");
        page.line("chitin_open_approvals", gauges.open_approvals);
        page.head("chitin_uptime_seconds", "Seconds since the daemon began.", "gauge");
        page.line("chitin_uptime_seconds", gauges.uptime_s);
        page.0
    }
}

impl Family {
    fn of(labels: &[&'static str]) -> Self {
        Self(Mutex::new(labels.iter().copied().chain([OTHER]).map(|label| (label, 0)).collect()))
    }

    fn add(&self, label: &str) {
        let mut counts = self.counts();
        let known = if counts.contains_key(label) { label } else { OTHER };
        if let Some(count) = counts.get_mut(known) {
            *count += 1;
        }
    }

    /// A number is never half written, so a panic elsewhere is no reason to stop counting.
    fn counts(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Page(String);

impl Page {
    fn counter(&mut self, name: &str, help: &str, label: &str, family: &Family) {
        self.head(name, help, "counter");
        let counts = family.counts();
        for (value, count) in &*counts {
            self.line(&format!("{name}{{{label}=\"{value}\"}}"), count);
        }
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        self.0.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn line(&mut self, series: &str, value: impl std::fmt::Display) {
        self.0.push_str(&format!("{series} {value}\n"));
    }
}

/// The words of `ToolOutcome::word`.
const OUTCOMES: [&str; 9] =
    ["done", "failed", "invalid-input", "denied", "refused", "limited", "broke", "untrusted", "cancelled"];
/// The rules of the TCP door.
const DOOR_RULES: [&str; 4] = ["gateway:host", "gateway:origin", "gateway:query", "gateway:token"];
/// How a webhook ends.
const WEBHOOK_RESULTS: [&str; 9] = [
    "accepted",
    "webhook:no-route",
    "webhook:signature",
    "webhook:replay",
    "webhook:too-large",
    "webhook:not-ready",
    "webhook:refused",
    "webhook:answer",
    "webhook:unreadable",
];
/// What is counted under a word that no list knows.
const OTHER: &str = "other";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_prometheus_reads() {
        let metrics = Metrics::default();
        metrics.observe(&Event::Done { text: String::new() });
        metrics.observe(&Event::Chunk { text: String::new() });
        let result = |outcome: &str| Event::ToolResult {
            call: String::new(),
            outcome: outcome.to_owned(),
            text: String::new(),
            help: None,
        };
        metrics.observe(&result("denied"));
        metrics.observe(&result("a\"b\nc"));
        metrics.auth_failure("gateway:token");
        metrics.webhook("accepted");
        let gauges = Gauges {
            channels_running: 2,
            channels_backed_off: 1,
            channels_stopped: 0,
            open_approvals: 3,
            uptime_s: 61,
        };
        let page = metrics.render(&gauges);
        for line in [
            "# HELP chitin_turns_total Turns that ended, by how.",
            "# TYPE chitin_turns_total counter",
            "chitin_turns_total{end=\"done\"} 1",
            "chitin_turns_total{end=\"error\"} 0",
            "chitin_tool_calls_total{outcome=\"denied\"} 1",
            "chitin_tool_calls_total{outcome=\"other\"} 1",
            "chitin_auth_failures_total{rule=\"gateway:token\"} 1",
            "chitin_webhooks_total{result=\"accepted\"} 1",
            "# TYPE chitin_channels gauge",
            "chitin_channels{state=\"running\"} 2",
            "chitin_open_approvals 3",
            "chitin_uptime_seconds 61",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        let families = page.lines().filter(|line| line.starts_with("# TYPE ")).count();
        assert_eq!(families, 7);
        assert!(page.ends_with('\n'));
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let value = line.rsplit(' ').next().expect("a value");
            assert!(value.parse::<u64>().is_ok(), "{line}");
        }
    }
}
