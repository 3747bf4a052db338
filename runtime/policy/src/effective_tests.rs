//! Does each document take away, and does the effective set never leave any of them?

use chitin_types::{FsAsk, HttpAsk, KvAsk, RecallAsk, Scheme};
use proptest::prelude::*;

use super::*;
use crate::grant::{Accept, FsGrant, KvGrant, Pin, RecallGrant};

fn ask(host: &str, paths: &str) -> HttpAsk {
    HttpAsk {
        host: host.parse_pattern(),
        scheme: vec![Scheme::Https],
        ports: vec![],
        methods: vec!["GET".to_owned(), "POST".to_owned()],
        paths: vec![chitin_types::PathPattern::parse(paths).expect("a pattern")],
        reason: None,
    }
}

trait ParsePattern {
    fn parse_pattern(&self) -> chitin_types::HostPattern;
}
impl ParsePattern for str {
    fn parse_pattern(&self) -> chitin_types::HostPattern {
        chitin_types::HostPattern::parse(self).expect("a pattern")
    }
}

fn everything() -> Capabilities {
    let any = || vec!["*".to_owned()];
    Capabilities {
        fs: vec![FsAsk { at: "*".to_owned(), mode: FsMode::Rw, reason: None }],
        http: vec![ask("*", "/**")],
        kv: Some(KvAsk { quota_kib: 64, reason: None }),
        recall: Some(RecallAsk { read: any(), write: any(), reason: None }),
    }
}

fn grant() -> Grant {
    let mut grant = Grant::nothing(ToolName::parse("acme/x").expect("a name"), Digest::of(b"x"));
    grant.fs.push(FsGrant { at: "/w".to_owned(), from: "workspace:w".to_owned(), mode: FsMode::Rw });
    grant.http.push(HttpGrant {
        id: "read".to_owned(),
        host: "good.test".parse_pattern(),
        scheme: vec![Scheme::Https],
        ports: vec![],
        methods: vec!["GET".to_owned()],
        paths: vec![chitin_types::PathPattern::parse("/a/**").expect("a pattern")],
        secret: None,
        inject: None,
    });
    grant
}

fn target(host: &str, port: u16, method: &str, path: &str) -> HttpTarget {
    let own = |text: &str| text.to_owned();
    HttpTarget { scheme: Scheme::Https, host: own(host), port, method: own(method), path: own(path) }
}

fn rule(decision: &Decision) -> &str {
    match decision {
        Decision::Allow { rule } => rule,
        Decision::Deny(denial) => &denial.rule,
    }
}

#[test]
fn each_layer_can_refuse_a_store_and_a_scope() {
    let mut given = grant();
    given.kv = Some(KvGrant { quota_kib: 512 });
    given.recall = Some(RecallGrant { read: vec!["work".to_owned()], write: vec![] });
    let whole =
        |request, grant: &Grant, ceiling| Grants::intersect(request, grant.clone(), ceiling, &Defaults::default());
    let check = |grants: &Grants, quota: Result<u64, &str>, recall: &str| {
        assert_eq!(grants.kv_quota_kib().as_ref().map_err(|d| d.rule.as_str()), quota.as_ref().map_err(|r| *r));
        assert_eq!(rule(&grants.recall("work", RecallMode::Read)), recall);
    };
    check(&whole(everything(), &given, everything()), Ok(64), "recall:work");
    check(&whole(Capabilities::default(), &given, everything()), Err("request:kv"), "request:recall");
    check(&whole(everything(), &given, Capabilities::default()), Err("signer:kv"), "signer:recall");
    check(&whole(everything(), &grant(), everything()), Err("grant:kv"), "grant:recall");
    let whole = whole(everything(), &given, everything());
    assert_eq!(rule(&whole.recall("work", RecallMode::Write)), "grant:recall");
    assert_eq!(rule(&whole.recall("home", RecallMode::Read)), "grant:recall");
    assert_eq!(whole.recall_scopes(RecallMode::Read), ["work"]);
    assert!(whole.recall_scopes(RecallMode::Write).is_empty());
}

#[test]
fn each_layer_can_refuse_a_request() {
    let whole = |request, ceiling| Grants::intersect(request, grant(), ceiling, &Defaults::default());
    let good = target("good.test", 443, "GET", "/a/b");
    assert_eq!(rule(&whole(everything(), everything()).http(&good)), "http:read");
    assert_eq!(rule(&whole(Capabilities::default(), everything()).http(&good)), "request:http");
    assert_eq!(rule(&whole(everything(), Capabilities::default()).http(&good)), "signer:http");
    for bad in [
        target("evil.test", 443, "GET", "/a/b"),
        target("good.test", 8443, "GET", "/a/b"),
        target("good.test", 443, "POST", "/a/b"),
        target("good.test", 443, "GET", "/b"),
        HttpTarget { scheme: Scheme::Http, ..good },
    ] {
        assert_eq!(rule(&whole(everything(), everything()).http(&bad)), "grant:http", "{bad:?}");
    }
}

