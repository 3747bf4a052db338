//! What a tool may return, and how it becomes the parts of an answer.

use serde::Serialize;

use crate::{Failure, Part};

/// A result of a tool: text, [`Json`], parts, nothing, two of these in a row, or a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "not a result",
    note = "return text, `chitin_sdk::Json(value)`, `Part`, `Vec<Part>`, `()`, two of these as a pair, or a `Result` of these \
            whose error becomes a `Failure`"
)]
pub trait IntoParts {
    /// The parts, in the order in which the model reads them.
    ///
    /// # Errors
    ///
    /// What the tool failed with, and `internal` for a value that has no form in JSON.
    fn into_parts(self) -> Result<Vec<Part>, Failure>;
}

/// A value that is given back as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoParts for Json<T> {
    fn into_parts(self) -> Result<Vec<Part>, Failure> {
        Ok(vec![Part::data(&self.0)?])
    }
}

impl IntoParts for String {
    fn into_parts(self) -> Result<Vec<Part>, Failure> {
        Ok(vec![Part::text(self)])
    }
}

impl IntoParts for &str {
    fn into_parts(self) -> Result<Vec<Part>, Failure> {
        Ok(vec![Part::text(self)])
    }
}

impl IntoParts for () {
    fn into_parts(self) -> Result<Vec<Part>, Failure> {
        Ok(Vec::new())
    }
}

impl IntoParts for Part {
    fn into_parts(self) -> Result<Vec<Part>, Failure> {
        Ok(vec![self])
    }
}

impl IntoParts for Vec<Part> {
    fn into_parts(self) -> Result<Vec<Part>, Failure> {
        Ok(self)
    }
}

impl<A: IntoParts, B: IntoParts> IntoParts for (A, B) {
    fn into_parts(self) -> Result<Vec<Part>, Failure> {
        let mut parts = self.0.into_parts()?;
        parts.extend(self.1.into_parts()?);
        Ok(parts)
    }
}

impl<T: IntoParts, E: Into<Failure>> IntoParts for Result<T, E> {
    fn into_parts(self) -> Result<Vec<Part>, Failure> {
        self.map_err(Into::into)?.into_parts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoPage;

    impl From<NoPage> for Failure {
        fn from(_: NoPage) -> Self {
            Self::not_found("there is no such page")
        }
    }

    fn check(result: impl IntoParts, expected: &str) {
        let said = match result.into_parts() {
            Ok(parts) => {
                let shown = parts.iter().map(|part| match part {
                    Part::Text(text) => format!("text {text}"),
                    Part::Data(json) => format!("data {json}"),
                    Part::File(_) => "file".to_owned(),
                    Part::Other((name, json)) => format!("{name} {json}"),
                });
                shown.collect::<Vec<_>>().join("; ")
            }
            Err(failure) => format!("{}: {}", failure.kind, failure.message),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn a_result_becomes_parts_in_its_order() {
        check("a", "text a");
        check(String::from("a"), "text a");
        check((), "");
        check(Json(vec![1, 2]), "data [1,2]");
        check(vec![Part::text("a"), Part::text("b")], "text a; text b");
        check(("a", Json(true)), "text a; data true");
        check(Ok::<_, Failure>("a"), "text a");
    }

    #[test]
    fn an_error_becomes_a_failure() {
        check(Err::<(), _>(NoPage), "not-found: there is no such page");
        check(Err::<String, _>(Failure::limited("enough")), "limited: enough");
        let no_json = std::collections::BTreeMap::from([((1, 2), 3)]);
        check(Json(no_json), "internal: the result is not JSON: key must be a string");
    }
}
