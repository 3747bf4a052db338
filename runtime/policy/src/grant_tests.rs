//! Which grant files are read, and what is said about the others?

use super::*;

const GOOD: &str = r#"schema = 1
tool = "acme/github"

[pin]
component = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
accept = "exact"

[limits]
wall_ms = 1000

[[call]]
functions = ["create_issue"]
ask = "each"

[[fs]]
at = "/project"
from = "workspace:project"
mode = "ro"

[[http]]
id = "read"
host = "api.github.com"
methods = ["GET"]
paths = ["/repos/**"]
secret = "github"
inject = { header = "authorization", format = "Bearer {}" }

[config]
reply_url = "https://api.github.com/replies"

[kv]
quota_kib = 512

[recall]
read = ["project"]
"#;

#[test]
fn a_written_grant_reads_back_the_same() {
    let grant = Grant::parse("g.toml", GOOD).expect("the grant is good");
    assert_eq!(grant.limits.wall_ms, 1000);
    assert_eq!(grant.limits.cpu_ms, Limits::default().cpu_ms);
    assert_eq!(Grant::parse("g.toml", &grant.to_text()), Ok(grant));
}

#[test]
fn each_bad_line_refuses_the_whole_file_with_its_place() {
    // The twin of each row is GOOD, from which it differs in exactly one line.
    for (line, bad, place, says) in [
        ("schema = 1", "schema = 2", "g.toml:1:1", "schema 2"),
        ("tool = \"acme/github\"", "tool = \"github\"", "g.toml:2:8", "tool name"),
        ("accept = \"exact\"", "accept = \"any\"", "g.toml:6:10", "unknown variant"),
        ("wall_ms = 1000", "wall = 1000", "g.toml:9:1", "unknown field"),
        ("ask = \"each\"", "ask = \"always\"", "g.toml:13:7", "unknown variant"),
        ("at = \"/project\"", "at = \"/../etc\"", "g.toml:16:7", "absolute path"),
        ("at = \"/project\"", "at = \"/\"", "g.toml", "absolute path"),
        ("from = \"workspace:project\"", "from = \"/home/me\"", "g.toml:17:9", "named root"),
        ("mode = \"ro\"", "mode = \"all\"", "g.toml:18:8", "unknown variant"),
        ("id = \"read\"", "id = \"Read it\"", "g.toml:21:7", "1 to 48"),
        ("host = \"api.github.com\"", "host = \"*\"", "g.toml:22:1", "every host"),
        ("host = \"api.github.com\"", "host = \"*.com\"", "g.toml:22:8", "host pattern"),
        ("methods = [\"GET\"]", "methods = [\"get\"]", "g.toml:23:13", "none of"),
        ("methods = [\"GET\"]", "methods = []", "g.toml:21:7", "empty methods"),
        ("paths = [\"/repos/**\"]", "paths = [\"/repos*\"]", "g.toml:24:9", "path pattern"),
        ("paths = [\"/repos/**\"]", "paths = [\"/repos/**\"]\nspeed = 1", "g.toml:25:1", "unknown field"),
        ("secret = \"github\"", "", "g.toml", "inject and no secret"),
        ("inject = { header = \"authorization\", format = \"Bearer {}\" }", "", "g.toml:25:1", "no inject"),
        ("header = \"authorization\"", "header = \"connection\"", "g.toml:26:22", "none that a secret"),
        ("format = \"Bearer {}\"", "format = \"Bearer\"", "g.toml:26:48", "hold {} once"),
        ("host = \"api.github.com\"", "host = \"*.github.com\"", "g.toml:21:7", "must be exact"),
        ("secret = \"github\"", "secret = \"../key\"", "g.toml:25:11", "1 to 48"),
        ("quota_kib = 512", "quota_kib = 0", "g.toml:32:1", "quota_kib"),
        ("read = [\"project\"]", "read = [\"no*\"]", "g.toml:35:10", "scope"),
    ] {
        assert!(GOOD.contains(line), "the row's line {line:?} is not in the good file");
        let error = Grant::parse("g.toml", &GOOD.replacen(line, bad, 1)).expect_err(bad);
        assert!(error.to_string().starts_with(place), "{bad}: {error}");
        assert!(error.message.contains(says), "{bad}: {error}");
    }
}

#[test]
fn defaults_hold_limits_and_no_capability() {
    assert!(Defaults::parse("default.toml", "schema = 1\n[limits]\nwall_ms = 10\n").is_ok());
    let error = Defaults::parse("default.toml", "schema = 1\n[[fs]]\nat = \"/x\"\n").expect_err("fs for every tool");
    assert!(error.to_string().starts_with("default.toml:2:"), "{error}");
}
