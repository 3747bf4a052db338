//! Which exports become tools, under which names, and what is said about the others?

use serde_json::json;

use super::*;
use crate::engine::compiling_engine;

/// A component that has one of nearly everything. No function of it is ever called.
const MANY: &str = r#"(component
  (core module $m
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable)
    (func (export "unary") (param i32) (result i32) unreachable)
    (func (export "text") (param i32 i32) (result i32) unreachable)
    (func (export "shape") (param i32 i32 i32) (result i32) unreachable)
    (func (export "nothing")))
  (core instance $i (instantiate $m))
  (alias core export $i "memory" (core memory $memory))
  (alias core export $i "realloc" (core func $realloc))

  (type $size' (record (field "w" u32) (field "max-h" (option u32))))
  (export $size "size" (type $size'))
  (type $thing' (resource (rep i32)))
  (export $thing "thing" (type $thing'))

  (func $nothing (canon lift (core func $i "nothing")))
  (func $count (param "text" string) (result u32)
    (canon lift (core func $i "text") (memory $memory) (realloc $realloc)))
  (func (export "scale-up") (param "by" $size) (result u32) (canon lift (core func $i "shape")))
  (func (export "make") (param "n" u32) (result (own $thing)) (canon lift (core func $i "unary")))
  (func (export "nested") (param "x" DEEP) (result u32)
    (canon lift (core func $i "text") (memory $memory) (realloc $realloc)))
  (type $t0 (tuple u8 u8))
  TUPLES
  (func (export "wide") (param "x" $t12) (result u32)
    (canon lift (core func $i "unary") (memory $memory) (realloc $realloc)))
  (export "init" (func $nothing))

  (instance $words (export "count" (func $count)) (export "stop" (func $nothing)))
  (instance $lines (export "count" (func $count)))
  (instance $one (export "run" (func $nothing)))
  (export "demo:text/words@0.1.0" (instance $words))
  (export "demo:text/lines@0.1.0" (instance $lines))
  (export "exports" (instance $one))
  (export "wasi:cli/run@0.2.6" (instance $one))
)"#;

fn looked_at(text: &str) -> Reflected {
    let engine = compiling_engine().expect("the engine starts");
    let bytes = wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"));
    let component = Component::from_binary(&engine, &bytes).unwrap_or_else(|error| panic!("{error:#}"));
    reflect(&engine, &component)
}

fn many() -> Reflected {
    let deep = format!("{}u32{}", "(list ".repeat(16), ")".repeat(16));
    let tuples: Vec<String> = (1..=12).map(|i| format!("(type $t{i} (tuple $t{p} $t{p}))", p = i - 1)).collect();
    looked_at(&MANY.replace("DEEP", &deep).replace("TUPLES", &tuples.join("\n")))
}

#[test]
fn functions_are_offered_by_their_types() {
    let functions = many().functions;
    let listed: Vec<(&str, &str)> =
        functions.iter().map(|f| (f.described.name.as_str(), f.described.summary.as_str())).collect();
    assert_eq!(
        listed,
        [
            ("words_count", "count(text: string) -> u32 (of demo:text/words@0.1.0)"),
            ("stop", "stop() (of demo:text/words@0.1.0)"),
            ("lines_count", "count(text: string) -> u32 (of demo:text/lines@0.1.0)"),
            ("scale_up", "scale-up(by: {w: u32, max-h: option<u32>}) -> u32"),
        ]
    );
    let first = &functions[3].described;
    assert_eq!(first.title, "scale up");
    assert!(first.effects.writes && first.effects.open_world && !first.effects.destroys && !first.effects.pays);
    let number = json!({ "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u64 });
    assert_eq!(
        first.input_schema,
        json!({
            "type": "object",
            "properties": { "by": {
                "type": "object",
                "properties": { "w": number, "max-h": number },
                "required": ["w"],
                "additionalProperties": false,
            } },
            "required": ["by"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn what_cannot_be_offered_is_listed_with_its_reason() {
    let left_out = many().left_out;
    let mut listed: Vec<(&str, &str)> = left_out.iter().map(|l| (l.export.as_str(), l.reason.as_str())).collect();
    listed.sort_unstable();
    assert_eq!(
        listed,
        [
            ("exports", RESIDUE),
            ("init", RESIDUE),
            ("make", "it takes or gives a resource"),
            ("nested", "its types are nested deeper than 16"),
            ("wasi:cli/run@0.2.6", "it is an interface of WASI, for whoever runs programs"),
            ("wide", "its types are larger than 64 KiB"),
        ]
    );
}

#[test]
fn names_are_short_where_they_can_be_and_never_shared() {
    let name = |export: (Option<&str>, &str), others: &[(Option<&str>, &str)]| {
        let exports: Vec<_> = std::iter::once(export).chain(others.iter().copied()).collect();
        tool_names(&exports).remove(0).map(|name| name.to_string())
    };
    let (a, b) = (Some("demo:text/word-list@0.1.0"), Some("demo:text/lines@1.2.3"));
    for (export, others, expected) in [
        ((a, "count"), vec![], Ok("count")),
        ((a, "count"), vec![(b, "stop")], Ok("count")),
        ((a, "count"), vec![(b, "count")], Ok("word_list_count")),
        ((a, "count"), vec![(None, "count")], Ok("word_list_count")),
        ((None, "count"), vec![(a, "count")], Ok("count")),
        ((None, "Count-ALL"), vec![], Ok("count_all")),
        ((Some("plain"), "f"), vec![(None, "f")], Ok("plain_f")),
        ((a, "f"), vec![(Some("other:text/word-list@0.1.0"), "f")], Err("same")),
        ((None, "lines-f"), vec![(a, "f"), (b, "f")], Err("same")),
    ] {
        match (name(export, &others), expected) {
            (Ok(name), Ok(expected)) => assert_eq!(name, expected, "{export:?} beside {others:?}"),
            (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{export:?}: {reason}"),
            (found, _) => panic!("{export:?} beside {others:?}: {found:?}"),
        }
    }
    let long = "f".repeat(49);
    assert!(name((None, &long), &[]).is_err());
    assert!(name((None, &long[1..]), &[]).is_ok());
}

#[test]
fn a_component_without_functions_offers_none() {
    let none = looked_at("(component)");
    assert!(none.functions.is_empty() && none.left_out.is_empty());
}
