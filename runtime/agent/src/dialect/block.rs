//! What stands between the tags? A text that begins with an opening tag goes in; its calls and its length come out, or
//! nothing when it is not certain that calls were meant.
//!
//! ```text
//!   <tool_call>{"name": …, "arguments": …}</tool_call>          also a list, several objects, "parameters",
//!                                                               {"function": {…}}, arguments as JSON text
//!   <invoke name="…">{…}</invoke>                               also <parameter name="…">…</parameter>
//!   <tool_calls><invoke …>…</invoke> …</tool_calls>             tags in tags
//! ```
//!
//! The end of a JSON value is found by reading it, never by searching for the closing tag, which may stand in a string.
//! Any closing tag closes. One may be missing only where the text ends. A value that is broken becomes a call whose
//! arguments are broken: it fails at the schema, and the model reads what was wrong.

use chitin_types::ToolSpec;
use serde_json::{Deserializer, Map, Value};

use super::tag;

/// The calls of one block.
#[derive(Debug, PartialEq)]
pub(super) struct Block<'a> {
    /// Its length, up to the end of its last tag.
    pub(super) bytes: usize,
    /// At least one.
    pub(super) calls: Vec<Written<'a>>,
}

/// One call, as it was written.
#[derive(Debug, PartialEq)]
pub(super) struct Written<'a> {
    /// The function's wire name; it may name no tool.
    pub(super) name: String,
    /// The arguments as text; they may be no JSON.
    pub(super) arguments: String,
    /// Where it was read from.
    pub(super) source: &'a str,
}

/// Reads the block at the beginning of `text`. `tools` say which parameters are text.
pub(super) fn read<'a>(text: &'a str, tools: &[ToolSpec]) -> Option<Block<'a>> {
    let mut reader = Reader { rest: text, depth: 0, calls: Vec::new(), tools };
    // Ends: each round takes at least one byte from the rest.
    while reader.take()? == Taken::Something && reader.depth > 0 {}
    // A second closing tag is a slip of the pen, and no text.
    while let Some(bytes) = tag::close(reader.rest.trim_start()) {
        reader.skip(bytes)?;
    }
    let is_whole = reader.depth == 0 || reader.rest.trim().is_empty();
    let bytes = text.len() - reader.rest.len();
    (is_whole && !reader.calls.is_empty()).then_some(Block { bytes, calls: reader.calls })
}

struct Reader<'a, 'b> {
    rest: &'a str,
    depth: usize,
    calls: Vec<Written<'a>>,
    tools: &'b [ToolSpec],
}

#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Something,
    Nothing,
}

impl<'a> Reader<'a, '_> {
    /// Takes the next tag or value; nothing at all means that this is no block of calls.
    fn take(&mut self) -> Option<Taken> {
        let here = self.rest.trim_start();
        if let Some(bytes) = tag::close(here) {
            self.depth = self.depth.saturating_sub(1);
            self.skip(bytes)?;
        } else if let Some(open) = tag::open(here) {
            self.skip(open.bytes)?;
            match (open.function, open.is_closed) {
                (Some(function), true) => self.add(function, "{}".to_owned(), here.get(..open.bytes)?)?,
                (Some(function), false) => {
                    self.depth += 1;
                    let arguments = self.body_of(function)?;
                    let source = here.get(..here.len().checked_sub(self.rest.len())?)?;
                    self.add(function, arguments, source)?;
                }
                (None, true) => {}
                (None, false) => self.depth += 1,
            }
        } else if self.depth > 0 && here.starts_with(['{', '[']) {
            self.values(here)?;
        } else {
            return Some(Taken::Nothing);
        }
        Some(Taken::Something)
    }

    /// Goes over white space and so many bytes.
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.trim_start().get(bytes..)?;
        Some(())
    }

    fn add(&mut self, name: &str, arguments: String, source: &'a str) -> Option<()> {
        let is_name = !name.trim().is_empty() && self.calls.len() < CALLS_MAX;
        is_name.then(|| self.calls.push(Written { name: name.trim().to_owned(), arguments, source }))
    }

    /// A value that holds calls itself.
    fn values(&mut self, here: &'a str) -> Option<()> {
        let Some((value, bytes)) = value_of(here) else {
            let body = here.get(..until_close(here))?;
            let (name, arguments) = broken(body)?;
            self.skip(body.len())?;
            return self.add(&name, arguments, body);
        };
        let source = here.get(..bytes)?;
        let list = match value {
            Value::Array(list) => list,
            one => vec![one],
        };
        for value in list {
            let (name, arguments) = call_of(value)?;
            self.add(&name, arguments, source)?;
        }
        self.skip(bytes)
    }

    /// Takes the arguments after a tag that names the function.
    fn body_of(&mut self, function: &str) -> Option<String> {
        let here = self.rest.trim_start();
        if tag::close(here).is_some() {
            return Some("{}".to_owned());
        }
        if here.starts_with('{') {
            let bytes = value_of(here).map_or_else(|| until_close(here), |(_, bytes)| bytes);
            self.skip(bytes)?;
            return here.get(..bytes).map(str::to_owned);
        }
        let mut arguments = Map::new();
        while let Some((name, text, bytes)) = parameter(self.rest.trim_start()) {
            let value = typed(self.tools, function, name, text);
            // Twice the same name has no meaning that everybody shares.
            if arguments.insert(name.to_owned(), value).is_some() {
                return None;
            }
            self.skip(bytes)?;
        }
        // Without any it may have been cut off before the first.
        (!arguments.is_empty()).then(|| Value::Object(arguments).to_string())
    }
}

