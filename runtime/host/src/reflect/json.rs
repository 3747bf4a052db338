//! How do arguments become values, and values a result? JSON goes in and values come out, and back, each the exact inverse
//! of the other.
//!
//! The arguments satisfied the schema before; they are checked here all the same, because a schema cannot say
//! everything (base64, 64 bits, single precision) and nothing may reach the guest's types unchecked.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Number, Value, json};
use wasmtime::component::Val;

use super::shape::{Shape, Width};

/// What does not fit, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    what: String,
    // From the inside out, as it is found on the way back.
    path: Vec<String>,
}

impl Wrong {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), path: vec![] }
    }

    fn within(mut self, step: impl Into<String>) -> Self {
        self.path.push(step.into());
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("at /")?;
        f.write_str(&self.path.iter().rev().map(String::as_str).collect::<Vec<_>>().join("/"))?;
        write!(f, ": {}", self.what)
    }
}

/// The values of a function's parameters, in their order.
///
/// # Errors
/// The first place that does not fit.
pub(crate) fn params_from_json(params: &[(String, Shape)], args: &Value) -> Result<Vec<Val>, Wrong> {
    Ok(fields_from_json(params, args)?.into_iter().map(|(_, value)| value).collect())
}

fn from_json(shape: &Shape, value: &Value) -> Result<Val, Wrong> {
    let expected = |what: &str| Wrong::new(format!("expected {what}"));
    match shape {
        Shape::Bool => value.as_bool().map(Val::Bool).ok_or_else(|| expected("true or false")),
        Shape::Whole(width) => whole(*width, value),
        Shape::S64 => digits(value).map(Val::S64).ok_or_else(|| expected("a whole number of 64 bits in a string")),
        Shape::U64 => {
            digits(value).map(Val::U64).ok_or_else(|| expected("a whole number of 64 bits, 0 or more, in a string"))
        }
        Shape::F32 => finite(value).and_then(single).map(Val::Float32).ok_or_else(|| expected("a number that fits")),
        Shape::F64 => finite(value).map(Val::Float64).ok_or_else(|| expected("a number that fits")),
        Shape::Char => one_char(value).map(Val::Char).ok_or_else(|| expected("a string of one character")),
        Shape::Text => value.as_str().map(|text| Val::String(text.to_owned())).ok_or_else(|| expected("a string")),
        Shape::Bytes => {
            let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
            let bytes = bytes.ok_or_else(|| expected("base64 with padding in a string"))?;
            Ok(Val::List(bytes.into_iter().map(Val::U8).collect()))
        }
        Shape::List(element) => {
            let items = value.as_array().ok_or_else(|| expected("an array"))?;
            let each =
                items.iter().enumerate().map(|(i, item)| from_json(element, item).map_err(|e| e.within(i.to_string())));
            each.collect::<Result<_, _>>().map(Val::List)
        }
        Shape::Record(fields) => fields_from_json(fields, value).map(Val::Record),
        Shape::Tuple(shapes) => {
            let items = value.as_array().filter(|items| items.len() == shapes.len());
            let items = items.ok_or_else(|| expected(&format!("an array of {}", shapes.len())))?;
            let pairs = shapes.iter().zip(items).enumerate();
            let each = pairs.map(|(i, (shape, item))| from_json(shape, item).map_err(|e| e.within(i.to_string())));
            each.collect::<Result<_, _>>().map(Val::Tuple)
        }
        Shape::Variant(cases) => {
            let (name, payload) = only_property(value).ok_or_else(|| expected("an object of one property"))?;
            let case = cases.iter().find(|(case, _)| case == name);
            let (_, shape) = case.ok_or_else(|| expected("one of the cases").within(name))?;
            Ok(Val::Variant(name.to_owned(), payload_from_json(shape.as_ref(), name, payload)?))
        }
        Shape::Enum(names) => {
            let name = value.as_str().filter(|name| names.iter().any(|known| known == name));
            name.map(|name| Val::Enum(name.to_owned())).ok_or_else(|| expected(&format!("one of {}", names.join(", "))))
        }
        Shape::Flags(names) => flags(names, value),
        Shape::Option(_) if value.is_null() => Ok(Val::Option(None)),
        Shape::Option(inner) => Ok(Val::Option(Some(Box::new(from_json(inner, value)?)))),
        Shape::Result { ok, error } => match only_property(value) {
            Some(("ok", payload)) => Ok(Val::Result(Ok(payload_from_json(ok.as_deref(), "ok", payload)?))),
            Some(("error", payload)) => Ok(Val::Result(Err(payload_from_json(error.as_deref(), "error", payload)?))),
            Some(_) | None => Err(expected("an object of one property, ok or error")),
        },
    }
}

