//! Does the child compile what the parent can load, and does each of its ends mean what it should?

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use chitin_ports::SpawnError;
use chitin_types::Digest;

use super::*;
use crate::{CodeCache, HostError, Slots, engine_with};

fn component() -> Vec<u8> {
    wat::parse_str(
        r#"(component
            (core module $m (func (export "three") (result i32) i32.const 3))
            (core instance $i (instantiate $m))
            (func (export "three") (result u32) (canon lift (core func $i "three"))))"#,
    )
    .expect("the text is a component")
}

fn child(input: &[u8]) -> (u8, Vec<u8>, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = compiled(input, &mut out, &mut err);
    (code, out, String::from_utf8_lossy(&err).into_owned())
}

/// Compiles as the child does and counts.
#[derive(Default)]
struct Counting(AtomicUsize);

#[async_trait]
impl Compile for Counting {
    async fn compile(&self, component: &[u8]) -> Result<Vec<u8>, CompileError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        // Lets the other call come along while this one compiles.
        tokio::task::yield_now().await;
        let (code, out, err) = child(component);
        if code == 0 { Ok(out) } else { Err(CompileError::Refused(err)) }
    }
}

#[test]
fn both_engines_agree_on_machine_code() {
    let hash = |engine: &wasmtime::Engine| {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.finish()
    };
    let child = compiling_engine().expect("the engine starts");
    assert_eq!(hash(&child), hash(engine_with(Slots::Command).expect("the engine starts")));
}

#[tokio::test]
async fn what_the_child_compiles_is_loaded_by_the_pooled_engine_and_compiled_once() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let cache = CodeCache::new(dir.path().join("compiled"), [7; 32]);
    let engine = engine_with(Slots::Command).expect("the engine starts");
    let bytes = component();
    let digest = Digest::of(&bytes);
    let compiler = Counting::default();
    let load = async || cache.load(engine, &digest, &compiler, || Some(Arc::new(bytes.clone()))).await;
    let (one, two) = tokio::join!(load(), load());
    one.and(two).expect("the code is loaded");
    assert_eq!(compiler.0.load(Ordering::SeqCst), 1);
    assert!(cache.holds(engine, &digest));
    let none = cache.load(engine, &digest, &compiler, || None).await;
    assert!(none.is_ok(), "a good file needs no bytes");
    let absent = cache.load(engine, &Digest::of(b"other"), &compiler, || None).await;
    assert!(matches!(absent, Err(HostError::NotRunnable(_))), "no file and no bytes");
}

#[test]
fn the_child_refuses_what_is_no_component() {
    assert_eq!(child(&component()).0, 0);
    for (what, bytes) in [
        ("nothing", vec![]),
        ("a core module", wat::parse_str("(module)").expect("a module")),
        ("a component cut short", component().split_at(40).0.to_vec()),
    ] {
        let (code, out, err) = child(&bytes);
        assert_eq!((code, out.len()), (REFUSED_CODE, 0), "{what}: {err}");
        assert!(!err.trim().is_empty(), "{what}");
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    assert_eq!(compiled(std::io::repeat(0), &mut out, &mut err), REFUSED_CODE, "an input without an end");
}

#[test]
fn each_end_of_the_child_has_its_meaning() {
    let good = || Ended {
        code: Some(0),
        signal: None,
        stopped: None,
        out: b"code".to_vec(),
        err: vec![],
        dropped_bytes: 0,
        backend: "test",
        notices: vec![],
    };
    assert_eq!(code_of(good()), Ok(b"code".to_vec()));
    let ended = |code: i32, err: &str| Ended { code: Some(code), err: err.as_bytes().to_vec(), ..good() };
    let by = |signal: i32| Ended { code: None, signal: Some(signal), ..good() };
    for (end, refused, says) in [
        (Ended { stopped: Some(Stopped::Wall), ..good() }, true, "longer than 120 s"),
        (Ended { stopped: Some(Stopped::Cancelled), ..good() }, false, "asked to stop"),
        (Ended { dropped_bytes: 1, ..good() }, true, "256 MiB"),
        (Ended { out: vec![], ..good() }, false, "nothing"),
        (ended(65, "unknown import\u{1b}[2J\n"), true, "unknown import [2J"),
        (ended(70, "read the component"), false, "read the component"),
        (ended(134, "memory allocation of 4096 bytes failed"), true, "4096 MiB"),
        (ended(152, ""), true, "processor time"),
        (by(SIGXCPU), true, "processor time"),
        (by(SIGKILL), true, "4096 MiB"),
        (by(11), false, "signal 11"),
        (ended(1, "no such program"), false, "no such program"),
    ] {
        let error = code_of(end.clone()).expect_err(says);
        assert_eq!(matches!(error, CompileError::Refused(_)), refused, "{end:?}: {error}");
        assert!(error.to_string().contains(says), "{end:?}: {error}");
    }
}

/// Keeps the order and ends as if the child had compiled.
#[derive(Default)]
struct Keeping(Mutex<Option<Order>>);

#[async_trait]
impl Spawn for Keeping {
    async fn spawn(&self, order: Order) -> Result<Ended, SpawnError> {
        *self.0.lock().expect("nobody else panicked") = Some(order);
        let ended = Ended {
            code: Some(0),
            signal: None,
            stopped: None,
            out: b"code".to_vec(),
            err: vec![],
            dropped_bytes: 0,
            backend: "test",
            notices: vec![],
        };
        Ok(ended)
    }
}

#[tokio::test]
async fn the_child_gets_the_bytes_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let program = dir.path().canonicalize().expect("a real path").join("chitin");
    let spawn = Arc::new(Keeping::default());
    let jailed = Jailed::new(Arc::clone(&spawn) as Arc<dyn Spawn>, &program);
    let error = jailed.compile(b"bytes").await.expect_err("there is no such program");
    assert!(matches!(error, CompileError::Port(_)), "{error}");
    std::fs::write(&program, b"").expect("the file is written");
    assert_eq!(jailed.compile(b"bytes").await, Ok(b"code".to_vec()));
    let order = spawn.0.lock().expect("nobody else panicked").take().expect("an order was given");
    assert_eq!(order.argv, [program.to_str().expect("UTF-8"), COMPILE_ARG]);
    assert_eq!(order.stdin, b"bytes");
    assert_eq!(order.mounts, [SpawnMount { from: program.clone(), at: program, writable: false }]);
    assert!(order.wall_ms > 0 && order.cpu_s > 0 && order.memory_mib > 0 && order.output_kib > 0);
}
