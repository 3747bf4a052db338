//! Does the README tell the truth? Every command of its tour runs here, in order, on a fresh home.

use std::{collections::BTreeSet, fs};

use chitin_testkit::{
    chitin::{Chitin, split},
    guests::{bytes, repository},
};

/// One command of the tour, and whether the README shows it failing.
struct Step {
    line: String,
    fails: bool,
}

fn steps() -> Vec<Step> {
    let readme = fs::read_to_string(repository().join("README.md")).expect("the README");
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: command.to_owned(), fails: false });
        } else if inside
            && line.starts_with("error:")
            && let Some(last) = steps.last_mut()
        {
            last.fails = true;
        }
    }
    assert!(steps.len() > 20, "found nothing to run: {} commands", steps.len());
    steps
}

#[tokio::test]
async fn every_command_of_the_tour_does_what_the_readme_says() {
    let chitin = Chitin::new();
    let folder = chitin.outside().join("tour");
    fs::create_dir(&folder).expect("a new folder");
    // The reader's own component: any signed tool will do, under another name.
    fs::write(folder.join("hello.wasm"), bytes("chitin_time.wasm")).expect("a component");
    let manifest = "schema = 1\nname = \"acme/hello\"\nversion = \"1.0.0\"\nsummary = \"Says what time it is.\"\n\
                    world = \"chitin:tool/tool@0.1.0\"\nartifact = \"hello.wasm\"\n";
    fs::write(folder.join("hello.toml"), manifest).expect("a manifest");
    for Step { line, fails } in steps() {
        let words = split(&line);
        let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let output = chitin.command(&args).current_dir(&folder).output().await.expect("the binary starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.success(), !fails, "$ {line}\n{out}\n{err}");
        assert!(!err.contains("panicked"), "$ {line}\n{err}");
    }
}

/// Verbs of a help text, below `Commands:`.
fn verbs(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|verb| verb != "help")
        .collect()
}

#[tokio::test]
async fn every_verb_is_run_by_the_tour_or_a_test() {
    let chitin = Chitin::new();
    let mut run: BTreeSet<Vec<String>> = steps().iter().map(|s| words_of(&s.line)).collect();
    let tests =
        [include_str!("cli.rs"), include_str!("daemon.rs"), include_str!("foreign.rs"), include_str!("sweep.rs")];
    let tests = tests.join("\n");
    run.extend(tests.lines().filter_map(|l| l.split_once("// runs: ")).map(|(_, command)| words_of(command)));
    let top = chitin.run(&["--help"]).await.out;
    let mut checked = 0;
    for verb in verbs(&top) {
        let below = verbs(&chitin.run(&[&verb, "--help"]).await.out);
        let wanted: Vec<Vec<String>> = if below.is_empty() {
            vec![vec![verb.clone()]]
        } else {
            below.into_iter().map(|noun| vec![verb.clone(), noun]).collect()
        };
        for words in wanted {
            assert!(run.iter().any(|r| r.starts_with(&words)), "no test runs `chitin {}`", words.join(" "));
            checked += 1;
        }
    }
    assert!(checked >= 20, "found nothing to check: {checked} verbs");
}

fn words_of(line: &str) -> Vec<String> {
    split(line).into_iter().filter(|w| w != "chitin" && !w.starts_with('-')).collect()
}
