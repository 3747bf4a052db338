//! Is what was stored found in any script, only in its scopes, and gone when it is forgotten?

use super::*;
use crate::fixture::{Home, NOW_MS};

/// What is asked, and the stored text that must come first.
type Row = (&'static str, &'static str);

const CHINESE: [Row; 7] = [
    ("咖啡", "他每天早上八点喝一杯黑咖啡，不加糖"),
    ("北京的天气怎么样", "北京冬天的天气又干又冷"),
    ("过敏", "我女儿对花生过敏，不要推荐含坚果的菜"),
    ("妈妈的生日是什么时候", "妈妈的生日是农历三月初五"),
    ("ＷｉＦｉ密码", "办公室的wifi密码贴在打印机背面"),
    ("地铁", "从家到公司要坐四十分钟地铁"),
    ("数据库备份", "每周日凌晨三点做数据库备份"),
];
const JAPANESE: [Row; 7] = [
    ("会議", "来週の会議は木曜日の午後三時からです"),
    ("ｺｰﾋｰ", "毎朝コーヒーをブラックで飲みます"),
    ("東京の天気は", "東京は六月に雨が多い"),
    ("猫が好きですか", "彼女は猫を二匹飼っている"),
    ("りんご", "娘はりんごジュースを飲まない"),
    ("ＵＳＢメモリ", "鍵は机の引き出しのUSBメモリの隣にある"),
    ("ねじ", "ネジの在庫は棚の三段目"),
];
const KOREAN: [Row; 7] = [
    ("김치찌개", "저녁으로 김치찌개를 끓여 먹었다"),
    ("서울", "동생은 서울에서 대학교를 다닌다"),
    ("회의 시간", "금요일 회의는 오전 열 시에 시작한다"),
    ("생일", "제 생일은 십이월 삼일입니다"),
    ("부산에서", "부산으로 여행을 가려고 한다"),
    ("알레르기", "땅콩 알레르기가 있어서 조심해야 한다"),
    // As some systems write file names: each syllable in its letters.
    ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "컴퓨터에 한글 자판을 쓴다"),
];
const VIETNAMESE: [Row; 8] = [
    ("Ha Noi", "Văn phòng chính ở Hà Nội"),
    ("Đà Nẵng", "chi nhanh Da Nang mo cua luc tam gio"),
    ("phở bò", "Sáng nào anh ấy cũng ăn phở bò tái"),
    ("pho ga", "Chủ nhật cả nhà ăn phở gà"),
    ("SINH NHẬT", "Sinh nhật của mẹ là ngày hai mươi tháng ba"),
    ("di ung hai san", "Con trai tôi bị dị ứng hải sản"),
    ("hoà bình", "Công viên Hòa Bình mở cửa đến mười giờ"),
    ("Sa\u{300}i Go\u{300}n", "Kho hàng nằm ở Sài Gòn"),
];
const OTHERS: [Row; 8] = [
    ("Tokyo coffee", "Her favourite café is in Tokyo; she drinks coffee there"),
    ("ＡＰＩ key", "The API key expires in May"),
    ("cant eat", "He can't eat gluten"),
    ("กาแฟ", "เขาดื่มกาแฟทุกเช้า"),
    ("ΟΔΟΣ", "η οδός είναι κλειστή"),
    ("uber strasse", "Über die Straße gehen"),
    ("ПРИВЕТ", "Скажи привет соседу"),
    ("file.name", "Put it in file.name please"),
];
/// What is asked, and a stored text that looks like it and must not be found.
const STRANGERS: [Row; 14] = [
    ("京都", "北京是中国的首都"),
    ("日本", "本日は休業です"),
    ("上海", "海上有很多船"),
    ("東京", "京都の東にある"),
    ("アメリカ", "カメラを買った"),
    ("사과", "과일은 사지 않는다"),
    ("가방", "방가 방가"),
    ("bò", "con bọ trong vườn"),
    ("hạ", "ở nhà có hà"),
    ("cat", "concatenate the files"),
    ("OR", "and"),
    ("text:*", "nothing here"),
    ("\"", "\""),
    ("NOT nothing", "here"),
];

fn owner() -> Origin {
    Origin { who: "owner".to_owned(), call: None }
}

