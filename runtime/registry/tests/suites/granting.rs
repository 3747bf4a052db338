//! How does a grant file change? By a person, one rule at a time, recorded first, with every comment kept.

use std::{fs, sync::atomic::Ordering};

use chitin_policy::{FsGrant, HttpGrant, Inject};
use chitin_registry::RegistryError;
use chitin_types::{Digest, FsMode, HostPattern, PathPattern, RecallMode, Scheme, ToolName};

use super::kit::{Kit, tool};

fn http(id: &str) -> HttpGrant {
    HttpGrant {
        id: id.to_owned(),
        host: HostPattern::parse("a.test").expect("a valid host"),
        scheme: vec![Scheme::Https],
        ports: vec![],
        methods: vec!["GET".to_owned()],
        paths: vec![PathPattern::parse("/**").expect("a valid path")],
        secret: None,
        inject: None,
    }
}

fn directory(from: &str) -> FsGrant {
    FsGrant { at: "/project".to_owned(), from: from.to_owned(), mode: FsMode::Ro }
}

fn comment(kit: &Kit, tool: &ToolName) {
    let path = kit.grant_path(tool);
    let text = fs::read_to_string(&path).expect("a grant");
    fs::write(&path, format!("# why I trust it\n{text}# the end\n")).expect("the grant is written");
}

#[tokio::test]
async fn rules_come_and_go_and_comments_stay() {
    let kit = Kit::new().await;
    let weather = kit.installed("acme/weather").await;
    comment(&kit, &weather);
    kit.audit.clear();
    let grants = kit.grants();
    grants.add_fs(&weather, &directory("workspace:project")).await.expect("a directory is given");
    grants.add_http(&weather, &http("read")).await.expect("a host is given");
    let grant = grants.load(&weather).expect("the file is good").expect("the file is there");
    assert_eq!((grant.fs, grant.http), (vec![directory("workspace:project")], vec![http("read")]));
    grants.revoke_rule(&weather, "http:read").await.expect("the host is taken back");
    let grant = grants.load(&weather).expect("the file is good").expect("the file is there");
    assert_eq!((grant.fs.len(), grant.http.len()), (1, 0));
    let text = fs::read_to_string(kit.grant_path(&weather)).expect("a grant");
    assert!(text.contains("# why I trust it") && text.contains("# the end"), "{text}");
    assert_eq!(
        kit.audit.lines(),
        [
            "grant acme/weather granted fs:/project",
            "grant acme/weather granted http:read",
            "grant acme/weather revoked http:read",
        ]
    );
    grants.revoke(&weather).await.expect("everything is taken back");
    assert_eq!(grants.load(&weather).expect("no file is no error"), None);
}

#[tokio::test]
async fn stores_settings_and_secrets_are_given_and_taken_back() {
    let kit = Kit::new().await;
    let weather = kit.installed("acme/weather").await;
    comment(&kit, &weather);
    let grants = kit.grants();
    let bearer = Inject { header: "authorization".to_owned(), format: "Bearer {}".to_owned() };
    grants.add_http(&weather, &http("read")).await.expect("a host is given");
    kit.audit.clear();
    grants.set_kv(&weather, 512).await.expect("a store is given");
    grants.add_recall(&weather, "project", RecallMode::Write).await.expect("a scope is given");
    grants.set_config(&weather, "units", "metric").await.expect("a setting is given");
    grants.set_secret(&weather, "read", "github", &bearer).await.expect("a secret is given");
    let grant = grants.load(&weather).expect("the file is good").expect("the file is there");
    assert_eq!(grant.kv.as_ref().map(|kv| kv.quota_kib), Some(512));
    assert_eq!(grant.recall.as_ref().map(|recall| recall.write.clone()), Some(vec!["project".to_owned()]));
    assert_eq!(grant.config.get("units").map(String::as_str), Some("metric"));
    assert_eq!((grant.http[0].secret.as_deref(), grant.http[0].inject.as_ref()), (Some("github"), Some(&bearer)));
    for rule in ["kv", "recall:project", "config:units"] {
        grants.revoke_rule(&weather, rule).await.expect(rule);
        let error = grants.revoke_rule(&weather, rule).await.expect_err(rule);
        assert!(matches!(error, RegistryError::NotFound(_)), "{rule}: {error}");
    }
    let text = fs::read_to_string(kit.grant_path(&weather)).expect("a grant");
    assert!(text.contains("# why I trust it") && text.contains("# the end"), "{text}");
    assert_eq!(
        kit.audit.lines(),
        [
            "grant acme/weather granted kv",
            "grant acme/weather granted recall:project",
            "grant acme/weather granted config:units",
            "grant acme/weather granted http:read",
            "grant acme/weather revoked kv",
            "grant acme/weather revoked recall:project",
            "grant acme/weather revoked config:units",
        ]
    );
    let before = kit.files();
    for (what, result) in [
        ("a store without an end", grants.set_kv(&weather, u64::MAX).await),
        ("a scope that is a path", grants.add_recall(&weather, "../all", RecallMode::Read).await),
        ("a secret for no rule", grants.set_secret(&weather, "absent", "github", &bearer).await),
        ("a secret of a wrong name", grants.set_secret(&weather, "read", "../github", &bearer).await),
    ] {
        let error = result.expect_err(what);
        assert!(matches!(error, RegistryError::Document { .. } | RegistryError::NotFound(_)), "{what}: {error}");
        assert_eq!(kit.files(), before, "{what}");
    }
}

