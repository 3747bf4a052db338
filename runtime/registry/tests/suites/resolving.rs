//! Which tools may be used? What is damaged disables one tool; what is taken back is gone at the next call.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    sync::atomic::Ordering,
};

use chitin_ports::{ComponentSource as _, Toolbox as _};
use chitin_registry::{Catalog, GrantChoice, revoke_trust};
use chitin_types::{Digest, ToolOutcome};

use super::kit::{FS, Kit, component_bytes, flip, nothing, rule_of, tool};

type Damage = fn(&Path, &str);

async fn word(catalog: &Catalog, wire_name: &str) -> &'static str {
    match catalog.resolve(wire_name).await {
        Ok(Some(_)) => "found",
        Ok(None) => "none",
        Err(outcome) => outcome.word(),
    }
}

#[tokio::test]
async fn an_installed_tool_is_listed_and_found() {
    let kit = Kit::new().await;
    kit.installed("acme/weather").await;
    kit.installed("acme/clock").await;
    let catalog = kit.catalog();
    let specs = catalog.specs().await.expect("the list");
    let names: Vec<String> = specs.iter().map(|spec| spec.wire_name().expect("a valid name").to_string()).collect();
    assert_eq!(names, ["clock__get", "weather__get"]);
    let digest = Digest::of(&component_bytes("acme/weather", "1.0.0"));
    assert_eq!(catalog.verified(&digest), None, "a list verifies nothing");

    let found = catalog.resolve("weather__get").await.expect("the tool is trusted").expect("the tool is there");
    assert_eq!(Some(&found.spec), specs.last());
    assert_eq!(found.component, digest);
    assert_eq!(rule_of(&found), "call:get");
    assert_eq!(catalog.verified(&digest).as_deref(), Some(&component_bytes("acme/weather", "1.0.0")));
    for name in ["weather__put", "weather", "acme/weather", ""] {
        assert_eq!(word(&catalog, name).await, "none", "{name:?}");
    }
}

#[tokio::test]
async fn a_tool_is_read_once_and_runs_from_memory() {
    let kit = Kit::new().await;
    kit.installed("acme/weather").await;
    let catalog = kit.catalog();
    assert_eq!(word(&catalog, "weather__get").await, "found");
    let bytes = component_bytes("acme/weather", "1.0.0");
    let path = kit.home.store().join(Digest::of(&bytes).hex()).join("component.wasm");
    flip(&path, "weather");
    assert_eq!(word(&catalog, "weather__get").await, "found");
    assert_eq!(catalog.verified(&Digest::of(&bytes)).as_deref(), Some(&bytes), "what was verified is what runs");
    assert_eq!(word(&kit.catalog(), "weather__get").await, "untrusted", "another process reads the altered file");
}

#[tokio::test]
async fn damage_disables_one_tool_and_no_other() {
    let bytes = component_bytes("acme/weather", "1.0.0");
    let entry = format!("store/sha256/{}", Digest::of(&bytes).hex());
    let rows: [(&str, Damage); 9] = [
        ("a flipped component", |root, entry| flip(&root.join(entry).join("component.wasm"), "weather")),
        ("a flipped bundle", |root, entry| flip(&root.join(entry).join("bundle.json"), "payload")),
        ("a longer component", |root, entry| {
            let path = root.join(entry).join("component.wasm");
            let longer = [fs::read(&path).expect("a file"), vec![0]].concat();
            fs::write(path, longer).expect("the file is written");
        }),
        ("no component", |root, entry| fs::remove_file(root.join(entry).join("component.wasm")).expect("removed")),
        ("a linked component", |root, entry| {
            let path = root.join(entry).join("component.wasm");
            let outside = root.join("run/component.wasm");
            fs::rename(&path, &outside).expect("moved");
            symlink(outside, path).expect("a link");
        }),
        ("a linked directory", |root, entry| {
            fs::rename(root.join(entry), root.join("run/entry")).expect("moved");
            symlink(root.join("run/entry"), root.join(entry)).expect("a link");
        }),
        ("a world-writable component", |root, entry| {
            let path = root.join(entry).join("component.wasm");
            fs::set_permissions(path, fs::Permissions::from_mode(0o666)).expect("the mode is changed");
        }),
        ("a flipped lock block", |root, _| flip(&root.join("tools.lock"), "acme/weather")),
        ("a flipped lock header", |root, _| {
            // The block of acme/weather is the last one: clock, other, weather.
            let path = root.join("tools.lock");
            let text = fs::read_to_string(&path).expect("the lock");
            let at = text.rfind("[[tool]]").expect("a header");
            fs::write(path, format!("{}[[fool]]{}", &text[..at], &text[at + 8..])).expect("the file is written");
        }),
    ];
    for (what, damage) in rows {
        let kit = Kit::new().await;
        for name in ["acme/weather", "acme/clock", "acme/other"] {
            kit.installed(name).await;
        }
        assert_eq!(word(&kit.catalog(), "weather__get").await, "found", "{what}");
        damage(kit.home.root(), &entry);
        let catalog = kit.catalog();
        assert_eq!(word(&catalog, "weather__get").await, "untrusted", "{what}");
        assert_eq!(word(&catalog, "clock__get").await, "found", "{what}");
        assert_eq!(word(&catalog, "other__get").await, "found", "{what}");
    }
}

