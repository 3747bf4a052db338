//! How is a grant file changed so that the user's comments and order stay? A parsed document goes in, one rule is
//! added, changed or removed in it. Whether the result is a valid grant is for `policy` to say, before anything is
//! written.

use chitin_policy::{FsGrant, HttpGrant, Inject};
use chitin_types::{Digest, RecallMode};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

/// Binds the grant to these bytes. How a successor may take over stays as it was.
pub(crate) fn set_pin(document: &mut DocumentMut, component: Digest) {
    if let Some(pin) = section(document, "pin") {
        set(pin, "component", Value::from(component.to_string()));
    }
}

/// Binds a grant that is bound to nothing.
pub(crate) fn fill_pin(document: &mut DocumentMut, component: Digest) {
    if !document.contains_key("pin") {
        set_pin(document, component);
    }
}

/// Adds a directory, or changes the one that is mounted at the same place.
pub(crate) fn put_fs(document: &mut DocumentMut, grant: &FsGrant) {
    let (from, mode) = (Value::from(grant.from.as_str()), Value::from(grant.mode.word()));
    let mounted = document.get_mut("fs").map(rules).unwrap_or_default();
    if let Some(rule) = mounted.into_iter().find(|rule| text(&**rule, "at") == Some(grant.at.as_str())) {
        set(rule, "from", from);
        set(rule, "mode", mode);
        return;
    }
    let mut rule = Table::new();
    rule.insert("at", value(grant.at.as_str()));
    rule.insert("from", Item::Value(from));
    rule.insert("mode", Item::Value(mode));
    push(document, "fs", rule);
}

/// Adds a rule for requests. Two rules with one id are for `policy` to refuse.
pub(crate) fn add_http(document: &mut DocumentMut, grant: &HttpGrant) {
    let mut rule = Table::new();
    rule.insert("id", value(grant.id.as_str()));
    rule.insert("host", value(grant.host.to_string()));
    rule.insert("scheme", value(grant.scheme.iter().map(|scheme| scheme.word()).collect::<Array>()));
    if !grant.ports.is_empty() {
        rule.insert("ports", value(grant.ports.iter().map(|port| i64::from(*port)).collect::<Array>()));
    }
    rule.insert("methods", value(grant.methods.iter().collect::<Array>()));
    rule.insert("paths", value(grant.paths.iter().map(ToString::to_string).collect::<Array>()));
    push(document, "http", rule);
}

/// Puts a secret into the requests of a rule, and tells whether the rule is there.
pub(crate) fn put_secret(document: &mut DocumentMut, rule: &str, secret: &str, inject: &Inject) -> bool {
    let ruled = document.get_mut("http").map(rules).unwrap_or_default();
    let Some(rule) = ruled.into_iter().find(|table| text(&**table, "id") == Some(rule)) else { return false };
    let mut place = InlineTable::new();
    place.insert("header", Value::from(inject.header.as_str()));
    place.insert("format", Value::from(inject.format.as_str()));
    set(rule, "secret", Value::from(secret));
    set(rule, "inject", Value::from(place));
    true
}

/// Gives a store of its own, or changes its size.
pub(crate) fn set_kv(document: &mut DocumentMut, quota_kib: u64) {
    if let Some(kv) = section(document, "kv") {
        // What is too large for TOML is too large for a store; `policy` says so about the largest number there is.
        set(kv, "quota_kib", Value::from(i64::try_from(quota_kib).unwrap_or(i64::MAX)));
    }
}

/// Gives a scope of the memory, beside those that are given already.
pub(crate) fn put_scope(document: &mut DocumentMut, scope: &str, mode: RecallMode) {
    let key = match mode {
        RecallMode::Read => "read",
        RecallMode::Write => "write",
    };
    let Some(recall) = section(document, "recall") else { return };
    match recall.get_mut(key).and_then(Item::as_array_mut) {
        Some(scopes) if scopes.iter().any(|known| known.as_str() == Some(scope)) => {}
        Some(scopes) => scopes.push(scope),
        None => {
            recall.insert(key, value([scope].into_iter().collect::<Array>()));
        }
    }
}

/// Gives a setting, or changes it.
pub(crate) fn put_setting(document: &mut DocumentMut, key: &str, new: &str) {
    if let Some(config) = section(document, "config") {
        set(config, key, Value::from(new));
    }
}

/// Removes the rule that the audit calls `http:<id>`, `fs:<place>`, `kv`, `recall:<scope>` or `config:<key>`, and tells
/// whether it was there.
pub(crate) fn remove_rule(document: &mut DocumentMut, rule: &str) -> bool {
    let (kind, field, wanted) = match rule.split_once(':') {
        Some(("http", id)) => ("http", "id", id),
        Some(("fs", at)) => ("fs", "at", at),
        Some(("recall", scope)) => return remove_scope(document, scope),
        Some(("config", key)) => {
            let config = document.get_mut("config").and_then(Item::as_table_like_mut);
            return config.is_some_and(|config| config.remove(key).is_some());
        }
        None if rule == "kv" => return document.remove("kv").is_some(),
        Some(_) | None => return false,
    };
    match document.get_mut(kind) {
        Some(Item::ArrayOfTables(tables)) => {
            let before = tables.len();
            tables.retain(|table| text(table, field) != Some(wanted));
            before > tables.len()
        }
        Some(Item::Value(Value::Array(array))) => {
            let before = array.len();
            array.retain(|rule| rule.as_inline_table().is_none_or(|table| text(table, field) != Some(wanted)));
            before > array.len()
        }
        Some(_) | None => false,
    }
}