#[tokio::test]
async fn a_tool_of_the_program_is_bound_by_its_identity() {
    let kit = Kit::new().await;
    let (shell, one, two) = (tool("core/shell"), Digest::of(b"one"), Digest::of(b"two"));
    let grants = kit.grants();
    let pin = || grants.load(&shell).expect("good").and_then(|grant| grant.pin).map(|pin| pin.component);
    grants.add_fs(&shell, &directory("workspace:project")).await.expect_err("it is bound to nothing yet");
    grants.bind_to(&shell, one).await.expect("it is bound");
    assert_eq!(pin(), Some(one));
    grants.add_fs(&shell, &directory("workspace:project")).await.expect("a directory is given");
    grants.bind_to(&shell, two).await.expect("it is bound again");
    assert_eq!(pin(), Some(two));
    assert_eq!(grants.load(&shell).expect("good").expect("there").fs.len(), 1, "what was given stays");
}

#[tokio::test]
async fn a_change_that_is_refused_or_not_recorded_changes_nothing() {
    let kit = Kit::new().await;
    let weather = kit.installed("acme/weather").await;
    let grants = kit.grants();
    grants.add_http(&weather, &http("read")).await.expect("the twin is accepted");
    kit.audit.clear();
    let before = kit.files();
    let absent = tool("acme/absent");
    let wide = HttpGrant { host: HostPattern::Any, ..http("wide") };
    for (what, result) in [
        ("a rule of a name that is taken", grants.add_http(&weather, &http("read")).await),
        ("a rule for every host", grants.add_http(&weather, &wide).await),
        ("a path of the host", grants.add_fs(&weather, &directory("/etc")).await),
        ("a rule that is not there", grants.revoke_rule(&weather, "http:absent").await),
        ("a tool that is not installed", grants.add_http(&absent, &http("read")).await),
        ("a binding of a tool that is not installed", grants.bind(&absent).await),
        ("a grant that is not there", grants.revoke(&absent).await),
    ] {
        let error = result.expect_err(what);
        assert!(matches!(error, RegistryError::Document { .. } | RegistryError::NotFound(_)), "{what}: {error}");
        assert_eq!(kit.files(), before, "{what}");
    }
    assert!(kit.audit.lines().is_empty());
    kit.audit.broken.store(true, Ordering::SeqCst);
    for result in [grants.add_http(&weather, &http("more")).await, grants.revoke(&weather).await] {
        assert!(matches!(result, Err(RegistryError::Port(_))), "{result:?}");
        assert_eq!(kit.files(), before);
    }
}

#[tokio::test]
async fn a_template_is_bound_by_the_first_rule_that_is_given() {
    let kit = Kit::new().await;
    let weather = kit.installed("acme/weather").await;
    fs::write(kit.grant_path(&weather), "# a template\nschema = 1\ntool = \"acme/weather\"\n").expect("written");
    let grants = kit.grants();
    let pin = || grants.load(&weather).expect("good").expect("there").pin.map(|pin| pin.component);
    assert_eq!(pin(), None);
    grants.add_http(&weather, &http("read")).await.expect("a host is given");
    let component = kit.catalog().tools().expect("the lock").find(&weather).map(|entry| entry.component);
    assert!(component.is_some());
    assert_eq!(pin(), component);
}

#[tokio::test]
async fn a_tool_without_a_file_gets_one_by_its_first_rule() {
    let kit = Kit::new().await;
    let weather = kit.installed("acme/weather").await;
    let grants = kit.grants();
    grants.revoke(&weather).await.expect("everything is taken back");
    grants.add_fs(&weather, &directory("workspace:project")).await.expect("a directory is given");
    let grant = grants.load(&weather).expect("the file is good").expect("the file is there");
    assert_eq!(grant.fs, [directory("workspace:project")]);
    assert!(grant.pin.is_some());
}

#[tokio::test]
async fn two_changes_at_once_are_both_kept() {
    let kit = Kit::new().await;
    let weather = kit.installed("acme/weather").await;
    let (one, two) = (kit.grants(), kit.grants());
    let ids: Vec<String> = (0..8).map(|i| format!("rule-{i}")).collect();
    let changes = ids.iter().enumerate().map(|(index, id)| {
        let (grants, weather, rule) =
            (if index % 2 == 0 { one.clone() } else { two.clone() }, weather.clone(), http(id));
        tokio::spawn(async move { grants.add_http(&weather, &rule).await })
    });
    for change in changes.collect::<Vec<_>>() {
        change.await.expect("the task ends").expect("the rule is given");
    }
    let grant = one.load(&weather).expect("the file is good").expect("the file is there");
    assert_eq!(grant.http.len(), ids.len());
}