/// The JSON of a value that the guest gave.
///
/// # Errors
/// A float is not finite, which JSON cannot say.
pub(crate) fn to_json(shape: &Shape, value: &Val) -> Result<Value, Wrong> {
    Ok(match (shape, value) {
        (Shape::Bool, Val::Bool(value)) => json!(value),
        (Shape::Whole(_), Val::S8(value)) => json!(value),
        (Shape::Whole(_), Val::U8(value)) => json!(value),
        (Shape::Whole(_), Val::S16(value)) => json!(value),
        (Shape::Whole(_), Val::U16(value)) => json!(value),
        (Shape::Whole(_), Val::S32(value)) => json!(value),
        (Shape::Whole(_), Val::U32(value)) => json!(value),
        (Shape::S64, Val::S64(value)) => json!(value.to_string()),
        (Shape::U64, Val::U64(value)) => json!(value.to_string()),
        (Shape::F32, Val::Float32(value)) => number(f64::from(*value))?,
        (Shape::F64, Val::Float64(value)) => number(*value)?,
        (Shape::Char, Val::Char(value)) => json!(value.to_string()),
        (Shape::Text, Val::String(value)) => json!(value),
        (Shape::Bytes, Val::List(items)) => {
            let bytes: Option<Vec<u8>> =
                items.iter().map(|item| if let Val::U8(byte) = item { Some(*byte) } else { None }).collect();
            json!(STANDARD.encode(bytes.ok_or_else(other_type)?))
        }
        (Shape::List(element), Val::List(items)) => {
            let each =
                items.iter().enumerate().map(|(i, item)| to_json(element, item).map_err(|e| e.within(i.to_string())));
            Value::Array(each.collect::<Result<_, _>>()?)
        }
        (Shape::Record(fields), Val::Record(values)) => record(fields, values)?,
        (Shape::Tuple(shapes), Val::Tuple(items)) => {
            let pairs = shapes.iter().zip(items).enumerate();
            let each = pairs.map(|(i, (shape, item))| to_json(shape, item).map_err(|e| e.within(i.to_string())));
            Value::Array(each.collect::<Result<_, _>>()?)
        }
        (Shape::Variant(cases), Val::Variant(name, payload)) => {
            let (_, shape) = cases.iter().find(|(case, _)| case == name).ok_or_else(other_type)?;
            tagged(name, shape.as_ref(), payload.as_deref())?
        }
        (Shape::Enum(_), Val::Enum(name)) => json!(name),
        (Shape::Flags(_), Val::Flags(names)) => json!(names),
        (Shape::Option(_), Val::Option(None)) => Value::Null,
        (Shape::Option(inner), Val::Option(Some(value))) => to_json(inner, value)?,
        (Shape::Result { ok, .. }, Val::Result(Ok(value))) => tagged("ok", ok.as_deref(), value.as_deref())?,
        (Shape::Result { error, .. }, Val::Result(Err(value))) => tagged("error", error.as_deref(), value.as_deref())?,
        // The engine lifts by the component's own types, from which the shape was read.
        (_, _) => return Err(other_type()),
    })
}

fn fields_from_json(fields: &[(String, Shape)], value: &Value) -> Result<Vec<(String, Val)>, Wrong> {
    let object = value.as_object().ok_or_else(|| Wrong::new("expected an object"))?;
    if let Some(unknown) = object.keys().find(|key| !fields.iter().any(|(name, _)| name == *key)) {
        return Err(Wrong::new("there is no such property").within(unknown));
    }
    let field = |(name, shape): &(String, Shape)| {
        let value = match (shape, object.get(name)) {
            (Shape::Option(_), None) => Val::Option(None),
            (Shape::Option(inner), Some(value)) => {
                Val::Option(Some(Box::new(from_json(inner, value).map_err(|e| e.within(name))?)))
            }
            (_, None) => return Err(Wrong::new("it is missing").within(name)),
            (shape, Some(value)) => from_json(shape, value).map_err(|e| e.within(name))?,
        };
        Ok((name.clone(), value))
    };
    fields.iter().map(field).collect()
}

