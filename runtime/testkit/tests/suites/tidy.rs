//! Is the layout what ARCHITECTURE says? Floors, the dependency graph, one name in one crate, file sizes, headers.
//!
//! Each check fails when it finds nothing to check, so that a moved folder does not make it pass for ever.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};
use chitin_testkit::guests::repository;

/// The floor of each crate. A crate may import from floors below its own only.
const FLOORS: [(&str, u8); 13] = [
    ("chitin-types", 0),
    ("chitin-policy", 1),
    ("chitin-package", 1),
    ("chitin-ports", 2),
    ("chitin-agent", 3),
    ("chitin-egress", 3),
    ("chitin-records", 4),
    ("chitin-provider", 4),
    ("chitin-gateway", 4),
    ("chitin-host", 4),
    ("chitin-jail", 4),
    ("chitin-registry", 4),
    ("chitin-cli", 5),
];
/// Beside the floors: never a dependency of one.
const BESIDE: [&str; 3] = ["chitin-testkit", "chitin-bench", "xtask"];
/// Libraries that exactly one crate of ours names.
const NAMED_ONCE: [(&str, &str); 8] = [
    ("rusqlite", "chitin-records"),
    ("reqwest", "chitin-egress"),
    ("rustls", "chitin-egress"),
    ("wasmtime", "chitin-host"),
    ("rustyline", "chitin-cli"),
    ("axum", "chitin-gateway"),
    ("landlock", "chitin-jail"),
    ("seccompiler", "chitin-jail"),
];
/// Lines of a file before its tests.
const FILE_LINES_MAX: usize = 400;
/// Entries of the top level, as DESIGN draws it; dotfiles aside.
const TOP: [&str; 9] =
    ["Cargo.lock", "Cargo.toml", "LICENSE", "README.md", "components", "guest-sdk", "policies", "runtime", "wit"];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(repository().join("Cargo.toml"))
        .other_options(["--locked".to_owned(), "--offline".to_owned()])
        .exec()
        .expect("cargo metadata answers")
}

/// Normal dependencies of each crate of ours, by name.
fn own_dependencies(metadata: &Metadata) -> BTreeMap<String, BTreeSet<String>> {
    let own = metadata.workspace_packages();
    own.iter()
        .map(|package| {
            let normal = package.dependencies.iter().filter(|d| d.kind == DependencyKind::Normal);
            (package.name.to_string(), normal.map(|d| d.name.clone()).collect())
        })
        .collect()
}

fn rust_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for top in ["runtime", "components", "guest-sdk"] {
        walk(&repository().join(top), &mut found);
    }
    assert!(found.len() > 80, "found nothing to check: {} files", found.len());
    found
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn imports_point_down() {
    let floors: BTreeMap<&str, u8> = FLOORS.into_iter().collect();
    let dependencies = own_dependencies(&metadata());
    let mut checked = 0;
    for (name, uses) in &dependencies {
        let Some(floor) = floors.get(name.as_str()) else {
            assert!(BESIDE.contains(&name.as_str()), "{name} stands on no floor; give it one in this test");
            continue;
        };
        for used in uses.iter().filter(|used| used.starts_with("chitin")) {
            if BESIDE.contains(&name.as_str()) {
                continue;
            }
            let below = floors.get(used.as_str()).copied().unwrap_or(u8::MAX);
            assert!(below < *floor, "{name} (floor {floor}) imports {used} (floor {below})");
            checked += 1;
        }
    }
    assert!(checked >= 25, "found nothing to check: {checked} imports");
}

#[test]
fn a_library_is_named_by_one_crate() {
    let dependencies = own_dependencies(&metadata());
    for (library, owner) in NAMED_ONCE {
        let named: Vec<&str> = dependencies
            .iter()
            .filter(|(name, uses)| uses.contains(library) && !BESIDE.contains(&name.as_str()))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(named, [owner], "{library}");
    }
}