fn scopes(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

async fn remember(records: &Records, text: &str) -> String {
    records.remember(text, "notes", &owner()).await.expect("remembers")
}

async fn found(records: &Records, text: &str) -> Vec<String> {
    let found = records.query(text, &scopes(&["notes"]), 10).await.expect("answers");
    found.into_iter().map(|memory| memory.text).collect()
}

async fn check(rows: &[Row]) {
    let home = Home::new();
    let records = home.open();
    for (_, stored) in rows {
        remember(&records, stored).await;
    }
    drop(records);
    let records = home.open();
    for (asked, stored) in rows {
        assert_eq!(found(&records, asked).await.first().map(String::as_str), Some(*stored), "{asked}");
    }
}

#[tokio::test]
async fn a_chinese_message_finds_what_was_stored() {
    check(&CHINESE).await;
}

#[tokio::test]
async fn a_japanese_message_finds_what_was_stored() {
    check(&JAPANESE).await;
}

#[tokio::test]
async fn a_korean_message_finds_what_was_stored() {
    check(&KOREAN).await;
}

#[tokio::test]
async fn a_vietnamese_message_finds_what_was_stored() {
    check(&VIETNAMESE).await;
}

#[tokio::test]
async fn a_message_finds_what_was_stored_among_all_languages() {
    check(&[&CHINESE[..], &JAPANESE, &KOREAN, &VIETNAMESE, &OTHERS].concat()).await;
}

#[tokio::test]
async fn what_only_looks_alike_is_not_found() {
    for (asked, stored) in STRANGERS {
        let home = Home::new();
        let records = home.open();
        remember(&records, stored).await;
        assert_eq!(found(&records, asked).await, Vec::<String>::new(), "{asked}");
    }
}

#[tokio::test]
async fn the_closest_comes_first_with_a_positive_score() {
    let home = Home::new();
    let records = home.open();
    for text in ["the red car", "the red car is parked at the red house", "a blue bicycle", "the dog", "the cat"] {
        remember(&records, text).await;
    }
    let found = records.query("red car", &scopes(&["notes"]), 10).await.expect("answers");
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|memory| memory.score > 0.0));
    assert!(found[0].score >= found[1].score);
    assert_eq!(records.query("red car", &scopes(&["notes"]), 1).await, Ok(found[..1].to_vec()));
    assert_eq!(records.query("red car", &scopes(&["notes"]), 0).await, Ok(Vec::new()));
    let one = records.query("bicycle", &scopes(&["notes"]), 5).await.expect("answers").remove(0);
    let expected = Memory {
        id: one.id.clone(),
        scope: "notes".to_owned(),
        text: "a blue bicycle".to_owned(),
        stored_at_ms: NOW_MS,
        score: one.score,
        origin: "owner".to_owned(),
    };
    assert_eq!(one, expected);
}

#[tokio::test]
async fn an_answer_has_an_end() {
    let home = Home::new();
    let records = home.open();
    for n in 0..60 {
        remember(&records, &format!("apple {n}")).await;
    }
    assert_eq!(records.query("apple", &scopes(&["notes"]), 1_000).await.expect("answers").len(), FOUND_MAX);
    assert_eq!(records.entries(&scopes(&["notes"]), None, ENTRIES_MAX).await.expect("answers").len(), 60);
    assert!(records.entries(&scopes(&["notes"]), None, ENTRIES_MAX + 1).await.is_err());
    assert!(records.query("apple", &vec![String::new(); SCOPES_MAX + 1], 1).await.is_err());
}

#[tokio::test]
async fn a_scope_does_not_see_another() {
    let home = Home::new();
    let records = home.open();
    let id = records.remember("the blue door", "work", &owner()).await.expect("remembers");
    remember(&records, "the green door").await;
    let asked = async |names: &[&str]| records.query("door", &scopes(names), 9).await.expect("answers").len();
    assert_eq!(asked(&["work"]).await, 1);
    assert_eq!(asked(&["work", "notes"]).await, 2);
    assert_eq!(asked(&["wor", "*", "work\",\"notes"]).await, 0);
    assert_eq!(asked(&[]).await, 0);
    assert_eq!(records.entries(&scopes(&["work"]), None, 9).await.expect("reads").len(), 1);
    assert_eq!(records.entries(&[], None, 9).await, Ok(Vec::new()));
    assert_eq!(records.forget(&id, &scopes(&["notes"])).await, Ok(false));
    assert_eq!(records.forget(&id, &[]).await, Ok(false));
    assert_eq!(asked(&["work"]).await, 1);
    assert_eq!(records.forget(&id, &scopes(&["notes", "work"])).await, Ok(true));
    assert_eq!(asked(&["work"]).await, 0);
}

