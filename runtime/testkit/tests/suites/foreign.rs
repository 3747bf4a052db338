//! Is any ordinary component a tool? One in C with typed exports and no SDK, one in Python, one in JavaScript: each is
//! adopted, granted nothing, and called through the same door; the second start takes compiled code from the cache.

use std::{path::PathBuf, time::Instant};

use chitin_testkit::{
    chitin::{Chitin, Ran},
    guests::repository,
};
use serde_json::{Value, json};

fn built(file: &str) -> PathBuf {
    let path = repository().join("components/target/foreign").join(file);
    assert!(path.is_file(), "{} is missing: run `cargo xtask guests` first", path.display());
    path
}

async fn good(chitin: &Chitin, line: &str) -> Ran {
    let ran = chitin.run_line(line).await;
    assert_eq!(ran.code, 0, "{line}: {ran:?}");
    ran
}

/// A home that trusts a key of its own for `me/*`.
async fn with_key() -> Chitin {
    let chitin = Chitin::onboarded().await;
    let file = chitin.outside().join("me.toml");
    good(&chitin, "chitin key new me").await;
    good(&chitin, &format!("chitin key export me --names 'me/*' --out {}", file.display())).await;
    good(&chitin, &format!("chitin -y key trust {}", file.display())).await;
    chitin
}

/// Names and times of the compiled code.
fn compiled(chitin: &Chitin) -> Vec<(std::ffi::OsString, std::time::SystemTime)> {
    let listed = std::fs::read_dir(chitin.home().join("cache/compiled")).expect("compiled code");
    let one = |entry: std::fs::DirEntry| {
        let changed = entry.metadata().and_then(|found| found.modified()).expect("its time");
        (entry.file_name(), changed)
    };
    let mut files: Vec<_> = listed.map(|entry| one(entry.expect("an entry"))).collect();
    assert!(!files.is_empty(), "found nothing to look at");
    files.sort();
    files
}

async fn call(chitin: &Chitin, tool: &str, function: &str, args: &Value) -> Ran {
    chitin.run(&["--json", "tool", "call", tool, function, &args.to_string()]).await
}

fn parts(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()["parts"].clone()
}

#[tokio::test]
async fn components_in_three_languages_are_adopted_and_called() {
    // runs: chitin tool adopt
    let chitin = with_key().await;
    let rows = [
        ("C", "stats.wasm", "me/stats", "count_words", json!({"text": "one two three"}), json!([{"data": 3}])),
        (
            "JavaScript",
            "slug.wasm",
            "me/slug",
            "slug",
            json!({"title": "Héllo, Wörld!"}),
            json!([{"text": "hello-world"}]),
        ),
        (
            "Python",
            "words.wasm",
            "me/words",
            "most_common",
            json!({"text": "a b a"}),
            json!([{"data": [{"word": "a", "times": 2}, {"word": "b", "times": 1}]}]),
        ),
    ];
    println!("{:<12} {:>10} {:>10} {:>10} {:>10}", "language", "KiB", "install s", "first ms", "again ms");
    for (language, file, tool, function, args, expected) in rows {
        let copy = chitin.outside().join(file);
        std::fs::copy(built(file), &copy).expect("a copy");
        let began = Instant::now();
        good(&chitin, &format!("chitin -y tool adopt {} --name {tool} --key me", copy.display())).await;
        let install = began.elapsed();
        // Installed is not granted.
        let ran = call(&chitin, tool, function, &args).await;
        assert_eq!(ran.code, 5, "{ran:?}");
        good(&chitin, &format!("chitin tool grant {tool}")).await;
        let compiled = compiled(&chitin);
        let mut times = Vec::new();
        for _ in 0..2 {
            let began = Instant::now();
            assert_eq!(parts(&call(&chitin, tool, function, &args).await), expected, "{language}");
            times.push(began.elapsed());
        }
        let kib = std::fs::metadata(&copy).map_or(0, |found| found.len() / 1024);
        let (first, again) = (times[0].as_secs_f64() * 1e3, times[1].as_secs_f64() * 1e3);
        println!("{language:<12} {kib:>10} {:>10.1} {first:>10.0} {again:>10.0}", install.as_secs_f64());
        assert_eq!(self::compiled(&chitin), compiled, "{language}: a call compiled what the install had compiled");
    }
    chitin_testkit::rows::ran("foreign", 3);
}

