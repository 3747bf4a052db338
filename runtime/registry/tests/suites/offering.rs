//! Which tools are there without an install, and which installed one is a channel? Each is under the same policy, and
//! nothing unsigned gets a secret.

use chitin_package::SigningKey;
use chitin_policy::{FsGrant, HttpGrant, Inject, KvGrant};
use chitin_ports::{ChannelSource as _, ComponentSource as _, Describe as _, Installed, PackKind, Toolbox as _};
use chitin_registry::{Catalog, DevTool, GrantChoice, NativeTool, RegistryError, is_unsigned, trust};
use chitin_types::{
    Capabilities, Digest, Effects, FsAsk, FsMode, FunctionName, HostPattern, PathPattern, Scheme, ToolSpec,
};
use serde_json::json;

use super::kit::{Kit, nothing, rule_of, tool, trusted};

async fn found(catalog: &Catalog, wire_name: &str) -> Installed {
    catalog.resolve(wire_name).await.expect("it is trusted").expect("it is there")
}

fn shell() -> NativeTool {
    let spec = ToolSpec {
        tool: tool("core/shell"),
        function: FunctionName::parse("run").expect("a valid name"),
        title: "run".to_owned(),
        summary: "Runs a command.".to_owned(),
        input_schema: json!({ "type": "object" }),
        effects: Effects::default(),
    };
    let fs = vec![FsAsk { at: "*".to_owned(), mode: FsMode::Rw, reason: None }];
    NativeTool { spec, identity: Digest::of(b"shell 1"), requests: Capabilities { fs, ..Capabilities::default() } }
}

fn directory() -> FsGrant {
    FsGrant { at: "/project".to_owned(), from: "workspace:project".to_owned(), mode: FsMode::Rw }
}

#[tokio::test]
async fn a_tool_of_the_program_is_granted_like_any_other() {
    let kit = Kit::new().await;
    kit.installed("acme/weather").await;
    let (catalog, grants) = (kit.catalog().with_native(vec![shell()]), kit.grants());
    let names: Vec<String> =
        catalog.specs().await.expect("the list").iter().map(|spec| spec.tool.to_string()).collect();
    assert_eq!(names, ["core/shell", "acme/weather"]);
    let name = tool("core/shell");
    assert_eq!(rule_of(&found(&catalog, "shell__run").await), "grant:absent");
    grants.bind_to(&name, Digest::of(b"shell 0")).await.expect("it is bound to another");
    assert_eq!(rule_of(&found(&catalog, "shell__run").await), "grant:pin");
    grants.bind_to(&name, shell().identity).await.expect("it is bound");
    let installed = found(&catalog, "shell__run").await;
    assert_eq!((rule_of(&installed).as_str(), installed.grants.mounts().len()), ("call:run", 0));
    grants.add_fs(&name, &directory()).await.expect("a directory is given");
    assert_eq!(found(&catalog, "shell__run").await.grants.mounts().len(), 1);
    assert_eq!(catalog.verified(&shell().identity), None, "there are no bytes to run in wasm");
    assert_eq!(kit.catalog().resolve("shell__run").await.map(|found| found.is_some()), Ok(false));
}

#[tokio::test]
async fn an_installed_tool_does_not_stand_in_for_one_of_the_program() {
    let kit = Kit::new().await;
    kit.installed("acme/shell").await;
    let catalog = kit.catalog().with_native(vec![shell()]);
    assert_eq!(found(&catalog, "shell__run").await.component, shell().identity);
    let names: Vec<String> =
        catalog.specs().await.expect("the list").iter().map(|spec| spec.tool.to_string()).collect();
    assert_eq!(names, ["core/shell"]);
    let problems = catalog.problems();
    assert!(problems.len() == 1 && problems[0].starts_with("acme/shell is not offered"), "{problems:?}");
}

