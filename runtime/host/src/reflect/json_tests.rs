//! Are the two directions inverse, and is everything that does not fit refused at its place?

use serde_json::json;

use super::*;
use crate::reflect::schema::of_params;

fn boxed(shape: Shape) -> Box<Shape> {
    Box::new(shape)
}

fn text(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn person() -> Shape {
    Shape::Record(vec![
        ("full-name".to_owned(), Shape::Text),
        ("age".to_owned(), Shape::Option(boxed(Shape::Whole(Width::U8)))),
    ])
}

fn choice() -> Shape {
    Shape::Variant(vec![
        ("none".to_owned(), None),
        ("some".to_owned(), Some(person())),
        ("on".to_owned(), Some(Shape::Bool)),
    ])
}

/// Whether the schema that a model reads accepts the JSON.
fn accepted(shape: &Shape, value: &Value) -> bool {
    let schema = of_params(&[("x".to_owned(), shape.clone())]);
    let validator = jsonschema::options().offline().build(&schema).expect("the schema is one");
    validator.is_valid(&json!({ "x": value }))
}

#[test]
fn what_goes_in_comes_out_the_same() {
    let either = Shape::Result { ok: Some(boxed(Shape::Char)), error: None };
    let pair = Shape::Tuple(vec![Shape::Bool, Shape::Option(boxed(Shape::Text))]);
    for (shape, value) in [
        (Shape::Bool, json!(true)),
        (Shape::Whole(Width::S8), json!(-128)),
        (Shape::Whole(Width::U8), json!(255)),
        (Shape::Whole(Width::S16), json!(-32768)),
        (Shape::Whole(Width::U16), json!(65535)),
        (Shape::Whole(Width::S32), json!(-2_147_483_648_i64)),
        (Shape::Whole(Width::U32), json!(4_294_967_295_u64)),
        (Shape::S64, json!("-9223372036854775808")),
        (Shape::U64, json!("18446744073709551615")),
        (Shape::F32, json!(0.5)),
        (Shape::F64, json!(-1e300)),
        (Shape::Char, json!("☂")),
        (Shape::Text, json!("a \"b\"\n☂")),
        (Shape::Bytes, json!("AP8=")),
        (Shape::Bytes, json!("")),
        (Shape::List(boxed(Shape::U64)), json!(["0", "7"])),
        (person(), json!({ "full-name": "Ada", "age": 36 })),
        (person(), json!({ "full-name": "Ada" })),
        (pair.clone(), json!([false, "x"])),
        (pair, json!([false, null])),
        (choice(), json!({ "none": true })),
        (choice(), json!({ "some": { "full-name": "Ada" } })),
        (choice(), json!({ "on": false })),
        (Shape::Enum(text(&["red", "dark-blue"])), json!("dark-blue")),
        (Shape::Flags(text(&["read", "write"])), json!(["read", "write"])),
        (Shape::Flags(text(&["read", "write"])), json!([])),
        (Shape::List(boxed(Shape::Option(boxed(Shape::Bool)))), json!([null, true])),
        (either.clone(), json!({ "ok": "y" })),
        (either, json!({ "error": true })),
    ] {
        assert!(accepted(&shape, &value), "the schema of {} refuses {value}", shape.wit());
        let val = from_json(&shape, &value).unwrap_or_else(|error| panic!("{} {value}: {error}", shape.wit()));
        assert_eq!(to_json(&shape, &val), Ok(value), "{}", shape.wit());
    }
}

#[test]
fn what_does_not_fit_is_refused_at_its_place() {
    let people = Shape::List(boxed(person()));
    let pair = Shape::Tuple(vec![Shape::Bool, Shape::Bool]);
    for (shape, good, bad, place) in [
        (Shape::Bool, json!(true), json!("true"), "/: "),
        (Shape::Whole(Width::S8), json!(127), json!(128), "/: "),
        (Shape::Whole(Width::U8), json!(0), json!(-1), "/: "),
        (Shape::Whole(Width::U32), json!(1), json!(1.5), "/: "),
        (Shape::S64, json!("-1"), json!(-1), "/: "),
        (Shape::S64, json!("0"), json!("-0"), "/: "),
        (Shape::U64, json!("7"), json!("+7"), "/: "),
        (Shape::U64, json!("7"), json!("07"), "/: "),
        (Shape::U64, json!("18446744073709551615"), json!("18446744073709551616"), "/: "),
        (Shape::F32, json!(1e38), json!(1e39), "/: "),
        (Shape::F64, json!(1), json!("NaN"), "/: "),
        (Shape::Char, json!("e"), json!("e\u{301}"), "/: "),
        (Shape::Bytes, json!("AA=="), json!("AA"), "/: "),
        (Shape::Bytes, json!("AA=="), json!("A*=="), "/: "),
        (people.clone(), json!([{ "full-name": "A" }]), json!([{ "full-name": "A" }, { "age": 1 }]), "/1/full-name: "),
        (people.clone(), json!([]), json!([{ "full-name": "A", "age": 256 }]), "/0/age: "),
        (people.clone(), json!([]), json!([{ "full-name": "A", "age": null }]), "/0/age: "),
        (people, json!([]), json!([{ "full-name": "A", "sex": "f" }]), "/0/sex: "),
        (pair, json!([true, true]), json!([true, true, true]), "/: "),
        (choice(), json!({ "none": true }), json!({ "none": {} }), "/none: "),
        (choice(), json!({ "none": true }), json!({ "other": true }), "/other: "),
        (choice(), json!({ "none": true }), json!({ "none": true, "on": true }), "/: "),
        (choice(), json!({ "none": true }), json!("none"), "/: "),
        (Shape::Enum(text(&["red"])), json!("red"), json!("blue"), "/: "),
        (Shape::Flags(text(&["a", "b"])), json!(["a", "b"]), json!(["a", "a"]), "/: "),
        (Shape::Flags(text(&["a", "b"])), json!(["a"]), json!(["c"]), "/: "),
    ] {
        assert!(from_json(&shape, &good).is_ok(), "{} {good}", shape.wit());
        let error = from_json(&shape, &bad).expect_err(place);
        assert!(error.to_string().starts_with(&format!("at {place}")), "{} {bad}: {error}", shape.wit());
    }
}

#[test]
fn a_result_that_json_cannot_say_is_refused_at_its_place() {
    let shape = Shape::List(boxed(Shape::F64));
    let list = |number: f64| Val::List(vec![Val::Float64(0.0), Val::Float64(number)]);
    assert_eq!(to_json(&shape, &list(-0.5)), Ok(json!([0.0, -0.5])));
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = to_json(&shape, &list(number)).expect_err("no number");
        assert!(error.to_string().starts_with("at /1: "), "{error}");
    }
    assert!(to_json(&Shape::Bool, &Val::U8(1)).is_err(), "a value of another type");
}

#[test]
fn parameters_are_all_there_and_nothing_else() {
    let params = vec![("text".to_owned(), Shape::Text), ("times".to_owned(), Shape::Option(boxed(Shape::U64)))];
    let good = params_from_json(&params, &json!({ "text": "x" })).expect("the arguments fit");
    assert_eq!(good, [Val::String("x".to_owned()), Val::Option(None)]);
    for bad in [json!({}), json!({ "text": "x", "more": 1 }), json!([]), json!(null)] {
        assert!(params_from_json(&params, &bad).is_err(), "{bad}");
    }
    assert_eq!(
        of_params(&params),
        json!({
            "type": "object",
            "properties": {
                "text": { "type": "string" },
                "times": { "type": "string", "pattern": "^(0|[1-9][0-9]{0,19})$" },
            },
            "required": ["text"],
            "additionalProperties": false,
        })
    );
}