#[tokio::test]
async fn the_same_text_in_the_same_scope_is_stored_once() {
    let home = Home::new();
    let records = home.open();
    let first = remember(&records, "a text").await;
    let (again, third) = tokio::join!(remember(&records, "a text"), remember(&records, "a text "));
    assert_eq!(again, first);
    assert_ne!(third, first);
    let other = records.remember("a text", "work", &owner()).await.expect("remembers");
    assert_ne!(other, first);
    assert_eq!(records.forget(&first, &scopes(&["notes"])).await, Ok(true));
    assert_ne!(remember(&records, "a text").await, first);
}

#[tokio::test]
async fn entries_come_oldest_first_page_by_page() {
    let home = Home::new();
    let records = home.open();
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(remember(&records, &format!("text {n}")).await);
    }
    drop(records);
    let records = home.open();
    ids.push(remember(&records, "text 5").await);
    let page = async |after: Option<&str>, limit: usize| {
        let entries = records.entries(&scopes(&["notes"]), after, limit).await.expect("reads");
        assert!(entries.iter().all(|memory| memory.score == 0.0));
        entries.into_iter().map(|memory| memory.id).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 99).await, ids);
    assert_eq!(page(None, 2).await, ids[..2]);
    // A page goes on after an entry that was forgotten in between.
    assert_eq!(records.forget(&ids[1], &scopes(&["notes"])).await, Ok(true));
    assert_eq!(page(Some(ids[1].as_str()), 2).await, ids[2..4]);
    assert_eq!(page(Some(ids[5].as_str()), 2).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_be_remembered_is_refused() {
    let home = Home::new();
    let records = home.open();
    let long = "é".repeat(TEXT_BYTES_MAX / 2);
    let refused = async |text: &str, scope: &str, why: &str| {
        let error = records.remember(text, scope, &owner()).await.expect_err("refused");
        assert!(error.to_string().contains(why), "{error}");
    };
    refused(&format!("{long}x"), "notes", "65537 bytes").await;
    refused(" \n", "notes", "empty").await;
    refused("a", "", "scope").await;
    refused("a", "Notes", "scope").await;
    remember(&records, &long).await;
    let odd = "bell \u{7}, nul \0, escape \u{1b}[2J, override \u{202e}";
    remember(&records, odd).await;
    assert_eq!(found(&records, "override").await, [odd]);
}

#[tokio::test]
async fn a_full_scope_takes_no_more_and_another_does() {
    let home = Home::new();
    let records = home.open();
    let fill = "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 19999)
                INSERT INTO memories (id, scope, text, hash, origin, stored_ms)
                SELECT printf('%032x', i), 'notes', 'filler', unhex(printf('%064x', i)), 'owner', 1 FROM c";
    home.raw().execute(fill, []).expect("fills");
    let last = remember(&records, "the last").await;
    let error = records.remember("one more", "notes", &owner()).await.expect_err("refused");
    assert!(error.to_string().contains("notes holds 20000 texts already"), "{error}");
    assert!(records.remember("one more", "work", &owner()).await.is_ok());
    assert_eq!(remember(&records, "the last").await, last);
    assert_eq!(records.forget(&last, &scopes(&["notes"])).await, Ok(true));
    remember(&records, "one more").await;
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_file() {
    let home = Home::new();
    let records = home.open();
    for n in 0..100 {
        remember(&records, &format!("filler {n} 会議 số {}", n * 7_919)).await;
    }
    let id = remember(&records, "Quetzalcoatl 秘密暗号 Đặngxuyên").await;
    for n in 0..100 {
        remember(&records, &format!("more {n} 天気 filler {}", n * 7_919)).await;
    }
    let traces = ["Quetzalcoatl", "quetzalcoatl", "秘密", "密暗", "暗号", "angxuy"];
    drop(records);
    assert!(traces.iter().all(|trace| home.count(trace.as_bytes()) > 0), "nothing to forget");
    let records = home.open();
    assert_eq!(records.forget(&id, &scopes(&["notes"])).await, Ok(true));
    assert_eq!(records.forget(&id, &scopes(&["notes"])).await, Ok(false));
    for asked in ["quetzalcoatl", "暗号", "dangxuyen"] {
        assert_eq!(found(&records, asked).await, Vec::<String>::new(), "{asked}");
    }
    assert_eq!(found(&records, "会議").await.len(), 10);
    drop(records);
    for trace in traces {
        assert_eq!(home.count(trace.as_bytes()), 0, "{trace}");
    }
    let check: String = home.raw().query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checks");
    assert_eq!(check, "ok");
}