fn remove_scope(document: &mut DocumentMut, scope: &str) -> bool {
    let Some(recall) = document.get_mut("recall").and_then(Item::as_table_like_mut) else { return false };
    let mut found = false;
    for key in ["read", "write"] {
        if let Some(scopes) = recall.get_mut(key).and_then(Item::as_array_mut) {
            let before = scopes.len();
            scopes.retain(|known| known.as_str() != Some(scope));
            found |= before > scopes.len();
        }
    }
    found
}

// A table of this name, made where there is none. The file was read as a grant, so it is one in either spelling.
fn section<'a>(document: &'a mut DocumentMut, name: &str) -> Option<&'a mut dyn TableLike> {
    document.entry(name).or_insert_with(|| Item::Table(Table::new())).as_table_like_mut()
}

// Rules stand in `[[fs]]` tables, or in `fs = [{ … }]` where the user prefers that.
fn rules(item: &mut Item) -> Vec<&mut dyn TableLike> {
    match item {
        Item::ArrayOfTables(tables) => tables.iter_mut().map(|table| table as &mut dyn TableLike).collect(),
        Item::Value(Value::Array(array)) => array
            .iter_mut()
            .filter_map(|rule| rule.as_inline_table_mut().map(|table| table as &mut dyn TableLike))
            .collect(),
        Item::None | Item::Value(_) | Item::Table(_) => vec![],
    }
}

fn push(document: &mut DocumentMut, kind: &str, rule: Table) {
    match document.entry(kind).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new())) {
        Item::ArrayOfTables(tables) => tables.push(rule),
        Item::Value(Value::Array(array)) => array.push(rule.into_inline_table()),
        // The file was read as a grant, so there is no other shape; were there one, nothing would be added.
        Item::None | Item::Value(_) | Item::Table(_) => {}
    }
}

// A comment behind the old value stays behind the new one.
fn set(table: &mut dyn TableLike, key: &str, mut new: Value) {
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        Some(_) | None => {
            table.insert(key, Item::Value(new));
        }
    }
}

fn text<'a>(table: &'a dyn TableLike, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Item::as_str)
}

#[cfg(test)]
mod tests {
    use chitin_policy::Grant;
    use chitin_types::{FsMode, HostPattern, PathPattern, Scheme};

    use super::*;

    const FILE: &str = "# mine\nschema = 1\ntool = \"acme/github\"\n\n[pin] # bound\ncomponent = \
                        \"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\" # v1\n\n\
                        # the project\n[[fs]]\nat = \"/project\"\n\
                        from = \"workspace:project\"\nmode = \"ro\" # for now\n\n\
                        # to look\n[[http]]\nid = \"read\"\nhost = \"api.github.com\"\nmethods = [\"GET\"]\n\
                        paths = [\"/repos/**\"]\n# the end\n";

    fn http(id: &str) -> HttpGrant {
        HttpGrant {
            id: id.to_owned(),
            host: HostPattern::parse("a.test").expect("a valid host"),
            scheme: vec![Scheme::Https, Scheme::Http],
            ports: vec![8443],
            methods: vec!["GET".to_owned(), "POST".to_owned()],
            paths: vec![PathPattern::parse("/x/**").expect("a valid path")],
            secret: None,
            inject: None,
        }
    }

    fn bearer() -> Inject {
        Inject { header: "authorization".to_owned(), format: "Bearer {}".to_owned() }
    }

    fn fs(at: &str, mode: FsMode) -> FsGrant {
        FsGrant { at: at.to_owned(), from: "workspace:other".to_owned(), mode }
    }

