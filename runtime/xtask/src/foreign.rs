//! How are guests in other languages than Rust built? Their own toolchains are put below `components/target`, and each makes
//! one component beside the Rust ones.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::chores::{repository, run, target};

/// componentize-py, from PyPI: CPython as a component.
const PYTHON: &str = "componentize-py==0.25.1";
/// componentize-qjs, from npm: QuickJS as a component.
const JAVASCRIPT: &str = "componentize-qjs@0.4.5";

/// Builds the examples in Python, JavaScript and C. Does nothing for one that is newer than its source.
pub(crate) fn build() -> Result<(), String> {
    let out = folder();
    fs::create_dir_all(&out).map_err(|e| format!("make {}: {e}", out.display()))?;
    let wit = world()?;
    let sdk = repository().join("guest-sdk");
    let python = sdk.join("python/words");
    if stale(&out.join("words.wasm"), &[python.join("app.py"), wit.join("tool.wit")]) {
        eprintln!("setup: a guest in Python");
        let program = python_toolchain()?;
        run(Command::new(program)
            .args(["-q", "-d"])
            .arg(&wit)
            .args(["-w", "tool", "componentize", "-p"])
            .arg(&python)
            .args(["app", "-o"])
            .arg(out.join("words.wasm")))?;
    }
    let js = sdk.join("js/slug/tool.js");
    if stale(&out.join("slug.wasm"), &[js.clone(), wit.join("tool.wit")]) {
        eprintln!("setup: a guest in JavaScript");
        let program = javascript_toolchain()?;
        run(Command::new(program)
            .arg("-w")
            .arg(&wit)
            .args(["-n", "tool", "--stub-wasi", "--sync", "-j"])
            .arg(&js)
            .arg("-o")
            .arg(out.join("slug.wasm")))?;
    }
    let c = sdk.join("c/stats");
    if stale(&out.join("stats.wasm"), &[c.join("stats.c"), c.join("wit/stats.wit")]) {
        eprintln!("setup: a guest in C");
        let module = out.join("stats.core.wasm");
        run(Command::new("clang")
            .args(["--target=wasm32", "-O2", "-nostdlib", "-Wl,--no-entry", "-o"])
            .arg(&module)
            .arg(c.join("stats.c")))?;
        let componentize = target().join("debug/chitin-componentize");
        run(Command::new(componentize).arg(&module).arg(c.join("wit")).arg("stats").arg(out.join("stats.wasm")))?;
    }
    Ok(())
}

/// Where the components lie.
fn folder() -> PathBuf {
    repository().join("components/target/foreign")
}

/// The world of a tool with its dependencies beside it, as toolchains want it.
fn world() -> Result<PathBuf, String> {
    let (from, to) = (repository().join("wit"), folder().join("wit"));
    let copy = |source: &str, place: &str| {
        let place = to.join(place);
        fs::create_dir_all(place.parent().unwrap_or(&to)).and_then(|()| {
            let text = fs::read(from.join(source))?;
            // An unchanged file keeps its time, so that nothing is built again for it.
            if fs::read(&place).is_ok_and(|old| old == text) { Ok(()) } else { fs::write(&place, text) }
        })
    };
    for (source, place) in [
        ("tool/tool.wit", "tool.wit"),
        ("types/types.wit", "deps/types/types.wit"),
        ("host/host.wit", "deps/host/host.wit"),
    ] {
        copy(source, place).map_err(|e| format!("lay out {source}: {e}"))?;
    }
    Ok(to)
}

fn python_toolchain() -> Result<PathBuf, String> {
    let venv = folder().join("python");
    let program = venv.join("bin/componentize-py");
    if !program.is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        run(Command::new(venv.join("bin/pip")).args(["install", "-q", "--disable-pip-version-check", PYTHON]))?;
    }
    Ok(program)
}

fn javascript_toolchain() -> Result<PathBuf, String> {
    let modules = folder().join("js");
    let program = modules.join("node_modules/.bin/componentize-qjs");
    if !program.is_file() {
        run(Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(&modules)
            .arg(JAVASCRIPT))?;
    }
    Ok(program)
}

fn stale(made: &Path, sources: &[PathBuf]) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
    let Ok(made) = time(made) else { return true };
    sources.iter().any(|source| time(source).map_or(true, |changed| changed > made))
}
