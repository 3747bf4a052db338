//! What may a component keep, read and say? Key-value, settings, log, memory and files through a real guest, each with the
//! grant and without the one line that allows it.

use chitin_policy::{Grant, KvGrant, RecallGrant};
use chitin_testkit::hosting::Kit;
use chitin_types::{Part, ToolOutcome};
use serde_json::{Value, json};

const PROBE: &str = "chitin_probe.wasm";

fn value(outcome: &ToolOutcome) -> Value {
    match outcome {
        ToolOutcome::Done(parts) => match parts.as_slice() {
            [Part::Data(value)] => value.clone(),
            other => panic!("not one value: {other:?}"),
        },
        other => panic!("not done: {other:?}"),
    }
}

fn kv(kit: &Kit) -> Grant {
    Grant { kv: Some(KvGrant { quota_kib: 4 }), ..kit.grant() }
}

fn recall(kit: &Kit, read: &[&str], write: &[&str]) -> Grant {
    let names = |scopes: &[&str]| scopes.iter().map(|s| (*s).to_owned()).collect();
    Grant { recall: Some(RecallGrant { read: names(read), write: names(write) }), ..kit.grant() }
}

#[tokio::test]
async fn a_store_outlives_its_calls_in_both_versions() {
    let kit = Kit::new(PROBE);
    let grant = kv(&kit);
    for version in ["draft", "draft2"] {
        let with = |more: Value| {
            let mut args = json!({ "version": version, "bucket": version });
            args.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            args
        };
        let call = async |function: &str, more: Value| value(&kit.call(&grant, function, with(more)).await);
        assert_eq!(call("kv_set", json!({"key": "a", "value": "one"})).await["ok"], true, "{version}");
        assert_eq!(call("kv_get", json!({"key": "a"})).await["value"]["value"], "one", "{version}");
        assert_eq!(call("kv_increment", json!({"key": "n", "by": 2})).await["value"]["value"], 2, "{version}");
        assert_eq!(call("kv_increment", json!({"key": "n", "by": 3})).await["value"]["value"], 5, "{version}");
        let listed = call("kv_list", json!({})).await;
        assert_eq!(listed["value"]["keys"], json!(["a", "n"]), "{version}: {listed}");
        let deleted = call("kv_delete", json!({"key": "a"})).await;
        assert_eq!(
            (&deleted["value"]["before"], &deleted["value"]["after"]),
            (&json!(true), &json!(false)),
            "{deleted}"
        );
        assert_eq!(call("kv_get", json!({"key": "a"})).await["value"]["value"], Value::Null, "{version}");
    }
    // The other bucket's key is still there: buckets do not share.
    let other = kit.call(&grant, "kv_get", json!({"bucket": "draft", "key": "n"})).await;
    assert_eq!(value(&other)["value"]["value"], "5");
}

#[tokio::test]
async fn a_store_needs_its_line_and_ends_at_its_quota() {
    let kit = Kit::new(PROBE);
    let denied = kit.call(&kit.grant(), "kv_set", json!({"key": "a", "value": "one"})).await;
    assert!(kit.audit.entries().iter().any(|e| e.rule.as_deref() == Some("grant:kv")), "{denied:?}");
    let full = value(&kit.call(&kv(&kit), "kv_fill", json!({"key": "big", "kib": 5})).await);
    assert_eq!((&full["ok"], &full["error"]["kind"]), (&json!(false), &json!("other")), "{full}");
    assert_eq!(value(&kit.call(&kv(&kit), "kv_get", json!({"key": "big"})).await)["value"]["value"], Value::Null);
    assert_eq!(value(&kit.call(&kv(&kit), "kv_fill", json!({"key": "big", "kib": 3})).await)["ok"], true);
}