#[tokio::test]
async fn grants_are_read_at_every_call() {
    let kit = Kit::new().await;
    let weather = tool("acme/weather");
    let path = kit.signed("acme/weather", "1.0.0", FS);
    kit.install(&path, GrantChoice::Leave).await.expect("the tool is installed");
    let (catalog, grants) = (kit.catalog(), kit.grants());
    let rule = async || rule_of(&catalog.resolve("weather__get").await.expect("trusted").expect("there"));
    assert_eq!(rule().await, "grant:absent");
    grants.bind(&weather).await.expect("the user grants");
    assert_eq!(rule().await, "call:get");
    grants.revoke(&weather).await.expect("the user takes it back");
    assert_eq!(rule().await, "grant:absent");
    grants.give(&nothing(&weather)).await.expect("a grant for other bytes");
    assert_eq!(rule().await, "grant:pin");
}

#[tokio::test]
async fn a_broken_grant_denies_that_tool_with_its_place() {
    let kit = Kit::new().await;
    let weather = kit.installed("acme/weather").await;
    kit.installed("acme/clock").await;
    let catalog = kit.catalog();
    let path = kit.grant_path(&weather);
    let good = fs::read_to_string(&path).expect("a grant");
    for (from, to, place) in [
        ("schema = 1", "schema = 1\nroot = true", "policies/acme__weather.toml:2:1"),
        ("acme/weather", "acme/clock", "policies/acme__weather.toml:2:1"),
    ] {
        fs::write(&path, good.replace(from, to)).expect("the grant is written");
        match catalog.resolve("weather__get").await {
            Err(ToolOutcome::Denied(denial)) => {
                assert_eq!(denial.rule, "grant:file");
                assert!(denial.reason.starts_with(place), "{}", denial.reason);
                assert!(denial.help.is_some());
            }
            other => panic!("{to}: {other:?}"),
        }
        assert_eq!(word(&catalog, "clock__get").await, "found");
    }
    fs::write(&path, &good).expect("the grant is written");
    assert_eq!(word(&catalog, "weather__get").await, "found");
    let defaults = kit.home.policies().join("default.toml");
    for (text, expected) in [("schema = 1\n[limits]\nwall_ms = 10\n", "found"), ("schema = 1\n[[fs]]\n", "denied")] {
        fs::write(&defaults, text).expect("the defaults are written");
        assert_eq!(word(&kit.catalog(), "weather__get").await, expected, "{text}");
    }
}

#[tokio::test]
async fn a_file_that_breaks_keeps_what_it_said_until_it_is_repaired_or_removed() {
    let kit = Kit::new().await;
    let weather = kit.installed("acme/weather").await;
    let catalog = kit.catalog();
    let wall_ms = async || {
        let found = catalog.resolve("weather__get").await.expect("trusted").expect("there");
        assert_eq!(rule_of(&found), "call:get");
        found.grants.limits().wall_ms
    };
    let (defaults, trust) = (kit.home.policies().join("default.toml"), kit.home.trust().join("acme.toml"));
    fs::write(&defaults, "schema = 1\n[limits]\nwall_ms = 70\n").expect("the defaults are written");
    assert_eq!((wall_ms().await, catalog.problems()), (70, vec![]));
    for path in [kit.grant_path(&weather), defaults, trust] {
        let good = fs::read_to_string(&path).expect("a file");
        fs::write(&path, good.replace("schema = 1", "schema = 1\nroot = true")).expect("the file is written");
        assert_eq!(wall_ms().await, 70, "{}", path.display());
        let problems = catalog.problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(":2:1: ") && problems[0].contains("stays in force"), "{problems:?}");
        let fresh = kit.catalog();
        assert_ne!(word(&fresh, "weather__get").await, "found", "a new process never knew it: {}", path.display());
        assert!(fresh.problems()[0].contains("gives nothing"), "{:?}", fresh.problems());
        fs::write(&path, good).expect("the file is written");
        assert_eq!((wall_ms().await, catalog.problems()), (70, vec![]));
    }
    let path = kit.grant_path(&weather);
    let good = fs::read_to_string(&path).expect("a grant");
    fs::remove_file(&path).expect("the grant is removed");
    let found = catalog.resolve("weather__get").await.expect("trusted").expect("there");
    assert_eq!(rule_of(&found), "grant:absent", "a removed file takes back what it gave");
    fs::write(&path, good.replace("schema = 1", "schema = 9")).expect("the grant is written");
    assert_eq!(word(&catalog, "weather__get").await, "denied", "nothing was left to keep");
}

