//! Does one message go through a signed component and come back? The story of `cargo xtask demo`, told to nobody.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use chitin_testkit::story;

#[tokio::test]
async fn one_message_goes_through_a_signed_component_and_comes_back() {
    let so_far = Mutex::new(String::new());
    let tell = |line: &str| {
        let mut text = so_far.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(line);
        text.push('\n');
    };
    let told = story::whole(&nonce(), &tell).await;
    let so_far = so_far.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Err(error) = told {
        panic!("{error:#}\n\nthe story so far:\n{so_far}");
    }
    assert!(so_far.contains("records verify"), "the story told nothing:\n{so_far}");
    for file in ["offline.txt", "scripted.txt", "notes", "workspace"] {
        assert!(!Path::new(file).exists(), "{file} lies in the directory that the story was told from");
    }
}

/// Differs at each run, so that no answer can have been prepared.
fn nonce() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("n{}x{}", std::process::id(), now.as_nanos())
}
