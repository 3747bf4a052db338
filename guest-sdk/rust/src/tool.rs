//! How a tool is described: name, title, summary, arguments and what it may do to the world.

use crate::{Effects, ObjectSchema, Schema, Tool};

impl Tool {
    /// A tool without arguments and without effects; the methods below add them.
    ///
    /// `name` is 1 to 48 of a-z, 0-9 and underscore. `summary` is what the model reads, at most 1,024 characters.
    pub fn new(name: &str, title: &str, summary: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            summary: summary.to_owned(),
            input_schema: Schema::object().into_json(),
            output_schema: None,
            effects: Effects::empty(),
            extras: Vec::new(),
        }
    }

    /// The arguments. The host checks every call against them before the guest sees it.
    pub fn input(mut self, schema: ObjectSchema) -> Self {
        self.input_schema = schema.into_json();
        self
    }

    /// The shape of the first data part of a result.
    pub fn output(mut self, schema: ObjectSchema) -> Self {
        self.output_schema = Some(schema.into_json());
        self
    }

    /// What the tool may do to the world. A claim: leaving one out never gains anything.
    pub fn effects(mut self, effects: Effects) -> Self {
        self.effects = effects;
        self
    }

    /// A hint that this version of the interface does not know.
    pub fn extra(mut self, key: &str, value: &str) -> Self {
        self.extras.push((key.to_owned(), value.to_owned()));
        self
    }
}
