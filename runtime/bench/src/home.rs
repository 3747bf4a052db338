//! What home does a figure run on? A number of further tools goes in; a temporary home with the first-party tools and
//! that many more comes out, each signed, installed and granted by the commands that a user types.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use chitin_testkit::{
    chitin::{Chitin, Ran},
    guests,
};

/// A home after `onboard`, with further tools.
///
/// # Errors
/// A command failed.
///
/// # Panics
/// The binary or the guests were not built.
pub(crate) async fn with_tools(further: u32) -> Result<Chitin> {
    let chitin = Chitin::new();
    ran(&chitin, &["-y", "onboard"]).await?;
    if further > 0 {
        install_copies(&chitin, further).await?;
    }
    Ok(chitin)
}

/// Runs one command, which must succeed.
///
/// # Errors
/// It did not.
pub(crate) async fn ran(chitin: &Chitin, args: &[&str]) -> Result<Ran> {
    let ran = chitin.run(args).await;
    ensure!(ran.code == 0, "chitin {} ended with {}: {}", args.join(" "), ran.code, ran.err.trim());
    Ok(ran)
}

async fn install_copies(chitin: &Chitin, count: u32) -> Result<()> {
    let shelf = chitin.outside().join("copies");
    fs::create_dir(&shelf).context("make the directory of the copies")?;
    let key = shelf.join("key.toml");
    let key = text(&key)?;
    ran(chitin, &["key", "new", "bench"]).await?;
    ran(chitin, &["key", "export", "bench", "--names", "bench/*", "--out", key]).await?;
    ran(chitin, &["-y", "key", "trust", key]).await?;
    let component = guests::bytes("chitin_time.wasm");
    for number in 0..count {
        install_copy(chitin, &shelf, &component, &format!("t{number:02}")).await?;
    }
    Ok(())
}

async fn install_copy(chitin: &Chitin, shelf: &Path, component: &[u8], name: &str) -> Result<()> {
    let file = |suffix: &str| shelf.join(format!("{name}{suffix}"));
    let (wasm, manifest, grant) = (file(".wasm"), file(".component.toml"), file(".grant.toml"));
    fs::write(&wasm, marked(component, name)?)?;
    fs::write(
        &manifest,
        format!(
            "schema = 1\nname = \"bench/{name}\"\nversion = \"0.1.0\"\nsummary = \"A copy, to be one tool more.\"\n\
             world = \"chitin:tool/tool@0.1.0\"\nartifact = \"{name}.wasm\"\n"
        ),
    )?;
    fs::write(&grant, format!("schema = 1\ntool = \"bench/{name}\"\n"))?;
    let (wasm, manifest, grant) = (text(&wasm)?, text(&manifest)?, text(&grant)?);
    ran(chitin, &["tool", "sign", wasm, "--manifest", manifest, "--key", "bench"]).await?;
    ran(chitin, &["-y", "tool", "install", wasm, "--grant", grant]).await?;
    Ok(())
}

/// The component with an empty custom section of this name at its end, so that each copy has bytes, a digest and
/// compiled code of its own.
fn marked(component: &[u8], name: &str) -> Result<Vec<u8>> {
    // Section id 0, then its size and the size of its name, both of which fit into one byte of LEB128 below 128.
    let name_bytes = u8::try_from(name.len()).context("the name of a section is too long")?;
    ensure!(name_bytes < 127, "the name of a section is too long");
    let mut bytes = component.to_vec();
    bytes.extend_from_slice(&[0, name_bytes + 1, name_bytes]);
    bytes.extend_from_slice(name.as_bytes());
    Ok(bytes)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the temporary directory's name is not UTF-8")
}
