//! What does a call cost with us? Decided by the policy, written to a real audit in SQLite before and after without
//! waiting for it, and run by the host inside its limits: what the agent does with each call of a model.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::{Result, anyhow, bail, ensure};
use chitin_egress::Egress;
use chitin_host::{Host, HostParts, Roots, Stores, compile::InProcess};
use chitin_policy::{Authorized, Call, Defaults, Grant, Grants, Verdict, authorize};
use chitin_ports::{Audit, AuditEntry, AuditKind, Ids, Invocation, Invoke};
use chitin_records::Records;
use chitin_testkit::hosting::{OneComponent, everything};
use chitin_types::{CallId, Digest, Effects, FunctionName, Limits, ToolName, ToolOutcome};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    ground::{NumberedIds, SystemClock},
    guest::{Guest, KEY},
};

/// One function of one component, called through policy, audit and host.
pub(crate) struct Ours {
    host: Host,
    records: Records,
    grants: Arc<Grants>,
    component: Digest,
    function: FunctionName,
    ids: NumberedIds,
    approved: BTreeSet<String>,
    cancelled: watch::Receiver<bool>,
    _nobody_stops: watch::Sender<bool>,
}

impl Ours {
    /// A host, records and a grant for this component.
    ///
    /// # Errors
    /// The host does not start, or the records cannot be opened.
    pub(crate) fn new(guest: &Guest, function: &str) -> Result<Self> {
        let records = Records::open(&guest.database(), KEY, Arc::new(SystemClock))
            .map_err(|error| anyhow!("failed to {error}"))?;
        let host = Host::new(HostParts {
            slots: chitin_host::Slots::Server,
            cache: guest.code(),
            roots: Roots::default(),
            compiler: Arc::new(InProcess),
            stores: Stores { kv: Arc::new(records.clone()), recall: Arc::new(records.clone()) },
            egress: Egress::default(),
            audit: Arc::new(records.clone()),
            source: Arc::new(OneComponent(Arc::clone(guest.bytes()))),
        })?;
        let grant = Grant { limits: LIMITS, ..Grant::nothing(ToolName::parse("bench/guest")?, guest.digest()) };
        let defaults = Defaults { schema: 1, limits: LIMITS };
        let (nobody_stops, cancelled) = watch::channel(false);
        Ok(Self {
            host,
            records,
            grants: Arc::new(Grants::intersect(everything(), grant, everything(), &defaults)),
            component: guest.digest(),
            function: FunctionName::parse(function)?,
            ids: NumberedIds::default(),
            approved: BTreeSet::new(),
            cancelled,
            _nobody_stops: nobody_stops,
        })
    }

    /// Calls the function once with these arguments, a JSON object.
    ///
    /// # Errors
    /// It was not allowed, or it did not end with a result.
    pub(crate) async fn call(&self, args: &Value) -> Result<()> {
        let call = Call {
            id: self.ids.call(),
            component: self.component,
            function: self.function.clone(),
            args: args.clone(),
            effects: Effects::default(),
        };
        let permit = match authorize(&self.grants, &call, &self.approved) {
            Verdict::Allow(permit) => permit,
            refused @ (Verdict::Ask(_) | Verdict::Deny(_)) => bail!("the call is not allowed: {refused:?}"),
        };
        Audit::append(&self.records, self.decision(&call, &permit)).later();
        let Call { id, component, function, args, .. } = call;
        let invocation = Invocation {
            tool: self.grants.tool().clone(),
            component,
            function,
            args,
            session: None,
            cancelled: self.cancelled.clone(),
            progress: None,
        };
        let outcome = self.host.invoke(permit, invocation).await;
        Audit::append(&self.records, self.outcome(&id, &outcome)).later();
        ensure!(outcome.is_done(), "the call ended otherwise: {outcome:?}");
        Ok(())
    }

    /// Waits until every record so far is on disk.
    ///
    /// # Errors
    /// The records have stopped.
    pub(crate) async fn flush(&self) -> Result<()> {
        self.records.flush().await.map_err(|error| anyhow!("failed to {error}"))
    }

    // The two entries have the shape that the agent gives them, so that they cost the same.
    fn decision(&self, call: &Call, permit: &Authorized) -> AuditEntry {
        AuditEntry::new(AuditKind::Decision, self.grants.tool().as_str(), "allow")
            .rule(permit.rule())
            .call(&call.id)
            .detail(json!({
                "function": call.function.as_str(),
                "component": call.component.to_string(),
                "digest": call.digest().to_string(),
            }))
    }

    fn outcome(&self, id: &CallId, outcome: &ToolOutcome) -> AuditEntry {
        let text = outcome.text_for_model();
        AuditEntry::new(AuditKind::Outcome, self.grants.tool().as_str(), outcome.word()).call(id).detail(json!({
            "name": self.function.as_str(),
            "result": Digest::of(text.as_bytes()).to_string(),
            "result_bytes": text.len(),
        }))
    }
}

/// The usual limits, but as many calls at once as a figure makes and more host calls than it can use up.
const LIMITS: Limits =
    Limits { wall_ms: 30_000, cpu_ms: 5_000, memory_mib: 64, output_kib: 256, host_calls: 1_000_000, parallel: 64 };