/// The JSON value at the beginning of `text`, and its length.
fn value_of(text: &str) -> Option<(Value, usize)> {
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}

fn until_close(text: &str) -> usize {
    let mut ends = text.match_indices("</").map(|(at, _)| at);
    let is_close = |at: &usize| text.get(*at..).and_then(tag::close).is_some();
    ends.find(is_close).unwrap_or(text.len())
}

/// Name and arguments of an object that is a call and no declaration.
fn call_of(value: Value) -> Option<(String, String)> {
    let Value::Object(mut map) = value else { return None };
    if DECLARED.iter().any(|key| map.contains_key(*key)) {
        return None;
    }
    if let Some(function) = map.remove("function") {
        return call_of(function);
    }
    let Some(Value::String(name)) = map.remove("name") else { return None };
    let arguments = match (map.remove("arguments"), map.remove("parameters")) {
        (Some(arguments), _) => arguments,
        (None, Some(parameters)) if is_schema(&parameters) => return None,
        (None, Some(parameters)) => parameters,
        (None, None) => Value::Null,
    };
    let text = match arguments {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text,
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    };
    Some((name, text))
}

fn is_schema(value: &Value) -> bool {
    value.get("type").is_some_and(|kind| kind == "object") && value.get("properties").is_some_and(Value::is_object)
}

/// The name of an object that is no JSON, if the name comes first, and what stands there for arguments. Where none are
/// to be found, all of it stands for them: a call that was cut off must not become one without arguments.
fn broken(body: &str) -> Option<(String, String)> {
    let after = body.strip_prefix('{')?.trim_start().strip_prefix("\"name\"")?.trim_start().strip_prefix(':')?;
    let (Value::String(name), bytes) = value_of(after.trim_start())? else { return None };
    let rest = after.trim_start().get(bytes..)?.trim_start().strip_prefix(',').unwrap_or("").trim_start();
    let arguments = ["\"arguments\"", "\"parameters\""]
        .iter()
        .find_map(|key| rest.strip_prefix(*key)?.trim_start().strip_prefix(':'))
        .filter(|arguments| !arguments.trim().is_empty())
        .unwrap_or(body);
    Some((name, arguments.trim().to_owned()))
}

/// `<parameter name="…">…</parameter>` at the beginning of `text`: name, content, length.
fn parameter(text: &str) -> Option<(&str, &str, usize)> {
    let (inside, rest) = text.strip_prefix("<parameter")?.split_once('>')?;
    let name = tag::attribute(inside, "name")?;
    let (content, after) = rest.split_once("</parameter>")?;
    Some((name, content, text.len() - after.len()))
}

/// Content of a parameter as the schema wants it: text where it says so, else JSON where it is JSON.
fn typed(tools: &[ToolSpec], function: &str, name: &str, text: &str) -> Value {
    let is_it = |spec: &&ToolSpec| spec.wire_name().is_ok_and(|known| known.as_str() == function);
    let properties = tools.iter().find(is_it).and_then(|spec| spec.input_schema.get("properties"));
    let kind = properties.and_then(|all| all.get(name)).and_then(|one| one.get("type"));
    let as_text = || Value::String(text.to_owned());
    if kind.is_some_and(|kind| kind == "string") {
        return as_text();
    }
    serde_json::from_str(text.trim()).unwrap_or_else(|_| as_text())
}

/// What a declaration holds and a call does not.
const DECLARED: [&str; 3] = ["description", "inputSchema", "input_schema"];
/// Calls in one block, above what is made of one reply, so that the rest are refused one by one where it can be seen; a
/// block of a million would fill the memory.
const CALLS_MAX: usize = 64;

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