#[tokio::test]
async fn typed_exports_take_and_give_typed_values() {
    let chitin = with_key().await;
    let copy = chitin.outside().join("stats.wasm");
    std::fs::copy(built("stats.wasm"), &copy).expect("a copy");
    good(&chitin, &format!("chitin -y tool adopt {} --name me/stats --key me", copy.display())).await;
    good(&chitin, "chitin tool grant me/stats").await;
    let ran = call(&chitin, "me/stats", "describe_numbers", &json!({"numbers": [1, 2, 6]})).await;
    assert_eq!(parts(&ran), json!([{"data": {"count": 3, "mean": 3.0, "least": 1.0, "most": 6.0}}]));
    let ran = call(&chitin, "me/stats", "reversed", &json!({"text": "abc"})).await;
    assert_eq!(parts(&ran), json!([{"text": "cba"}]));
    // The component's own error is its word, not a crash.
    let ran = call(&chitin, "me/stats", "describe_numbers", &json!({"numbers": []})).await;
    assert!(ran.code == 1 && ran.err.contains("there are no numbers"), "{ran:?}");
    for wrong in [json!({"text": 1}), json!({}), json!({"text": "a", "more": 1})] {
        let ran = call(&chitin, "me/stats", "count_words", &wrong).await;
        assert_eq!(ran.code, 2, "{wrong}: {ran:?}");
    }
}

#[tokio::test]
async fn an_unsigned_component_is_tried_in_one_process_only() {
    // runs: chitin tool dev
    let chitin = Chitin::onboarded().await;
    let file = built("stats.wasm");
    let file = file.display().to_string();
    let ran = chitin.run(&["tool", "dev", &file]).await;
    assert!(ran.code == 0 && ran.out.contains("count_words"), "{ran:?}");
    let ran = chitin.run(&["--json", "tool", "dev", &file, "count_words", "text=a b c d"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((ran.json()["signed"].clone(), ran.json()["parts"].clone()), (json!(false), json!([{"data": 4}])));
    assert!(ran.err.contains("unsigned"), "{ran:?}");
    let ran = chitin.run(&["tool", "list"]).await;
    assert!(!ran.out.contains("stats"), "{ran:?}");
    let ran = chitin.run(&["-y", "tool", "install", &file]).await;
    assert_eq!(ran.code, 6, "an install needs a signature: {ran:?}");
}

#[tokio::test]
async fn what_cannot_be_a_tool_is_listed_with_its_reason() {
    let chitin = with_key().await;
    let wat = r#"(component
        (component $inner
            (type $r (resource (rep i32)))
            (export $exported "thing" (type $r))
            (core module $m (func (export "f") (param i32)) (func (export "g") (result i32) i32.const 7))
            (core instance $i (instantiate $m))
            (func (export "take") (param "it" (own $exported)) (canon lift (core func $i "f")))
            (func (export "seven") (result u32) (canon lift (core func $i "g"))))
        (instance $made (instantiate $inner))
        (export "test:odd/things@0.1.0" (instance $made)))"#;
    let file = chitin.outside().join("odd.wasm");
    std::fs::write(&file, wat::parse_str(wat).expect("a component")).expect("written");
    let shown = file.display().to_string();
    let ran = chitin.run(&["tool", "dev", &shown]).await;
    assert!(ran.code == 0 && ran.out.contains("seven") && ran.out.contains("left out"), "{ran:?}");
    assert!(ran.out.contains("resource"), "{ran:?}");
    let ran = chitin.run(&["-y", "tool", "adopt", &shown, "--name", "me/odd", "--key", "me"]).await;
    assert!(ran.code == 0 && ran.err.contains("left out"), "{ran:?}");
    good(&chitin, "chitin tool grant me/odd").await;
    assert_eq!(parts(&call(&chitin, "me/odd", "seven", &json!({})).await), json!([{"data": 7}]));
}

#[tokio::test]
async fn nothing_is_compiled_without_the_child_or_its_sandbox() {
    let chitin = with_key().await;
    let copy = chitin.outside().join("stats.wasm");
    std::fs::copy(built("stats.wasm"), &copy).expect("a copy");
    let adopt = format!("chitin -y tool adopt {} --name me/stats --key me", copy.display());
    let config = chitin.home().join("config.toml");
    let good = std::fs::read_to_string(&config).expect("the configuration");
    let none = chitin.outside().join("no-such-program");
    for line in [
        // The child is another program, which compiles nothing.
        "program = \"/bin/false\"".to_owned(),
        format!("program = \"{}\"", none.display()),
    ] {
        std::fs::write(&config, good.replacen("schema = 1", &format!("schema = 1\n{line}"), 1)).expect("written");
        let ran = chitin.run_line(&adopt).await;
        assert!(ran.code != 0 && ran.err.contains("error:") && !ran.err.contains("panicked"), "{line}: {ran:?}");
        assert!(!chitin.run(&["tool", "list"]).await.out.contains("me/stats"), "{line}");
    }
    // The twin differs in that one line.
    std::fs::write(&config, good).expect("written");
    let ran = chitin.run_line(&adopt).await;
    assert_eq!(ran.code, 0, "{ran:?}");
}
