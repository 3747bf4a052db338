//! Are the interfaces well-formed, and do they say what VERSIONING promises?

use chitin_testkit::guests::repository;
use wit_parser::{Resolve, WorldItem};

fn resolved() -> (Resolve, Vec<wit_parser::PackageId>) {
    let mut resolve = Resolve::default();
    let wit = repository().join("wit");
    let packages = ["types", "host", "tool", "channel"]
        .into_iter()
        .map(|name| resolve.push_path(wit.join(name)).unwrap_or_else(|e| panic!("{name}: {e:#}")).0)
        .collect();
    (resolve, packages)
}

#[test]
fn our_packages_parse_in_their_order_of_dependence() {
    let (resolve, packages) = resolved();
    let names: Vec<String> = packages.iter().map(|id| resolve.packages[*id].name.to_string()).collect();
    let expected = ["chitin:types@0.1.0", "chitin:host@0.1.0", "chitin:tool@0.1.0", "chitin:channel@0.1.0"];
    assert_eq!(names, expected);
}

#[test]
fn the_default_world_imports_the_shared_types_and_nothing_else() {
    let (resolve, packages) = resolved();
    let tool = &resolve.packages[packages[2]];
    let world = &resolve.worlds[tool.worlds["tool"]];
    let imports: Vec<String> = world
        .imports
        .values()
        .filter_map(|item| match item {
            WorldItem::Interface { id, .. } => resolve.id_of(*id),
            _ => None,
        })
        .collect();
    assert_eq!(imports, ["chitin:types/types@0.1.0"]);
}

#[test]
fn nothing_of_ours_depends_on_wasi_io() {
    let mut checked = 0;
    for name in ["types", "host", "tool", "channel"] {
        for entry in std::fs::read_dir(repository().join("wit").join(name)).expect("a package") {
            let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a WIT file");
            assert!(!text.contains("use wasi:io") && !text.contains("import wasi:io"), "{name}");
            checked += 1;
        }
    }
    assert!(checked >= 4);
}

#[test]
fn vendored_wasi_is_the_pinned_version_and_parses() {
    let mut checked = 0;
    for entry in std::fs::read_dir(repository().join("wit/deps")).expect("the vendored packages") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a WIT file");
        let declared = text.lines().find(|line| line.starts_with("package wasi:")).expect("a package line").to_owned();
        // Proposals that are no standard yet carry the version that they link by in their file's name.
        let pinned = path.file_stem().is_some_and(|stem| !stem.to_string_lossy().contains('-'));
        assert!(!pinned || declared.contains("@0.2.12"), "{}: {declared}", path.display());
        wit_parser::UnresolvedPackageGroup::parse(&path, &text)
            .unwrap_or_else(|e| panic!("{}: {:?}", path.display(), e.1));
        checked += 1;
    }
    assert_eq!(checked, 13, "cli clocks filesystem http io random sockets; keyvalue, config and logging twice each");
}
