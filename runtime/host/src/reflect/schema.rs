//! What does the model read about the arguments? Shapes go in, JSON Schema 2020-12 comes out.

use serde_json::{Map, Value, json};

use super::shape::Shape;

/// The schema of a function's arguments: an object with one property for each parameter.
pub(crate) fn of_params(params: &[(String, Shape)]) -> Value {
    object(params)
}

fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Whole(width) => {
            let (least, most) = width.range();
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Shape::S64 => json!({ "type": "string", "pattern": "^(0|-?[1-9][0-9]{0,18})$" }),
        Shape::U64 => json!({ "type": "string", "pattern": "^(0|[1-9][0-9]{0,19})$" }),
        Shape::F32 | Shape::F64 => json!({ "type": "number" }),
        Shape::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
        Shape::List(element) => json!({ "type": "array", "items": of(element) }),
        Shape::Record(fields) => object(fields),
        Shape::Tuple(shapes) => {
            let count = shapes.len();
            let each: Vec<Value> = shapes.iter().map(of).collect();
            json!({ "type": "array", "prefixItems": each, "items": false, "minItems": count, "maxItems": count })
        }
        Shape::Variant(cases) => one_of(cases.iter().map(|(name, payload)| (name.as_str(), payload.as_ref()))),
        Shape::Enum(names) => json!({ "type": "string", "enum": names }),
        Shape::Flags(names) => {
            json!({ "type": "array", "items": { "type": "string", "enum": names }, "uniqueItems": true })
        }
        Shape::Option(inner) => json!({ "anyOf": [of(inner), { "type": "null" }] }),
        Shape::Result { ok, error } => one_of([("ok", ok.as_deref()), ("error", error.as_deref())].into_iter()),
    }
}

fn object(fields: &[(String, Shape)]) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    for (name, shape) in fields {
        let schema = match shape {
            Shape::Option(inner) => of(inner),
            always => {
                required.push(name);
                of(always)
            }
        };
        properties.insert(name.clone(), schema);
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn one_of<'a>(cases: impl Iterator<Item = (&'a str, Option<&'a Shape>)>) -> Value {
    let case = |(name, payload): (&str, Option<&Shape>)| {
        let schema = payload.map_or_else(|| json!({ "const": true }), of);
        let mut properties = Map::new();
        properties.insert(name.to_owned(), schema);
        json!({ "type": "object", "properties": properties, "required": [name], "additionalProperties": false })
    };
    json!({ "oneOf": cases.map(case).collect::<Vec<_>>() })
}