#[tokio::test]
async fn compare_and_swap_notices_a_change_meanwhile() {
    let kit = Kit::new(PROBE);
    let grant = kv(&kit);
    let plain = value(&kit.call(&grant, "kv_cas", json!({"key": "c", "value": "new"})).await);
    assert_eq!((&plain["value"]["swapped"], &plain["value"]["now"]), (&json!(true), &json!("new")), "{plain}");
    let raced = value(&kit.call(&grant, "kv_cas", json!({"key": "c", "value": "mine", "meanwhile": "theirs"})).await);
    assert_eq!(raced["value"]["swapped"], false, "{raced}");
}

#[tokio::test]
async fn settings_are_those_of_the_grant() {
    let kit = Kit::new(PROBE);
    let mut grant = kit.grant();
    assert_eq!(value(&kit.call(&grant, "config", json!({"key": "lang"})).await)["value"]["rc"], Value::Null);
    grant.config.insert("lang".to_owned(), "vi".to_owned());
    let read = value(&kit.call(&grant, "config", json!({"key": "lang"})).await);
    let read = &read["value"];
    assert_eq!((&read["rc"], &read["draft"]), (&json!("vi"), &json!("vi")), "{read}");
}

#[tokio::test]
async fn a_log_ends_at_the_limits_of_the_call() {
    let kit = Kit::new(PROBE);
    let said = kit.call(&kit.grant(), "log", json!({"message": "hello", "times": 3})).await;
    assert!(said.is_done(), "{said:?}");
    let flood = kit.call(&kit.grant(), "log", json!({"message": "x", "times": 100_000})).await;
    assert!(matches!(&flood, ToolOutcome::Limited(_)), "{flood:?}");
}

#[tokio::test]
async fn memory_is_read_and_written_by_scope() {
    let kit = Kit::new(PROBE);
    let both = recall(&kit, &["project"], &["project"]);
    let stored = kit.call(&both, "recall_remember", json!({"text": "the boat is called Nautilus"})).await;
    assert!(stored.is_done(), "{stored:?}");
    let found = value(&kit.call(&both, "recall_query", json!({"text": "what is the boat called"})).await);
    assert!(found.to_string().contains("Nautilus"), "{found}");
    // One word less in the grant, for each use.
    for (grant, function, args) in [
        (recall(&kit, &["project"], &[]), "recall_remember", json!({"text": "another"})),
        (recall(&kit, &[], &["project"]), "recall_query", json!({"text": "boat", "scope": "project"})),
        (recall(&kit, &["home"], &["home"]), "recall_query", json!({"text": "boat", "scope": "project"})),
    ] {
        let before = kit.audit.entries().len();
        let refused = value(&kit.call(&grant, function, args).await);
        assert_eq!((&refused["ok"], &refused["error"]["kind"]), (&json!(false), &json!("denied")), "{refused}");
        let rules: Vec<_> = kit.audit.entries()[before..].iter().filter_map(|e| e.rule.clone()).collect();
        assert!(rules.contains(&"grant:recall".to_owned()), "{function}: {rules:?}");
    }
}

#[tokio::test]
async fn a_file_comes_back_whole_and_counts_as_output() {
    let kit = Kit::new(PROBE);
    let args = |kib: u32| json!({"name": "../a/pic.png", "media_type": "image/png", "kib": kib, "piece_kib": 64});
    let made = kit.call(&kit.grant(), "write_blob", args(100)).await;
    let ToolOutcome::Done(parts) = &made else { panic!("not done: {made:?}") };
    let file = parts.iter().find_map(|part| match part {
        Part::File(file) => Some(file),
        Part::Text(_) | Part::Data(_) | Part::Other(..) => None,
    });
    let file = file.unwrap_or_else(|| panic!("no file: {parts:?}"));
    assert_eq!((file.name.as_deref(), file.media_type.as_deref()), (Some("pic.png"), Some("image/png")));
    assert_eq!(file.bytes.len(), 100 * 1024);
    let flood = kit.call(&kit.grant(), "write_blob", args(300)).await;
    assert!(matches!(&flood, ToolOutcome::Limited(limit) if limit.contains("output")), "{flood:?}");
}
