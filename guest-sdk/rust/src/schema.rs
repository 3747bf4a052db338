//! Which arguments a tool takes, as JSON Schema text that keeps the order in which they were added.
//!
//! Only what describes arguments: objects, strings, numbers, switches, lists, maps of strings, fixed choices. Written
//! as text straight away, because a tree of values that sorts its keys would show the model its arguments out of order.

use serde_json::Value;

/// One value: its type, what it means, and its bounds.
#[derive(Clone)]
pub struct Schema {
    json: String,
}

/// The arguments of a tool, or an object inside of them. Names that were not added are refused, unless it is open.
#[derive(Clone, Default)]
pub struct ObjectSchema {
    description: Option<String>,
    properties: Vec<(String, String)>,
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
        Self::typed("string", description).with("enum", &choices.iter().copied().collect())
    }

    /// A list of equal items.
    pub fn list(description: &str, item: &Self) -> Self {
        let mut list = Self::typed("array", description);
        list.append("items", &item.json);
        list
    }

    /// An object with any names, whose values are all alike.
    pub fn map(description: &str, value: &Self) -> Self {
        let mut map = Self::typed("object", description);
        map.append("additionalProperties", &value.json);
        map
    }

    /// The smallest number allowed.
    pub fn minimum(self, smallest: i64) -> Self {
        self.with("minimum", &smallest.into())
    }

    /// The largest number allowed.
    pub fn maximum(self, largest: i64) -> Self {
        self.with("maximum", &largest.into())
    }

    /// The fewest characters allowed.
    pub fn min_length(self, characters: u32) -> Self {
        self.with("minLength", &characters.into())
    }

    /// The most characters allowed.
    pub fn max_length(self, characters: u32) -> Self {
        self.with("maxLength", &characters.into())
    }

    /// What is used when the argument is left out; told to the model, filled in by the tool.
    pub fn default(self, value: impl Into<Value>) -> Self {
        self.with("default", &value.into())
    }

    fn typed(kind: &str, description: &str) -> Self {
        Self { json: format!(r#"{{"type":"{kind}","description":{}}}"#, quoted(description)) }
    }

    fn with(mut self, key: &str, value: &Value) -> Self {
        self.append(key, &value.to_string());
        self
    }

    fn append(&mut self, key: &str, json: &str) {
        self.json.pop();
        self.json.push_str(&format!(r#","{key}":{json}}}"#));
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
        self.properties.push((name.to_owned(), schema.json));
        self
    }

    /// Lets a call give properties that were not added.
    pub fn open(mut self) -> Self {
        self.open = true;
        self
    }

    /// Uses the object as a value inside another one.
    pub fn nested(self) -> Schema {
        Schema { json: self.into_json() }
    }

    /// The schema as JSON text.
    pub fn into_json(self) -> String {
        let properties: Vec<String> =
            self.properties.iter().map(|(name, json)| format!("{}:{json}", quoted(name))).collect();
        let required: Vec<String> = self.required.iter().map(|name| quoted(name)).collect();
        let description =
            self.description.map(|text| format!(r#""description":{},"#, quoted(&text))).unwrap_or_default();
        format!(
            r#"{{"type":"object",{description}"properties":{{{}}},"required":[{}],"additionalProperties":{}}}"#,
            properties.join(","),
            required.join(","),
            self.open
        )
    }
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
}
