//! Is a permit good for exactly one call?

use chitin_types::{Capabilities, ToolName};
use serde_json::json;

use super::*;
use crate::{Defaults, Grant, grant::CallRule};

fn name(text: &str) -> FunctionName {
    FunctionName::parse(text).expect("a function name")
}

fn call(args: Value) -> Call {
    let id = CallId::parse("c1").expect("an id");
    Call { id, component: Digest::of(b"x"), function: name("f"), args, effects: Effects::default() }
}

fn grants(change: impl FnOnce(&mut Grant)) -> Arc<Grants> {
    let mut grant = Grant::nothing(ToolName::parse("acme/x").expect("a name"), Digest::of(b"x"));
    change(&mut grant);
    Arc::new(Grants::intersect(Capabilities::default(), grant, Capabilities::default(), &Defaults::default()))
}

fn permit(args: Value) -> Authorized {
    match authorize(&grants(|_| ()), &call(args), &BTreeSet::new()) {
        Verdict::Allow(permit) => permit,
        other => panic!("not allowed: {other:?}"),
    }
}

#[test]
fn a_permit_opens_only_its_own_call() {
    let args = json!({"a": 1, "b": [2]});
    let reordered = json!({"b": [2], "a": 1});
    let (component, function) = (Digest::of(b"x"), name("f"));
    assert!(permit(args.clone()).redeem(&component, &function, &reordered).is_ok());
    let rule = |result: Result<Arc<Grants>, Denial>| result.expect_err("another call").rule;
    assert_eq!(rule(permit(args.clone()).redeem(&component, &function, &json!({"a": 1}))), "permit:digest");
    assert_eq!(rule(permit(args.clone()).redeem(&component, &name("g"), &args)), "permit:digest");
    assert_eq!(rule(permit(args.clone()).redeem(&Digest::of(b"y"), &function, &args)), "permit:digest");
}

#[test]
fn a_grant_opens_only_its_own_component() {
    let deny = |grants: Arc<Grants>| match authorize(&grants, &call(json!({})), &BTreeSet::new()) {
        Verdict::Deny(denial) => denial.rule,
        other => panic!("not denied: {other:?}"),
    };
    assert_eq!(deny(grants(|g| g.pin = None)), "grant:absent");
    assert_eq!(deny(grants(|g| g.pin.as_mut().expect("a pin").component = Digest::of(b"other"))), "grant:pin");
}

#[test]
fn claims_and_rules_make_a_person_be_asked() {
    let asks = |ask: Option<Ask>, destroys: bool, approved: &[&str]| {
        let grants = grants(|g| g.call.extend(ask.map(|ask| CallRule { functions: vec![name("f")], ask })));
        let mut call = call(json!({}));
        call.effects.destroys = destroys;
        let approved = approved.iter().map(|rule| (*rule).to_owned()).collect();
        matches!(authorize(&grants, &call, &approved), Verdict::Ask(_))
    };
    assert!(!asks(None, false, &[]));
    assert!(asks(None, true, &[]));
    assert!(asks(Some(Ask::Each), false, &["call:f"]));
    assert!(asks(Some(Ask::Session), false, &[]));
    assert!(!asks(Some(Ask::Session), false, &["call:f"]));
    assert!(!asks(Some(Ask::Never), true, &[]));
}

#[test]
fn a_yes_counts_for_what_was_shown_and_until_it_expires() {
    let grants = grants(|g| g.call.push(CallRule { functions: vec![name("f")], ask: Ask::Each }));
    let one = call(json!({"to": "a"}));
    let pending = || match authorize(&grants, &one, &BTreeSet::new()) {
        Verdict::Ask(pending) => pending,
        other => panic!("not asked: {other:?}"),
    };
    let yes = Approval { digest: one.digest(), expires_at_ms: 100 };
    assert!(pending().approve(yes, 100).is_ok());
    assert!(pending().approve(yes, 101).is_err());
    let other = Approval { digest: call(json!({"to": "b"})).digest(), ..yes };
    assert!(pending().approve(other, 100).is_err());
}
