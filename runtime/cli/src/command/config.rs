//! What is configured, and how is one value changed? The whole file is checked before any of it is written.

use serde_json::json;
use toml_edit::{Item, TableLike, Value};

use crate::{
    args::Config,
    config,
    error::{CliError, Exit},
    output::Output,
    wire::Wire,
};

pub(crate) fn run(wire: &Wire, args: &Config, output: &Output) -> Result<(), CliError> {
    match args {
        Config::Check => {
            let config = wire.config()?;
            let channels: Vec<&String> = config.channels.keys().collect();
            let roots: Vec<&String> = config.roots.keys().collect();
            output.result("config", json!({ "roots": roots, "channels": channels }), "the configuration is good");
        }
        Config::Get { key: None } => {
            let text = config::document(wire.root())?.to_string();
            output.result("config", json!({ "text": text }), text.trim_end());
        }
        Config::Get { key: Some(key) } => {
            let document = config::document(wire.root())?;
            let found = find(document.as_item(), key)
                .ok_or_else(|| CliError::new(Exit::NotFound, format!("{key} is not set")).help("chitin config get"))?;
            let shown = found.to_string().trim().to_owned();
            output.result("config-value", json!({ "key": key, "value": shown }), &shown);
        }
        Config::Set { key, value } => {
            let mut document = config::document(wire.root())?;
            put(document.as_table_mut(), key, value)?;
            config::save(wire.root(), &document)?;
            output.result("config-value", json!({ "key": key, "value": value }), &format!("{key} = {value}"));
        }
    }
    Ok(())
}

fn find<'a>(item: &'a Item, key: &str) -> Option<&'a Item> {
    key.split('.').try_fold(item, |item, part| item.as_table_like()?.get(part))
}

fn put(table: &mut dyn TableLike, key: &str, text: &str) -> Result<(), CliError> {
    let (first, rest) = key.split_once('.').map_or((key, None), |(first, rest)| (first, Some(rest)));
    if first.is_empty() {
        return Err(
            CliError::usage(format!("{key:?} is no key")).help("chitin config set gateway.listen 127.0.0.1:4748")
        );
    }
    let Some(rest) = rest else {
        match table.get_mut(first).and_then(Item::as_value_mut) {
            // In its place, so that what stands around it stays.
            Some(old) => {
                let around = old.decor().clone();
                *old = parsed(text);
                *old.decor_mut() = around;
            }
            None => drop(table.insert(first, Item::Value(parsed(text)))),
        }
        return Ok(());
    };
    let inner = table.entry(first).or_insert_with(|| {
        let mut fresh = toml_edit::Table::new();
        fresh.set_implicit(true);
        Item::Table(fresh)
    });
    let inner = inner.as_table_like_mut().ok_or_else(|| CliError::usage(format!("{first} is a value, not a table")))?;
    put(inner, rest, text)
}

// What reads as TOML is taken as TOML, so that numbers, lists and `true` keep their kind; the rest is a text.
fn parsed(text: &str) -> Value {
    text.parse().unwrap_or_else(|_| Value::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_changes_and_the_rest_stays() {
        let check = |before: &str, key: &str, value: &str, after: &str| {
            let mut document: toml_edit::DocumentMut = before.parse().expect("TOML");
            put(document.as_table_mut(), key, value).expect("a key");
            assert_eq!(document.to_string(), after, "{key} = {value}");
        };
        check("# kept\na = 1\n", "a", "2", "# kept\na = 2\n");
        check("a = 1\n", "b", "plain text", "a = 1\nb = \"plain text\"\n");
        check("[t]\nx = 1 # why\n", "t.y", "[\"a\"]", "[t]\nx = 1 # why\ny = [\"a\"]\n");
        check("", "channels.hook.tool", "chitin/webhook", "[channels.hook]\ntool = \"chitin/webhook\"\n");
        check("", "sandbox", "none", "sandbox = \"none\"\n");
    }

    #[test]
    fn a_value_is_no_table() {
        let mut document: toml_edit::DocumentMut = "a = 1\n".parse().expect("TOML");
        assert!(put(document.as_table_mut(), "a.b", "1").is_err());
        assert!(put(document.as_table_mut(), "", "1").is_err());
    }
}