#[test]
fn only_egress_leads_to_an_http_client() {
    let metadata = metadata();
    let resolve = metadata.resolve.as_ref().expect("a resolved graph");
    let name = |id: &cargo_metadata::PackageId| metadata[id].name.to_string();
    let mut leading: BTreeSet<String> = BTreeSet::new();
    let mut checked = 0;
    for node in &resolve.nodes {
        for dependency in &node.deps {
            let normal = dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
            if normal && name(&dependency.pkg) == "reqwest" {
                leading.insert(name(&node.id));
            }
            checked += 1;
        }
    }
    assert!(checked > 500, "found nothing to check: {checked} edges");
    assert_eq!(leading.into_iter().collect::<Vec<_>>(), ["chitin-egress"]);
}

#[test]
fn pure_crates_have_a_purity_file() {
    for name in ["types", "policy", "package", "ports", "agent"] {
        let path = repository().join("runtime").join(name).join(".clippy.toml");
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert!(text.contains("disallowed-methods") && text.contains("std::fs"), "{}", path.display());
    }
}

#[test]
fn files_are_short_and_say_what_they_answer() {
    for path in rust_files() {
        let text = fs::read_to_string(&path).expect("a source file");
        assert!(text.starts_with("//!"), "{} has no //! header", path.display());
        let in_tests = path.components().any(|c| c.as_os_str() == "tests")
            || path.file_name().is_some_and(|n| n.to_string_lossy().ends_with("_tests.rs"));
        let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
        assert!(in_tests || lines <= FILE_LINES_MAX, "{} has {lines} lines", path.display());
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        assert!(
            !["util", "utils", "helper", "helpers", "common", "misc", "core", "manager"].contains(&&*name),
            "{name}"
        );
    }
}

#[test]
fn each_crate_says_what_it_must_never_know() {
    let mut checked = 0;
    for (name, _) in FLOORS {
        let folder = repository().join("runtime").join(name.trim_start_matches("chitin-"));
        let root = ["src/lib.rs", "src/main.rs"].into_iter().map(|f| folder.join(f)).find(|f| f.is_file());
        let text = fs::read_to_string(root.expect("a crate root")).expect("a crate root");
        let header: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        assert!(header.iter().any(|line| line.starts_with("//! Never:")), "{name} has no Never: line");
        checked += 1;
    }
    assert_eq!(checked, FLOORS.len());
}

#[test]
fn the_top_level_is_as_drawn() {
    let listed: BTreeSet<String> = fs::read_dir(repository())
        .expect("the repository")
        .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.') && name != "target")
        .collect();
    assert_eq!(listed, TOP.into_iter().map(str::to_owned).collect());
}

#[test]
fn guests_and_runtime_share_nothing_but_wit() {
    let mut checked = 0;
    for folder in [
        "components/fs",
        "components/http",
        "components/memory",
        "components/time",
        "components/webhook",
        "guest-sdk/rust",
        "guest-sdk/rust/macros",
    ] {
        let text = fs::read_to_string(repository().join(folder).join("Cargo.toml")).expect("a guest's manifest");
        assert!(!text.contains("runtime/"), "{folder} reaches into runtime/");
        checked += 1;
    }
    for (name, _) in FLOORS {
        let folder = repository().join("runtime").join(name.trim_start_matches("chitin-"));
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a crate's manifest");
        assert!(!text.contains("guest-sdk") && !text.contains("components"), "{name} reaches into the guests");
        checked += 1;
    }
    assert!(checked > 10);
}

#[test]
fn components_lie_in_one_place_and_ask_for_what_they_need() {
    let mut checked = 0;
    for entry in fs::read_dir(repository().join("components")).expect("the components") {
        let folder = entry.expect("an entry").path();
        if !folder.join("Cargo.toml").is_file() {
            continue;
        }
        let text = fs::read_to_string(folder.join("component.toml")).expect("each component says what it asks for");
        let manifest = chitin_package::Manifest::parse("component.toml", &text).expect("a good manifest");
        let grant = repository().join("policies").join(format!("{}.toml", manifest.name.as_str().replace('/', "-")));
        let text = fs::read_to_string(&grant).expect("each component has its grant in policies/");
        let grant = chitin_policy::Grant::parse("grant", &text).expect("a good grant");
        assert_eq!(grant.tool, manifest.name);
        checked += 1;
    }
    assert_eq!(checked, 5);
    let defaults = fs::read_to_string(repository().join("policies/default.toml")).expect("the defaults");
    chitin_policy::Defaults::parse("default.toml", &defaults).expect("good defaults");
}
