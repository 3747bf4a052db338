//! What a call carries: the arguments as a typed value, and the files that were attached.

use serde::de::DeserializeOwned;

use crate::{Blob, Call, Failure};

impl Call {
    /// The arguments as `T`.
    ///
    /// # Errors
    ///
    /// `invalid-input` that names the argument which did not fit.
    pub fn args<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        parse(&self.args)
    }

    /// The file that was attached for this argument.
    pub fn file(&self, argument: &str) -> Option<&Blob> {
        self.files.iter().find(|(name, _)| name == argument).map(|(_, blob)| blob)
    }

    /// The answer to a call of a tool that this pack does not have.
    pub fn unknown_tool(&self) -> Failure {
        Failure::not_found(format!("this component has no tool named `{}`", self.tool)).with_code("unknown-tool")
    }
}

impl Blob {
    /// All bytes of the file.
    ///
    /// # Errors
    ///
    /// `limited` when the file is longer than `bytes_max`, and what the host says when it cannot be read.
    pub fn read_all(&self, bytes_max: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        loop {
            let piece = self.read(bytes.len() as u64, READ_BYTES)?;
            if piece.is_empty() {
                return Ok(bytes);
            }
            bytes.extend_from_slice(&piece);
            if bytes.len() > bytes_max {
                return Err(
                    Failure::limited(format!("the file is longer than {bytes_max} bytes")).with_code("file-too-large")
                );
            }
        }
    }
}

fn parse<T: DeserializeOwned>(json: &str) -> Result<T, Failure> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let reason = without_position(error.inner().to_string());
        // A path of "." is the object itself; its message already names the missing or unknown argument.
        let message = if path == "." { reason } else { format!("argument `{path}`: {reason}") };
        Failure::invalid_input(message).with_code("bad-argument")
    })?;
    reader.end().map_err(|error| {
        Failure::invalid_input(format!("the arguments are not one JSON object: {error}")).with_code("bad-argument")
    })?;
    Ok(value)
}

/// Drops " at line 1 column 12": the caller sees an object, not the text that it travelled as.
fn without_position(mut reason: String) -> String {
    if let Some(at) = reason.rfind(" at line ") {
        reason.truncate(at);
    }
    reason
}

/// The most that the host gives in one read.
const READ_BYTES: u32 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Args {
        path: String,
        limits: Option<Vec<u32>>,
    }

    fn check(json: &str, expected: &str) {
        let said = match parse::<Args>(json) {
            Ok(args) => format!("{args:?}"),
            Err(failure) => failure.message,
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn a_wrong_argument_is_named() {
        check(r#"{"path":"a"}"#, r#"Args { path: "a", limits: None }"#);
        check(r#"{"path":1}"#, "argument `path`: invalid type: integer `1`, expected a string");
        check(r#"{"path":"a","limits":[1,"b"]}"#, "argument `limits[1]`: invalid type: string \"b\", expected u32");
        check("{}", "missing field `path`");
        check(r#"{"path":"a","speed":1}"#, "argument `speed`: unknown field `speed`, expected `path` or `limits`");
    }
}