#[tokio::test]
async fn an_unsigned_component_runs_here_and_gets_no_secret() {
    let kit = Kit::new().await;
    let described = kit.compiler.describe(b"").await.expect("it is described");
    let mut grant = nothing(&tool("acme/other"));
    grant.fs.push(directory());
    grant.kv = Some(KvGrant { quota_kib: 8 });
    grant.http.push(HttpGrant {
        id: "read".to_owned(),
        host: HostPattern::parse("a.test").expect("a valid host"),
        scheme: vec![Scheme::Https],
        ports: vec![],
        methods: vec!["GET".to_owned()],
        paths: vec![PathPattern::parse("/**").expect("a valid path")],
        secret: Some("github".to_owned()),
        inject: Some(Inject { header: "authorization".to_owned(), format: "Bearer {}".to_owned() }),
    });
    let catalog = kit.catalog();
    let dev = |name: &str| DevTool {
        name: name.to_owned(),
        bytes: b"unsigned".to_vec(),
        described: described.clone(),
        grant: Some(grant.clone()),
    };
    let name = catalog.add_dev(dev("My_Tool")).expect("it is offered");
    assert_eq!(name, tool("dev/my-tool"));
    assert!(is_unsigned(&name) && !is_unsigned(&tool("acme/dev")));
    let installed = found(&catalog, "my-tool__get").await;
    assert_eq!(rule_of(&installed), "call:get");
    assert!(installed.spec.summary.starts_with("[unsigned] "), "{}", installed.spec.summary);
    assert_eq!(installed.grants.mounts().len(), 1);
    assert!(installed.grants.kv_quota_kib().is_err());
    let secrets: Vec<_> = installed.grants.http_rules().iter().map(|rule| (&rule.secret, &rule.inject)).collect();
    assert_eq!(secrets, [(&None, &None)]);
    assert_eq!(catalog.verified(&Digest::of(b"unsigned")).as_deref(), Some(&b"unsigned".to_vec()));
    assert_eq!(catalog.specs().await.expect("the list").len(), 1);

    assert_eq!(kit.catalog().resolve("my-tool__get").await.map(|found| found.is_some()), Ok(false), "another process");
    kit.installed("acme/weather").await;
    for (taken, expected) in [("My_Tool", false), ("weather", false), ("weather2", true), ("", false), ("2x", false)] {
        assert_eq!(catalog.add_dev(dev(taken)).is_ok(), expected, "{taken:?}");
    }
}

#[tokio::test]
async fn nobody_signs_for_the_names_of_unsigned_tools() {
    let kit = Kit::new().await;
    trust(&kit.home, &trusted("second", 2, "dev/*"), &*kit.audit).await.expect("the key is trusted");
    let (path, _) = kit.signed_by(&SigningKey::from_seed(&[2; 32]), "dev/weather", "1.0.0", "");
    let error = kit.review(&path).await.expect_err("a name of unsigned tools");
    assert!(matches!(error, RegistryError::Denied(_)), "{error}");
}

#[tokio::test]
async fn a_channel_is_found_when_it_is_one_and_granted() {
    let kit = Kit::new().await;
    kit.installed("acme/weather").await;
    kit.compiler.says(|described| {
        described.kind = PackKind::Channel;
        described.functions.clear();
    });
    let webhook = tool("acme/webhook");
    let path = kit.signed("acme/webhook", "1.0.0", "[channel]\ntick_s = 30\n");
    kit.install(&path, GrantChoice::Leave).await.expect("the channel is installed");
    let (catalog, grants) = (kit.catalog(), kit.grants());
    let why = async |name: &str| match catalog.channel(&tool(name)).await {
        Ok(channel) => format!("ticks every {:?}", channel.ask.tick_s),
        Err(error) => error.to_string(),
    };
    assert!(why("acme/webhook").await.contains("nothing is granted"), "{}", why("acme/webhook").await);
    grants.give(&nothing(&webhook)).await.expect("a grant for other bytes");
    assert!(why("acme/webhook").await.contains("bound to other bytes"), "{}", why("acme/webhook").await);
    grants.bind(&webhook).await.expect("the user grants");
    assert_eq!(why("acme/webhook").await, "ticks every Some(30)");
    assert!(why("acme/weather").await.contains("no [channel]"), "{}", why("acme/weather").await);
    assert!(why("acme/absent").await.contains("not installed"), "{}", why("acme/absent").await);
    assert_eq!(catalog.specs().await.expect("the list").len(), 1, "a channel offers no function");
}
