//! When are two JSON values the same call? A value goes in, one text comes out that every equal value shares.
//!
//! Keys are sorted by their UTF-8 bytes and no white space is written, so that an approval bound to the digest of the text
//! covers exactly what will be sent to the component, whatever order a model wrote the keys in.

use serde_json::Value;

/// The canonical text: sorted keys, no white space, numbers as `serde_json` writes them.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

// Depth is bounded by the parser: serde_json refuses text nested deeper than 128.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(map.get(key).unwrap_or(&Value::Null), out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_space_do_not_matter() {
        let check = |text: &str, expected: &str| {
            let value: Value = serde_json::from_str(text).expect("valid JSON");
            assert_eq!(canonical(&value), expected);
        };
        check(r#"{ "b": 1, "a": [true, null, {"z":"x","y":2.5}] }"#, r#"{"a":[true,null,{"y":2.5,"z":"x"}],"b":1}"#);
        check(r#""a\u0000\"é""#, "\"a\\u0000\\\"é\"");
        check("{}", "{}");
    }
}