fn record(fields: &[(String, Shape)], values: &[(String, Val)]) -> Result<Value, Wrong> {
    let mut object = Map::new();
    for ((name, shape), (_, value)) in fields.iter().zip(values) {
        if matches!((shape, value), (Shape::Option(_), Val::Option(None))) {
            continue;
        }
        object.insert(name.clone(), to_json(shape, value).map_err(|e| e.within(name))?);
    }
    Ok(Value::Object(object))
}

fn payload_from_json(shape: Option<&Shape>, name: &str, payload: &Value) -> Result<Option<Box<Val>>, Wrong> {
    match shape {
        Some(shape) => from_json(shape, payload).map(|value| Some(Box::new(value))).map_err(|e| e.within(name)),
        None if *payload == Value::Bool(true) => Ok(None),
        None => Err(Wrong::new("expected true, since nothing else belongs to it").within(name)),
    }
}

fn tagged(name: &str, shape: Option<&Shape>, payload: Option<&Val>) -> Result<Value, Wrong> {
    let payload = match (shape, payload) {
        (Some(shape), Some(value)) => to_json(shape, value).map_err(|e| e.within(name))?,
        (Some(_) | None, None) => Value::Bool(true),
        (None, Some(_)) => return Err(other_type()),
    };
    let mut object = Map::new();
    object.insert(name.to_owned(), payload);
    Ok(Value::Object(object))
}

fn whole(width: Width, value: &Value) -> Result<Val, Wrong> {
    let fits = |number: i64| match width {
        Width::S8 => i8::try_from(number).ok().map(Val::S8),
        Width::U8 => u8::try_from(number).ok().map(Val::U8),
        Width::S16 => i16::try_from(number).ok().map(Val::S16),
        Width::U16 => u16::try_from(number).ok().map(Val::U16),
        Width::S32 => i32::try_from(number).ok().map(Val::S32),
        Width::U32 => u32::try_from(number).ok().map(Val::U32),
    };
    value.as_i64().and_then(fits).ok_or_else(|| {
        let (least, most) = width.range();
        Wrong::new(format!("expected a whole number from {least} to {most}, without a fraction"))
    })
}

// One number has one spelling: no sign before a positive one, no zero in front.
fn digits<T: std::str::FromStr + ToString>(value: &Value) -> Option<T> {
    let text = value.as_str()?;
    text.parse::<T>().ok().filter(|number| number.to_string() == text)
}

fn finite(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest single is meant; what is too large becomes infinite")]
fn single(number: f64) -> Option<f32> {
    let single = number as f32;
    single.is_finite().then_some(single)
}

fn number(value: f64) -> Result<Value, Wrong> {
    Number::from_f64(value).map(Value::Number).ok_or_else(|| Wrong::new(format!("{value} is no number that JSON has")))
}

fn one_char(value: &Value) -> Option<char> {
    let mut chars = value.as_str()?.chars();
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

fn only_property(value: &Value) -> Option<(&str, &Value)> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    object.iter().next().map(|(name, value)| (name.as_str(), value))
}

fn flags(names: &[String], value: &Value) -> Result<Val, Wrong> {
    let wrong = || Wrong::new(format!("expected an array of different names out of {}", names.join(", ")));
    let items = value.as_array().ok_or_else(wrong)?;
    let mut set: Vec<String> = Vec::new();
    for item in items {
        let name = item.as_str().filter(|name| names.iter().any(|known| known == name)).ok_or_else(wrong)?;
        if set.iter().any(|known| known == name) {
            return Err(wrong());
        }
        set.push(name.to_owned());
    }
    Ok(Val::Flags(set))
}

fn other_type() -> Wrong {
    Wrong::new("the value is of another type than the function has")
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