#[test]
fn a_refused_request_prints_the_line_that_would_allow_it() {
    let grants = Grants::intersect(everything(), grant(), everything(), &Defaults::default());
    let Decision::Deny(denial) = grants.http(&target("evil.test", 8443, "POST", "/p")) else { panic!("allowed") };
    let expected = "chitin tool grant acme/x net https://evil.test:8443 --method POST --path /p";
    assert_eq!(denial.help.as_deref(), Some(expected));
}

#[test]
fn paths_are_decided_by_the_mount_that_holds_them() {
    let grants = Grants::intersect(everything(), grant(), everything(), &Defaults::default());
    assert_eq!(rule(&grants.fs("/w/a", FsMode::Rw)), "fs:/w");
    assert_eq!(rule(&grants.fs("/w", FsMode::Ro)), "fs:/w");
    assert_eq!(rule(&grants.fs("/wx", FsMode::Ro)), "grant:fs");
    assert_eq!(rule(&grants.fs("/w/../etc", FsMode::Ro)), "grant:fs");
    let mut ro = everything();
    ro.fs[0].mode = FsMode::Ro;
    let capped = Grants::intersect(everything(), grant(), ro.clone(), &Defaults::default());
    assert_eq!(rule(&capped.fs("/w/a", FsMode::Rw)), "signer:fs");
    assert_eq!(capped.mounts()[0].mode, FsMode::Ro);
    let asked_less = Grants::intersect(ro, grant(), everything(), &Defaults::default());
    assert_eq!(rule(&asked_less.fs("/w/a", FsMode::Rw)), "request:fs");
}

#[test]
fn the_least_limit_wins() {
    let mut grant = grant();
    grant.limits.wall_ms = 10;
    let defaults = Defaults { schema: 1, limits: Limits { wall_ms: 20, cpu_ms: 5, ..Limits::default() } };
    let limits = Grants::intersect(everything(), grant, everything(), &defaults).limits();
    assert_eq!((limits.wall_ms, limits.cpu_ms), (10, 5));
}

fn hosts() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a.test", "*.a.test", "b.a.test", "b.test", "127.0.0.1"])
}

fn http_rule() -> impl Strategy<Value = HttpAsk> {
    let paths = prop::sample::select(vec!["/**", "/a/**", "/a/*", "/a", "/*/b"]);
    let methods = prop::sample::subsequence(vec!["GET".to_owned(), "POST".to_owned()], 1..=2);
    (hosts(), paths, methods, prop::sample::subsequence(vec![443, 8443], 0..=2))
        .prop_map(|(host, path, methods, ports)| HttpAsk { methods, ports, ..ask(host, path) })
}

fn capabilities() -> impl Strategy<Value = Capabilities> {
    let fs = (prop::sample::select(vec!["*", "/w", "/v"]), prop::bool::ANY).prop_map(|(at, rw)| FsAsk {
        at: at.to_owned(),
        mode: if rw { FsMode::Rw } else { FsMode::Ro },
        reason: None,
    });
    (prop::collection::vec(fs, 0..3), prop::collection::vec(http_rule(), 0..4)).prop_map(|(fs, http)| Capabilities {
        fs,
        http,
        ..Capabilities::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn what_is_allowed_is_inside_every_document(
        request in capabilities(), ceiling in capabilities(), given in capabilities(),
        host in prop::sample::select(vec!["a.test", "b.a.test", "b.test", "127.0.0.1"]),
        path in prop::sample::select(vec!["/", "/a", "/a/b", "/c/b", "/a/b/c"]),
        port in prop::sample::select(vec![443_u16, 8443]), post in prop::bool::ANY,
    ) {
        let mut grant = Grant::nothing(ToolName::parse("acme/x").expect("a name"), Digest::of(b"x"));
        grant.pin = Some(Pin { component: Digest::of(b"x"), accept: Accept::Exact });
        for (index, ask) in given.http.iter().enumerate() {
            let HttpAsk { host, scheme, ports, methods, paths, .. } = ask.clone();
            grant.http.push(HttpGrant { id: format!("r{index}"), host, scheme, ports, methods, paths, secret: None, inject: None });
        }
        for ask in given.fs.iter().filter(|ask| ask.at != "*") {
            if !grant.fs.iter().any(|f| f.at == ask.at) {
                grant.fs.push(FsGrant { at: ask.at.clone(), from: "workspace:w".to_owned(), mode: ask.mode });
            }
        }
        let method = if post { "POST" } else { "GET" };
        let one = target(host, port, method, path);
        let covers = |set: &Capabilities| set.http.iter().any(|a| a.covers(&one));
        let granted = covers(&grant.capabilities());
        let grants = Grants::intersect(request.clone(), grant, ceiling.clone(), &Defaults::default());
        let allowed = matches!(grants.http(&one), Decision::Allow { .. });
        prop_assert_eq!(allowed, granted && covers(&request) && covers(&ceiling));
        for mount in grants.mounts() {
            prop_assert!(request.fs.iter().any(|a| a.covers(&mount.at, mount.mode)));
            prop_assert!(ceiling.fs.iter().any(|a| a.covers(&mount.at, mount.mode)));
            let decision = grants.fs(&mount.at, mount.mode);
            prop_assert!(matches!(decision, Decision::Allow { .. }), "{:?}", decision);
        }
    }
}
