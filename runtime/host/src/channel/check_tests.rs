//! Who gets in, and who does not by one changed byte.

use super::*;

const NOW_MS: u64 = 1_700_000_100_000;
const SIGNATURE: &str = "ad80384b3dd64c1271fa2e558988e0e2d35b9b33aee3062d46e671d54f2e0cb9";

fn recipe() -> HmacRecipe {
    HmacRecipe {
        header: "x-chitin-signature".to_owned(),
        prefix: "sha256=".to_owned(),
        timestamp_header: Some("x-chitin-timestamp".to_owned()),
        tolerance_s: 300,
    }
}

fn ask() -> ChannelAsk {
    let route = Route { name: "in".to_owned(), methods: vec!["POST".to_owned()], body_kib: 1, hmac: recipe() };
    ChannelAsk { tick_s: None, routes: vec![route] }
}

/// `HMAC-SHA256("top secret", "1700000000." + body)`, as Python's `hmac` computes it.
fn signed() -> HttpIn {
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("x-chitin-signature", format!("sha256={SIGNATURE}")),
        ("x-chitin-timestamp", "1700000000".to_owned()),
    ];
    HttpIn {
        route: "in".to_owned(),
        method: "POST".to_owned(),
        path: "/webhook/desk".to_owned(),
        query: None,
        headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        body: br#"{"id":"1"}"#.to_vec(),
    }
}

fn set(request: &mut HttpIn, name: &str, value: &str) {
    request.headers.retain(|(key, _)| key != name);
    request.headers.push((name.to_owned(), value.to_owned()));
}

fn check(change: impl FnOnce(&mut HttpIn), now_ms: u64, expected: &Result<(), ChannelError>) {
    let mut request = signed();
    change(&mut request);
    let verdict = verify(&recipe(), &Secret::new("top secret"), &request, now_ms);
    assert_eq!(&verdict.map(|_| ()), expected, "{request:?} at {now_ms}");
}

#[test]
fn the_known_answer_of_the_standard_is_accepted() {
    // RFC 4231, test case 2, without a time.
    let recipe = HmacRecipe { prefix: String::new(), timestamp_header: None, ..recipe() };
    let mut request = signed();
    request.body = b"what do ya want for nothing?".to_vec();
    let digits = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    set(&mut request, "x-chitin-signature", digits);
    assert_eq!(verify(&recipe, &Secret::new("Jefe"), &request, NOW_MS), Ok(None));
    assert_eq!(verify(&recipe, &Secret::new("jefe"), &request, NOW_MS), Err(ChannelError::BadSignature));
}

#[test]
fn a_signed_request_is_known_by_its_signature_until_its_time_is_too_old() {
    let stamp = verify(&recipe(), &Secret::new("top secret"), &signed(), NOW_MS).expect("it is signed");
    let stamp = stamp.expect("it has a time");
    assert_eq!((hex::encode(stamp.signature).as_str(), stamp.expires_ms), (SIGNATURE, 1_700_000_301_000));
}

#[test]
fn each_changed_byte_is_refused_and_the_twin_is_let_in() {
    let bad = || Err(ChannelError::BadSignature);
    check(|_| {}, NOW_MS, &Ok(()));
    check(|r| set(r, "x-chitin-signature", &format!("sha256={}", SIGNATURE.to_uppercase())), NOW_MS, &Ok(()));
    check(|r| r.body.push(b' '), NOW_MS, &bad());
    check(|r| set(r, "x-chitin-timestamp", "1700000001"), NOW_MS, &bad());
    check(|r| set(r, "x-chitin-timestamp", ""), NOW_MS, &bad());
    check(|r| r.headers.retain(|(name, _)| name != "x-chitin-timestamp"), NOW_MS, &bad());
    check(|r| r.headers.retain(|(name, _)| name != "x-chitin-signature"), NOW_MS, &bad());
    check(|r| set(r, "x-chitin-signature", SIGNATURE), NOW_MS, &bad());
    check(|r| set(r, "x-chitin-signature", "sha256="), NOW_MS, &bad());
    check(|r| set(r, "x-chitin-signature", "sha256=zz"), NOW_MS, &bad());
    check(|r| set(r, "x-chitin-signature", &format!("sha256={SIGNATURE}00")), NOW_MS, &bad());
    check(|r| r.headers.push(("X-Chitin-Signature".to_owned(), "sha256=00".to_owned())), NOW_MS, &bad());
}

#[test]
fn a_time_too_far_from_now_is_a_replay_in_both_directions() {
    let signed_ms = 1_700_000_000_000;
    for (now_ms, expected) in [
        (signed_ms + 300_999, Ok(())),
        (signed_ms + 301_000, Err(ChannelError::Replay)),
        (signed_ms - 300_000, Ok(())),
        (signed_ms - 300_001, Err(ChannelError::Replay)),
        (0, Err(ChannelError::Replay)),
    ] {
        check(|_| {}, now_ms, &expected);
    }
}

#[test]
fn the_route_takes_its_methods_and_bodies_up_to_its_size() {
    let taken = |change: fn(&mut HttpIn)| {
        let mut request = signed();
        change(&mut request);
        route(&ask(), &request).map(|route| route.name.clone())
    };
    assert_eq!(taken(|_| {}), Ok("in".to_owned()));
    assert_eq!(taken(|r| r.route = "out".to_owned()), Err(ChannelError::NoRoute));
    assert_eq!(taken(|r| r.method = "GET".to_owned()), Err(ChannelError::NoRoute));
    assert_eq!(taken(|r| r.body = vec![0; 1_024]), Ok("in".to_owned()));
    assert_eq!(taken(|r| r.body = vec![0; 1_025]), Err(ChannelError::TooLarge { bytes_max: 1_024 }));
}

#[test]
fn credentials_stay_with_the_host() {
    let mut request = signed();
    for name in ["Authorization", "cookie", "x-api-key", "proxy-authorization", "x-request-id"] {
        request.headers.push((name.to_owned(), "value".to_owned()));
    }
    let left = without_credentials(&recipe(), request.headers);
    assert_eq!(left.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["content-type", "x-request-id"]);
}
