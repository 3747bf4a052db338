//! How does a core module become a component? A module, a folder of WIT and a world go in, a component comes out: what
//! `wasm-tools component embed` and `new` do, from the same library, without building a command-line program for it.

use std::{env, fs, path::Path, process::ExitCode};

use anyhow::{Context, Result};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let [module, wit, world, out] = args.as_slice() else {
        eprintln!("usage: chitin-componentize MODULE WIT WORLD OUT");
        return ExitCode::from(2);
    };
    match componentize(Path::new(module), Path::new(wit), world, Path::new(out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn componentize(module: &Path, wit: &Path, world: &str, out: &Path) -> Result<()> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit).with_context(|| format!("read {}", wit.display()))?;
    let world = resolve.select_world(&[package], Some(world))?;
    let mut bytes = fs::read(module).with_context(|| format!("read {}", module.display()))?;
    embed_component_metadata(&mut bytes, &resolve, world, StringEncoding::UTF8)?;
    let component = ComponentEncoder::default().module(&bytes)?.validate(true).encode()?;
    fs::write(out, component).with_context(|| format!("write {}", out.display()))
}
