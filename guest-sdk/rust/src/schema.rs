//! Which arguments a tool takes, as JSON Schema text that keeps the order in which they were added.
//!
//! Only what describes arguments: objects, strings, numbers, switches, lists, maps of strings, fixed choices. Written
//! as text straight away, because a tree of values that sorts its keys would show the model its arguments out of order.

use std::fmt::Display;

use serde_json::Value;

use crate::Parameter;

/// One value: its type, what it means, and its bounds.
#[derive(Clone)]
pub struct Schema {
    /// In the order in which they are shown; the values are JSON.
    keys: Vec<(&'static str, String)>,
}

/// The arguments of a tool, or an object inside of them. Names that were not added are refused, unless it is open.
#[derive(Clone, Default)]
pub struct ObjectSchema {
    description: Option<String>,
    properties: Vec<(String, Schema)>,
    required: Vec<String>,
    open: bool,
}

impl Schema {
    /// An object without properties yet.
    pub fn object() -> ObjectSchema {
        ObjectSchema::default()
    }

    /// Text.
    pub fn string(description: &str) -> Self {
        Self::typed("string", description)
    }

    /// A whole number.
    pub fn integer(description: &str) -> Self {
        Self::typed("integer", description)
    }

    /// Any number.
    pub fn number(description: &str) -> Self {
        Self::typed("number", description)
    }

    /// A switch.
    pub fn boolean(description: &str) -> Self {
        Self::typed("boolean", description)
    }

    /// One of a few fixed texts.
    pub fn choice(description: &str, choices: &[&str]) -> Self {
        Self::typed("string", description).choices(choices)
    }

    /// A list of equal items.
    pub fn list(description: &str, item: &Self) -> Self {
        Self::typed("array", description).with("items", item.json())
    }

    /// An object with any names, whose values are all alike.
    pub fn map(description: &str, value: &Self) -> Self {
        Self::typed("object", description).with("additionalProperties", value.json())
    }

    /// Any JSON value.
    pub fn any(description: &str) -> Self {
        Self { keys: Vec::new() }.described(description)
    }

    /// The only texts allowed.
    pub fn choices(self, choices: &[&str]) -> Self {
        self.with("enum", choices.iter().copied().collect::<Value>().to_string())
    }

    /// The smallest number allowed.
    pub fn minimum(self, smallest: impl Into<i64>) -> Self {
        self.with("minimum", smallest.into().to_string())
    }

    /// The largest number allowed.
    pub fn maximum(self, largest: impl Into<i64>) -> Self {
        self.with("maximum", largest.into().to_string())
    }

    /// The fewest characters allowed.
    pub fn min_length(self, characters: u32) -> Self {
        self.with("minLength", characters.to_string())
    }

    /// The most characters allowed.
    pub fn max_length(self, characters: u32) -> Self {
        self.with("maxLength", characters.to_string())
    }

    /// What is used when the argument is left out; told to the model, filled in by the tool.
    pub fn default(self, value: impl Into<Value>) -> Self {
        self.with("default", value.into().to_string())
    }

    fn typed(kind: &str, description: &str) -> Self {
        Self { keys: vec![("type", quoted(kind))] }.described(description)
    }

    /// The items of a list are described with the list, and have no description of their own.
    fn described(self, description: &str) -> Self {
        if description.is_empty() { self } else { self.with("description", quoted(description)) }
    }

    /// What is set a second time stays in its place and changes its value.
    fn with(mut self, key: &'static str, json: String) -> Self {
        match self.keys.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = json,
            None => self.keys.push((key, json)),
        }
        self
    }

    fn json(&self) -> String {
        object(self.keys.iter().map(|(key, json)| (*key, json)))
    }
}

impl ObjectSchema {
    /// Says what the object as a whole is for.
    pub fn describe(mut self, description: &str) -> Self {
        self.description = Some(description.to_owned());
        self
    }

    /// Adds a property that every call must give.
    pub fn required(mut self, name: &str, schema: Schema) -> Self {
        self.required.push(name.to_owned());
        self.optional(name, schema)
    }

    /// Adds a property that a call may leave out.
    pub fn optional(mut self, name: &str, schema: Schema) -> Self {
        self.properties.push((name.to_owned(), schema));
        self
    }

    /// Adds a property that a call may leave out when the type says so. Called by `#[tool]`.
    #[doc(hidden)]
    pub fn argument<P: Parameter>(self, name: &str, schema: Schema) -> Self {
        if P::IS_OPTIONAL { self.optional(name, schema) } else { self.required(name, schema) }
    }

    /// Lets a call give properties that were not added.
    pub fn open(mut self) -> Self {
        self.open = true;
        self
    }

    /// Uses the object as a value inside another one.
    pub fn nested(self) -> Schema {
        let required: Vec<String> = self.required.iter().map(|name| quoted(name)).collect();
        let properties = self.properties.iter().map(|(name, schema)| (name.as_str(), schema.json()));
        Schema::typed("object", self.description.as_deref().unwrap_or_default())
            .with("properties", object(properties))
            .with("required", format!("[{}]", required.join(",")))
            .with("additionalProperties", self.open.to_string())
    }

    /// The schema as JSON text.
    pub fn into_json(self) -> String {
        self.nested().json()
    }
}

fn object<'a>(members: impl Iterator<Item = (&'a str, impl Display)>) -> String {
    let members: Vec<String> = members.map(|(key, json)| format!("{}:{json}", quoted(key))).collect();
    format!("{{{}}}", members.join(","))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_keep_the_order_in_which_they_were_added() {
        let schema = Schema::object()
            .required("path", Schema::string("Which \"file\".").min_length(1))
            .optional("limit", Schema::integer("How many.").minimum(1).default(10))
            .optional("tags", Schema::list("Labels.", &Schema::choice("One.", &["a", "b"])));
        assert_eq!(
            schema.into_json(),
            concat!(
                r#"{"type":"object","properties":{"#,
                r#""path":{"type":"string","description":"Which \"file\".","minLength":1},"#,
                r#""limit":{"type":"integer","description":"How many.","minimum":1,"default":10},"#,
                r#""tags":{"type":"array","description":"Labels.","items":"#,
                r#"{"type":"string","description":"One.","enum":["a","b"]}}"#,
                r#"},"required":["path"],"additionalProperties":false}"#
            )
        );
    }

    #[test]
    fn an_object_without_properties_takes_no_arguments() {
        assert_eq!(
            Schema::object().into_json(),
            r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#
        );
    }

    #[test]
    fn a_bound_that_is_set_twice_counts_once() {
        let schema = Schema::integer("").minimum(0).maximum(9).minimum(1);
        assert_eq!(schema.json(), r#"{"type":"integer","minimum":1,"maximum":9}"#);
    }
}
