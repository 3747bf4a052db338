//! Which names and ids exist, and which spellings are valid? Text goes in, a newtype that cannot be wrong comes out.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A name or id that does not have the required spelling.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {given:?} is not valid: expected {expected}")]
pub struct NameError {
    /// What was being named, for example `tool name`.
    pub what: &'static str,
    /// The text that was refused.
    pub given: String,
    /// The spelling that would be accepted.
    pub expected: &'static str,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $expected:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the spelling.
            ///
            /// # Errors
            /// The text does not have the spelling that the type documents.
            pub fn parse(text: impl Into<String>) -> Result<Self, NameError> {
                let given = text.into();
                if $check(&given) {
                    Ok(Self(given))
                } else {
                    Err(NameError { what: $what, given, expected: $expected })
                }
            }

            /// The text as it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

text_id!(
    /// A tool pack's identity, `publisher/name`; each half is 1 to 32 of a-z, 0-9 and hyphen, a letter first.
    ToolName, "tool name", "publisher/name, each 1 to 32 of a-z, 0-9 and hyphen, a letter first", is_tool_name
);
text_id!(
    /// A function of a tool pack: 1 to 48 of a-z, 0-9 and underscore.
    FunctionName, "function name", "1 to 48 of a-z, 0-9 and underscore", is_function_name
);
text_id!(
    /// What a model sees: `name__function`, 1 to 64 of letters, digits, underscore and hyphen.
    WireName, "wire name", "1 to 64 of A-Z, a-z, 0-9, underscore and hyphen", is_wire_name
);
text_id!(
    /// One dialogue. Made by the ids port; sorts by time of making.
    SessionId, "session id", "1 to 64 of A-Z, a-z, 0-9, underscore and hyphen", is_wire_name
);
text_id!(
    /// One message of a person and everything done until the answer.
    TurnId, "turn id", "1 to 64 of A-Z, a-z, 0-9, underscore and hyphen", is_wire_name
);
text_id!(
    /// One call of one function; the id under which the audit log knows it.
    CallId, "call id", "1 to 64 of A-Z, a-z, 0-9, underscore and hyphen", is_wire_name
);

impl ToolName {
    /// The half before the slash.
    pub fn publisher(&self) -> &str {
        self.0.split_once('/').map_or("", |(publisher, _)| publisher)
    }

    /// The half after the slash.
    pub fn short(&self) -> &str {
        self.0.split_once('/').map_or(self.as_str(), |(_, short)| short)
    }

    /// A file name for this tool: the slash becomes a hyphen-free `__`, which no half can contain.
    pub fn file_stem(&self) -> String {
        self.0.replace('/', "__")
    }
}

impl WireName {
    /// The name under which `function` of `tool` is offered to a model.
    ///
    /// # Errors
    /// The two together are longer than the 64 characters that providers accept.
    pub fn of(tool: &ToolName, function: &FunctionName) -> Result<Self, NameError> {
        Self::parse(format!("{}__{}", tool.short(), function))
    }
}

fn is_tool_name(text: &str) -> bool {
    let half = |part: &str| {
        (1..=32).contains(&part.len())
            && part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    text.split_once('/').is_some_and(|(publisher, name)| half(publisher) && half(name))
}

fn is_function_name(text: &str) -> bool {
    (1..=48).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn is_wire_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_names_have_two_plain_halves() {
        for (text, valid) in [
            ("acme/github", true),
            ("a/b", true),
            ("acme/git-hub2", true),
            ("acme", false),
            ("Acme/github", false),
            ("acme/../etc", false),
            ("acme/git_hub", false),
            ("/github", false),
            ("acme/", false),
            ("1acme/x", false),
            ("acme/x/y", false),
        ] {
            assert_eq!(ToolName::parse(text).is_ok(), valid, "{text}");
        }
    }

    #[test]
    fn wire_name_joins_short_name_and_function() {
        let tool = ToolName::parse("acme/github").expect("a valid name");
        let function = FunctionName::parse("search").expect("a valid name");
        assert_eq!(WireName::of(&tool, &function).map(|w| w.to_string()), Ok("github__search".to_owned()));
        let long = FunctionName::parse("f".repeat(48)).expect("a valid name");
        let wide = ToolName::parse(format!("a/{}", "b".repeat(32))).expect("a valid name");
        assert!(WireName::of(&wide, &long).is_err());
    }
}