#[tokio::test]
async fn trust_can_be_ended_while_another_trust_file_is_broken() {
    let kit = Kit::new().await;
    kit.installed("acme/weather").await;
    let catalog = kit.catalog();
    assert_eq!(word(&catalog, "weather__get").await, "found");
    fs::write(kit.home.trust().join("z.toml"), "schema = 1\n").expect("the file is written");
    assert_eq!(word(&catalog, "weather__get").await, "found");
    assert_eq!(catalog.problems().len(), 1);
    let again = fs::read_to_string(kit.home.trust().join("acme.toml")).expect("a trust file");
    fs::write(kit.home.trust().join("z.toml"), again.replace("acme/*", "*/*")).expect("the file is written");
    assert_eq!(word(&catalog, "weather__get").await, "found");
    fs::write(kit.home.trust().join("z.toml"), again.replace("acme/*", "evil/*")).expect("the file is written");
    assert_eq!(word(&catalog, "weather__get").await, "found", "the first file about a key holds");
    assert_eq!(catalog.problems().len(), 1, "{:?}", catalog.problems());
    fs::write(kit.home.trust().join("z.toml"), "schema = 1\n").expect("the file is written");
    fs::remove_file(kit.home.trust().join("acme.toml")).expect("the trust is ended");
    assert_eq!(word(&catalog, "weather__get").await, "untrusted");
}

#[tokio::test]
async fn limits_are_the_least_of_grant_and_defaults() {
    let kit = Kit::new().await;
    kit.installed("acme/weather").await;
    fs::write(kit.home.policies().join("default.toml"), "schema = 1\n[limits]\nwall_ms = 10\n").expect("written");
    let found = kit.catalog().resolve("weather__get").await.expect("trusted").expect("there");
    assert_eq!(found.grants.limits().wall_ms, 10);
}

#[tokio::test]
async fn a_key_that_is_not_trusted_any_more_stops_its_tools() {
    let kit = Kit::new().await;
    kit.installed("acme/weather").await;
    let catalog = kit.catalog();
    assert_eq!(word(&catalog, "weather__get").await, "found");
    let path = kit.home.trust().join("acme.toml");
    let good = fs::read_to_string(&path).expect("a trust file");
    for (what, from, to, expected) in [
        ("the same file", "", "", "found"),
        ("other names", "acme/*", "misc/*", "untrusted"),
        ("a time that is over", "schema = 1", "schema = 1\nnot_after_ms = 1000", "untrusted"),
        ("a file that is refused", "schema = 1", "schema = 2", "untrusted"),
    ] {
        fs::write(&path, good.replacen(from, to, 1)).expect("the trust file is written");
        assert_eq!(word(&catalog, "weather__get").await, expected, "{what}");
    }
    fs::write(&path, good.replace("schema = 1", "schema = 1\nnot_after_ms = 1800000000000")).expect("written");
    assert_eq!(word(&catalog, "weather__get").await, "found");
    kit.clock.0.store(1_900_000_000_000, Ordering::SeqCst);
    assert_eq!(word(&catalog, "weather__get").await, "untrusted", "time went by");
    kit.clock.0.store(1_700_000_000_000, Ordering::SeqCst);
    assert_eq!(word(&catalog, "weather__get").await, "found");
    revoke_trust(&kit.home, "acme", &*kit.audit).await.expect("the trust is revoked");
    assert_eq!(word(&catalog, "weather__get").await, "untrusted", "revoked while running");
    assert_eq!(catalog.specs().await.expect("the list").len(), 1, "the list reads the lock only");
}

#[tokio::test]
async fn the_ceiling_of_the_key_bounds_what_is_granted() {
    let kit = Kit::new().await;
    let path = kit.signed("acme/weather", "1.0.0", &FS.replace("\"ro\"", "\"rw\""));
    let mut grant = nothing(&tool("acme/weather"));
    grant.fs.push(chitin_policy::FsGrant {
        at: "/project".to_owned(),
        from: "workspace:project".to_owned(),
        mode: chitin_types::FsMode::Rw,
    });
    kit.install(&path, GrantChoice::Give(grant)).await.expect("the tool is installed");
    let found = kit.catalog().tool(&tool("acme/weather")).await.expect("the tool is trusted");
    let modes: Vec<&str> = found.grants.mounts().iter().map(|mount| mount.mode.word()).collect();
    assert_eq!(modes, ["ro"], "the key's ceiling is reading");
    assert_eq!(found.entry.version.to_string(), "1.0.0");
    assert_eq!(found.verified.signer().name(), "acme");
}
