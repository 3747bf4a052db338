//! What must be there before anything runs? The runtime, the guests, and first-party tools signed by a key of this clone.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::chores::{cargo, repository, run, target};

/// Builds and signs everything. Does nothing that is already done.
pub(crate) fn all() -> Result<(), String> {
    eprintln!("setup: the runtime (the first build takes minutes)");
    run(cargo().args(["build", "--locked", "--workspace", "--all-targets"]))?;
    guests()?;
    sign("debug")
}

/// Builds the guests for wasm32-wasip2.
pub(crate) fn guests() -> Result<(), String> {
    eprintln!("setup: the guests");
    let toolchain = repository().join("runtime/xtask/guest-toolchain");
    run(Command::new(&toolchain).arg("rust"))?;
    // The fallback toolchain is chosen by an environment that the script prints as shell code.
    let build = r#"eval "$("$0" env)" && exec cargo build --locked --profile guest --target wasm32-wasip2"#;
    let mut command = Command::new("bash");
    command.args(["-c", build]).arg(&toolchain).current_dir(repository().join("components"));
    for inherited in ["CARGO", "CARGO_TARGET_DIR", "RUSTUP_TOOLCHAIN", "RUSTC"] {
        command.env_remove(inherited);
    }
    command.env("CARGO_TARGET_DIR", repository().join("components/target"));
    run(&mut command)
}

/// Puts the first-party tools beside the binary, signed by a key that this clone made for itself.
///
/// A release signs with the project's key; a clone has none, and `onboard` trusts the key that lies beside the binary
/// only after showing its fingerprint.
pub(crate) fn sign(profile: &str) -> Result<(), String> {
    let bin = target().join(profile);
    let chitin = bin.join("chitin");
    let publisher = target().join("publisher");
    let shelf = bin.join("components");
    let io = |e: std::io::Error| format!("lay out {}: {e}", shelf.display());
    fs::create_dir_all(&shelf).map_err(io)?;
    if !publisher.join("keys/chitin.pem").is_file() {
        run(Command::new(&chitin).arg("--home").arg(&publisher).args(["-q", "key", "new", "chitin"]))?;
    }
    let export = shelf.join("publisher.toml");
    run(Command::new(&chitin)
        .arg("--home")
        .arg(&publisher)
        .args(["-q", "key", "export", "chitin", "--names", "chitin/*", "--out"])
        .arg(&export))?;
    for name in ["fs", "http", "memory", "time", "webhook"] {
        let built = artifact(&format!("chitin_{name}.wasm"));
        let placed = shelf.join(format!("chitin_{name}.wasm"));
        fs::copy(&built, &placed).map_err(|e| format!("copy {}: {e}", built.display()))?;
        let manifest = repository().join("components").join(name).join("component.toml");
        sign_one(&chitin, &publisher, &placed, &manifest)?;
    }
    for entry in fs::read_dir(repository().join("policies")).map_err(io)? {
        let from = entry.map_err(io)?.path();
        let name = from.file_name().unwrap_or_default();
        fs::copy(&from, shelf.join(name)).map_err(io)?;
    }
    Ok(())
}

fn sign_one(chitin: &Path, publisher: &Path, component: &Path, manifest: &Path) -> Result<(), String> {
    let mut command = Command::new(chitin);
    command.arg("--home").arg(publisher).args(["-q", "tool", "sign", "--key", "chitin"]);
    run(command.arg(component).arg("--manifest").arg(manifest))
}

fn artifact(file: &str) -> PathBuf {
    repository().join("components/target/wasm32-wasip2/guest").join(file)
}
