//! What was decided, and is the record of it whole?

use chitin_records::AuditRecord;
use chitin_types::CallId;
use serde_json::{Value, json};

use crate::{
    args::Audit,
    error::{CliError, Exit},
    output::Output,
    wire::Wire,
};

pub(crate) async fn run(wire: &Wire, args: &Audit, output: &Output) -> Result<(), CliError> {
    let records = wire.records()?;
    match args {
        Audit::Tail { lines } => {
            show(output, &records.audit_tail(*lines).await?);
            Ok(())
        }
        Audit::Verify => {
            let report = records.verify_audit().await?;
            let text = format!("{} records verify; head {}", report.records, report.head);
            let value = json!({ "records": report.records, "head": report.head.to_string() });
            output.result("audit-report", value, &text);
            Ok(())
        }
        Audit::Why { call } => {
            let id = CallId::parse(call.as_str())?;
            let found = records.audit_of_call(&id).await?;
            if found.is_empty() {
                let message = format!("nothing is recorded about call {call}");
                return Err(CliError::new(Exit::NotFound, message).help("chitin audit tail"));
            }
            show(output, &found);
            Ok(())
        }
    }
}

fn show(output: &Output, records: &[AuditRecord]) {
    let lines: Vec<String> = records.iter().map(line).collect();
    output.list("audit", "records", records.iter().map(value).collect(), &lines.join("\n"));
}

fn value(record: &AuditRecord) -> Value {
    let mut value = json!({ "seq": record.seq, "at_ms": record.at_ms });
    if let (Some(fields), Ok(Value::Object(entry))) = (value.as_object_mut(), serde_json::to_value(&record.entry)) {
        fields.extend(entry);
    }
    value
}

fn line(record: &AuditRecord) -> String {
    let entry = &record.entry;
    let kind = serde_json::to_value(entry.kind).unwrap_or_default();
    let mut line =
        format!("{:>5} {:<9} {:<9} {}", record.seq, kind.as_str().unwrap_or(""), entry.verdict, entry.subject);
    for part in [entry.rule.as_ref().map(|r| format!(" by {r}")), entry.call.as_ref().map(|c| format!(" call {c}"))] {
        line.push_str(&part.unwrap_or_default());
    }
    if !entry.detail.is_null() {
        line.push_str(&format!(" {}", entry.detail));
    }
    line
}