    fn edited(text: &str, edit: impl FnOnce(&mut DocumentMut)) -> (Grant, String) {
        let mut document: DocumentMut = text.parse().expect("the text is TOML");
        edit(&mut document);
        let text = document.to_string();
        (Grant::parse("g.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}")), text)
    }

    #[test]
    fn every_edit_keeps_every_comment() {
        let comments: Vec<&str> = FILE.lines().filter_map(|line| line.split_once('#').map(|(_, c)| c)).collect();
        assert_eq!(comments.len(), 7);
        let edits: [fn(&mut DocumentMut); 9] = [
            |d| set_pin(d, Digest::of(b"v2")),
            |d| put_fs(d, &fs("/project", FsMode::Rw)),
            |d| put_fs(d, &fs("/other", FsMode::Ro)),
            |d| add_http(d, &http("more")),
            |d| set_kv(d, 512),
            |d| put_scope(d, "project", RecallMode::Read),
            |d| put_setting(d, "units.of measure", "metric"),
            |d| assert!(put_secret(d, "read", "github", &bearer())),
            |d| {
                set_kv(d, 512);
                assert!(remove_rule(d, "kv"));
            },
        ];
        for edit in edits {
            let (_, text) = edited(FILE, edit);
            for comment in &comments {
                assert!(text.contains(&format!("#{comment}")), "{comment:?} is lost:\n{text}");
            }
        }
        let (_, same) = edited(FILE, |_| {});
        assert_eq!(same, FILE);
    }

    #[test]
    fn rules_are_added_and_changed_in_both_spellings() {
        let inline = "schema = 1\ntool = \"acme/github\"\nhttp = []\n\
                      fs = [{ at = \"/project\", from = \"workspace:project\", mode = \"ro\" }]\n";
        for text in [FILE, inline] {
            let (grant, _) = edited(text, |d| put_fs(d, &fs("/project", FsMode::Rw)));
            assert_eq!(grant.fs, [fs("/project", FsMode::Rw)], "{text}");
            let (grant, _) = edited(text, |d| put_fs(d, &fs("/other", FsMode::Ro)));
            assert_eq!(grant.fs.len(), 2, "{text}");
            let (grant, _) = edited(text, |d| add_http(d, &http("more")));
            assert_eq!(grant.http.last(), Some(&http("more")), "{text}");
            let (grant, _) = edited(text, |d| assert!(remove_rule(d, "fs:/project")));
            assert!(grant.fs.is_empty(), "{text}");
            let (grant, _) = edited(text, |d| {
                add_http(d, &http("more"));
                assert!(remove_rule(d, "http:more"));
            });
            assert!(grant.http.iter().all(|rule| rule.id != "more"), "{text}");
            for absent in ["http:absent", "fs:/absent", "fs", "call:x", ""] {
                edited(text, |d| assert!(!remove_rule(d, absent), "{absent}"));
            }
        }
    }

    #[test]
    fn stores_settings_and_secrets_come_and_go_in_both_spellings() {
        let inline = "schema = 1\ntool = \"acme/github\"\nkv = { quota_kib = 1 }\nconfig = { a = \"1\" }\n\
                      recall = { read = [\"old\"] }\nhttp = [{ id = \"read\", host = \"api.github.com\", \
                      methods = [\"GET\"], paths = [\"/**\"] }]\n";
        for text in [FILE, inline] {
            let kv = |grant: &Grant| grant.kv.as_ref().map(|kv| kv.quota_kib);
            assert_eq!(kv(&edited(text, |d| set_kv(d, 512)).0), Some(512), "{text}");
            let none = |d: &mut DocumentMut| {
                set_kv(d, 512);
                assert!(remove_rule(d, "kv") && !remove_rule(d, "kv"));
            };
            assert_eq!(kv(&edited(text, none).0), None, "{text}");

            let scopes = |grant: Grant| grant.recall.map(|recall| (recall.read, recall.write)).unwrap_or_default();
            let (read, write) = scopes(
                edited(text, |d| {
                    put_scope(d, "project", RecallMode::Read);
                    put_scope(d, "project", RecallMode::Read);
                    put_scope(d, "project", RecallMode::Write);
                })
                .0,
            );
            assert_eq!((read.last().map(String::as_str), write.len()), (Some("project"), 1), "{text}");
            assert_eq!(read.iter().filter(|scope| *scope == "project").count(), 1, "{text}");
            let gone = |d: &mut DocumentMut| {
                put_scope(d, "project", RecallMode::Read);
                assert!(remove_rule(d, "recall:project") && !remove_rule(d, "recall:project"));
            };
            assert!(!scopes(edited(text, gone).0).0.contains(&"project".to_owned()), "{text}");

            let (grant, _) = edited(text, |d| put_setting(d, "a", "2"));
            assert_eq!(grant.config.get("a").map(String::as_str), Some("2"), "{text}");
            let gone = |d: &mut DocumentMut| {
                put_setting(d, "a", "2");
                assert!(remove_rule(d, "config:a") && !remove_rule(d, "config:a"));
            };
            assert!(edited(text, gone).0.config.is_empty(), "{text}");

            let (grant, _) = edited(text, |d| assert!(put_secret(d, "read", "github", &bearer())));
            let rule = &grant.http[0];
            assert_eq!((rule.secret.as_deref(), rule.inject.as_ref()), (Some("github"), Some(&bearer())), "{text}");
            edited(text, |d| assert!(!put_secret(d, "absent", "github", &bearer())));
        }
    }

    #[test]
    fn a_pin_is_set_or_filled() {
        let unbound =
            "schema = 1\ntool = \"acme/github\"\n[[fs]]\nat = \"/p\"\nfrom = \"workspace:p\"\nmode = \"ro\"\n";
        let pin = |grant: Grant| grant.pin.map(|pin| pin.component);
        let new = Digest::of(b"v2");
        for (text, set, filled) in [(FILE, new, Digest::of(b"abc")), (unbound, new, new)] {
            assert_eq!(pin(edited(text, |d| set_pin(d, new)).0), Some(set));
            assert_eq!(pin(edited(text, |d| fill_pin(d, new)).0), Some(filled));
        }
    }
}
