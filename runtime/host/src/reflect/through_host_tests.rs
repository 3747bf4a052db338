//! Does an ordinary component go the same way as every tool: described, permitted, bounded, and its end told apart?

use std::{collections::BTreeSet, sync::Arc};

use chitin_egress::Egress;
use chitin_policy::{Call, Defaults, Grant, Grants, Verdict, authorize};
use chitin_ports::{ComponentSource, Describe as _, DescribeError, Invocation, Invoke as _, PackKind};
use chitin_types::{
    CallId, Capabilities, Digest, Effects, Failure, FailureKind, FunctionName, Part, ToolName, ToolOutcome,
};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    CodeCache, Host, HostParts, Roots, Slots, Stores,
    capability::scene::{Heard, Notes, Shelf},
    compile::InProcess,
};

/// Arithmetic, an echo, a verdict, a result that JSON cannot say, a trap and a loop.
const CALLS: &str = r#"(component
  (core module $m
    (memory (export "memory") 1)
    (data (i32.const 64) "fineno")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
    (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add)
    (func (export "echo") (param i32 i32) (result i32)
      i32.const 16 local.get 0 i32.store
      i32.const 20 local.get 1 i32.store
      i32.const 16)
    (func (export "check") (param i64) (result i32)
      local.get 0 i64.eqz
      if
        i32.const 32 i32.const 0 i32.store8
        i32.const 36 i32.const 64 i32.store
        i32.const 40 i32.const 4 i32.store
      else
        i32.const 32 i32.const 1 i32.store8
        i32.const 36 i32.const 68 i32.store
        i32.const 40 i32.const 2 i32.store
      end
      i32.const 32)
    (func (export "inverse") (param f64) (result f64) f64.const 1 local.get 0 f64.div)
    (func (export "nothing"))
    (func (export "trap") unreachable)
    (func (export "spin") (loop $again br $again)))
  (core instance $i (instantiate $m))
  (alias core export $i "memory" (core memory $memory))
  (alias core export $i "realloc" (core func $realloc))
  (func $add (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add")))
  (instance $sums (export "add" (func $add)))
  (export "demo:math/sums@0.1.0" (instance $sums))
  (func (export "echo") (param "text" string) (result string)
    (canon lift (core func $i "echo") (memory $memory) (realloc $realloc)))
  (func (export "bytes") (param "all" (list u8)) (result (list u8))
    (canon lift (core func $i "echo") (memory $memory) (realloc $realloc)))
  (func (export "check") (param "n" s64) (result (result string (error string)))
    (canon lift (core func $i "check") (memory $memory)))
  (func (export "inverse") (param "x" f64) (result f64) (canon lift (core func $i "inverse")))
  (func (export "nothing") (canon lift (core func $i "nothing")))
  (func (export "trap") (canon lift (core func $i "trap")))
  (func (export "spin") (canon lift (core func $i "spin")))
)"#;

struct One(Arc<Vec<u8>>);

impl ComponentSource for One {
    fn verified(&self, component: &Digest) -> Option<Arc<Vec<u8>>> {
        (Digest::of(&self.0) == *component).then(|| Arc::clone(&self.0))
    }
}

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// A host around these bytes, and the directory of its compiled code.
fn host(bytes: &[u8]) -> (Host, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let host = Host::new(HostParts {
        slots: Slots::Command,
        cache: CodeCache::new(dir.path().join("compiled"), [7; 32]),
        compiler: Arc::new(InProcess),
        roots: Roots::default(),
        egress: Egress::default(),
        audit: Arc::<Heard>::default(),
        source: Arc::new(One(Arc::new(bytes.to_vec()))),
        stores: Stores { kv: Arc::<Shelf>::default(), recall: Arc::<Notes>::default() },
    });
    (host.expect("the host starts"), dir)
}

async fn call(host: &Host, component: Digest, function: &str, args: Value) -> ToolOutcome {
    let tool = ToolName::parse("test/typed").expect("a name");
    let mut grant = Grant::nothing(tool.clone(), component);
    grant.limits.cpu_ms = 200;
    let nothing = Capabilities::default;
    let grants = Arc::new(Grants::intersect(nothing(), grant, nothing(), &Defaults::default()));
    let function = FunctionName::parse(function).expect("a function name");
    let id = CallId::parse("typed").expect("an id");
    let about = Call { id, component, function: function.clone(), args: args.clone(), effects: Effects::default() };
    let Verdict::Allow(permit) = authorize(&grants, &about, &BTreeSet::new()) else { panic!("it is not allowed") };
    let (_keep, cancelled) = watch::channel(false);
    let call = Invocation { tool, component, function, args, session: None, cancelled, progress: None };
    host.invoke(permit, call).await
}

#[tokio::test]
async fn a_component_of_ordinary_functions_is_described_and_called() {
    let bytes = component(CALLS);
    let ((host, _dir), digest) = (host(&bytes), Digest::of(&bytes));
    let described = host.describe(&bytes).await.expect("it can be offered");
    assert_eq!(described.kind, PackKind::Typed);
    let names: Vec<&str> = described.functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["add", "echo", "bytes", "check", "inverse", "nothing", "trap", "spin"]);
    assert!(described.imports.is_empty() && described.left_out.is_empty());

    let said = |message: &str| {
        let message = message.to_owned();
        ToolOutcome::Failed(Failure { kind: FailureKind::Other, code: None, message, retry_after_ms: None })
    };
    for (function, args, expected) in [
        ("add", json!({ "a": 2, "b": 40 }), ToolOutcome::Done(vec![Part::Data(json!(42))])),
        ("echo", json!({ "text": "ab ☂" }), ToolOutcome::Done(vec![Part::Text("ab ☂".to_owned())])),
        ("bytes", json!({ "all": "AP8B" }), ToolOutcome::Done(vec![Part::Data(json!("AP8B"))])),
        ("check", json!({ "n": "0" }), ToolOutcome::Done(vec![Part::Text("fine".to_owned())])),
        ("check", json!({ "n": "-7" }), said("no")),
        ("inverse", json!({ "x": 4 }), ToolOutcome::Done(vec![Part::Data(json!(0.25))])),
        ("nothing", json!({}), ToolOutcome::Done(vec![Part::Text("done".to_owned())])),
    ] {
        assert_eq!(call(&host, digest, function, args.clone()).await, expected, "{function} {args}");
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_apart() {
    let bytes = component(CALLS);
    let ((host, _dir), digest) = (host(&bytes), Digest::of(&bytes));
    for (function, args, word) in [
        ("add", json!({ "a": 2, "b": -1 }), "invalid-input"),
        ("add", json!({ "a": 2 }), "invalid-input"),
        ("check", json!({ "n": 0 }), "invalid-input"),
        ("inverse", json!({ "x": 0 }), "failed"),
        ("echo", json!({ "text": "x".repeat(300 * 1024) }), "broke"),
        ("trap", json!({}), "broke"),
        ("spin", json!({}), "limited"),
        ("absent", json!({}), "broke"),
        ("nothing", json!({}), "done"),
    ] {
        let outcome = call(&host, digest, function, args).await;
        assert_eq!(outcome.word(), word, "{function}: {outcome:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_linked_is_not_taken_in() {
    let import = |name: &str| component(&format!("(component (import \"{name}\" (instance)))"));
    let known = import("chitin:types/types@0.1.0");
    assert!(host(&known).0.describe(&known).await.is_ok());
    let strange = component("(component (import \"thing\" (func)))");
    let error = host(&strange).0.describe(&strange).await.expect_err("nobody gives it what it imports");
    assert!(matches!(error, DescribeError::NotRunnable(_)), "{error}");
    let broken = b"\0asm\x0d\0\x01\0broken".to_vec();
    let error = host(&broken).0.describe(&broken).await.expect_err("no component");
    assert!(matches!(error, DescribeError::NotRunnable(_)), "{error}");
}
