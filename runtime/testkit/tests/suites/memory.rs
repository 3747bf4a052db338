//! Does the assistant find what was stored, whatever the script, and see it in the prompt? Through the component, the
//! command line and a scripted model.

use chitin_testkit::{
    chitin::Chitin,
    model::{self, Say},
};
use serde_json::{Value, json};

async fn call(chitin: &Chitin, function: &str, args: &Value) -> Value {
    let ran = chitin.run(&["--json", "tool", "call", "chitin/memory", function, &args.to_string()]).await;
    assert_eq!(ran.code, 0, "{function} {args}: {ran:?}");
    ran.json()["parts"].clone()
}

#[tokio::test]
async fn a_message_in_any_script_finds_what_was_stored() {
    let chitin = Chitin::onboarded().await;
    let stored = [
        "用户喜欢喝龙井茶，不喜欢咖啡。",
        "会议改到星期三下午三点在上海举行。",
        "佐藤さんの誕生日は五月十二日です。",
        "東京の事務所はパスワードを毎月変えます。",
        "우리 강아지 이름은 초코이고 세 살입니다.",
        "비행기는 금요일 아침 인천공항에서 출발합니다.",
        "Mật khẩu wifi ở quán cà phê là con mèo đen.",
        "Chị Hằng thích ăn phở bò ở Hà Nội.",
        "The server room key hangs behind the printer.",
    ];
    for text in stored {
        call(&chitin, "store", &json!({ "text": text })).await;
    }
    let rows = [
        ("我平时喝什么茶？", 0),
        ("上海的会议是几点？", 1),
        ("佐藤さんの誕生日はいつですか", 2),
        ("パスワードはどのくらいの頻度で変えますか", 3),
        ("강아지 이름이 뭐야?", 4),
        ("인천공항에서 언제 출발해?", 5),
        ("wifi mat khau la gi?", 6),
        ("Ai thích ăn phở ở Hà Nội?", 7),
        ("where is the key of the server room?", 8),
    ];
    for (query, index) in rows {
        let found = call(&chitin, "recall", &json!({ "query": query, "limit": 3 })).await.to_string();
        let wanted = Value::from(stored[index]).to_string();
        assert!(found.contains(wanted.trim_matches('"')), "{query}: {found}");
    }
    let nothing = call(&chitin, "recall", &json!({ "query": "zzyzx quux" })).await.to_string();
    assert!(!stored.iter().any(|text| nothing.contains(text)), "{nothing}");
    chitin_testkit::rows::ran("memory", rows.len());
}

#[tokio::test]
async fn what_is_remembered_enters_the_prompt_and_not_the_history() {
    let model = model::start(|_| Say::Text("noted".to_owned())).await;
    let chitin = Chitin::onboarded().await;
    let file = chitin.home().join("config.toml");
    let text = std::fs::read_to_string(&file).expect("the configuration");
    let base = format!("{}/v1", model.origin());
    let provider = format!("\n[provider]\nkind = \"openai-chat\"\nbase_url = \"{base}\"\nmodel = \"scripted\"\n");
    std::fs::write(&file, text + &provider).expect("written");
    call(&chitin, "store", &json!({ "text": "The boat is called Nautilus." })).await;
    let ran = chitin.run(&["run", "--session", "one", "-p", "what is the boat called?"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let request: Value = serde_json::from_slice(&model.seen()[0].body).expect("JSON");
    let messages = request["messages"].as_array().cloned().expect("messages");
    let last = messages.last().and_then(|m| m["content"].as_str()).expect("the message");
    assert!(
        last.contains("[Memory context]") && last.contains("Nautilus") && last.contains("[/Memory context]"),
        "{last}"
    );
    assert!(last.trim_end().ends_with("what is the boat called?"), "{last}");
    let system = messages[0]["content"].as_str().expect("the system prompt");
    assert!(!system.contains("Nautilus"), "the system prompt must stay the same");
    // The next turn sees the message as it was written.
    let ran = chitin.run(&["run", "--session", "one", "-p", "thanks"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let request: Value = serde_json::from_slice(&model.seen()[1].body).expect("JSON");
    let older = request["messages"][1]["content"].as_str().expect("the first message");
    assert_eq!(older, "what is the boat called?");
}

#[tokio::test]
async fn what_is_forgotten_is_gone() {
    let chitin = Chitin::onboarded().await;
    let stored = call(&chitin, "store", &json!({ "text": "a very particular fact: xylophonist" })).await;
    let text = stored.to_string();
    let before = call(&chitin, "recall", &json!({ "query": "xylophonist" })).await.to_string();
    assert!(before.contains("xylophonist"), "{before}");
    let exported = call(&chitin, "export", &json!({})).await.to_string();
    let id: String = exported
        .split("\\\"id\\\":\\\"")
        .nth(1)
        .or_else(|| exported.split("\"id\":\"").nth(1))
        .map_or_else(String::new, |rest| rest.chars().take_while(|c| *c != '"' && *c != '\\').collect());
    assert!(!id.is_empty(), "no id in {exported} / {text}");
    let grant = chitin.home().join("policies/chitin__memory.toml");
    let policy = std::fs::read_to_string(&grant).expect("the grant");
    // Forgetting asks a person; nobody is here, so its owner says never.
    let ran = chitin.run(&["tool", "call", "chitin/memory", "forget", &format!("id={id}")]).await;
    assert_eq!(ran.code, 5, "{ran:?}");
    std::fs::write(&grant, policy + "\n[[call]]\nfunctions = [\"forget\"]\nask = \"never\"\n").expect("written");
    call(&chitin, "forget", &json!({ "id": id })).await;
    let after = call(&chitin, "recall", &json!({ "query": "xylophonist" })).await.to_string();
    assert!(!after.contains("xylophonist"), "{after}");
}
