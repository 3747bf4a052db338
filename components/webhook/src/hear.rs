//! What does a request say? Its body goes in; a message, or a status and what is wrong, comes out.

use serde_json::{Map, Value};

/// A message, as its sender wrote it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) id: String,
    pub(crate) from: String,
    pub(crate) text: String,
    pub(crate) conversation: Option<String>,
    pub(crate) thread: Option<String>,
}

/// Why it is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) error: String,
}

/// Reads a body. Fields that it does not know are let pass: senders add their own.
pub(crate) fn message(body: &[u8]) -> Result<Heard, Problem> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| Problem { status: 400, error: format!("the body is no JSON: {error}") })?;
    let Value::Object(fields) = value else {
        return Err(unfit("the body is no object with id, from and text".to_owned()));
    };
    Ok(Heard {
        id: required(&fields, "id")?,
        from: required(&fields, "from")?,
        text: required(&fields, "text")?,
        conversation: optional(&fields, "conversation")?,
        thread: optional(&fields, "thread")?,
    })
}

fn required(fields: &Map<String, Value>, name: &str) -> Result<String, Problem> {
    optional(fields, name)?.ok_or_else(|| unfit(format!("the field {name} is missing")))
}

fn optional(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Problem> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Err(unfit(format!("the field {name} is empty"))),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(unfit(format!("the field {name} is no text")))
        }
    }
}

fn unfit(error: String) -> Problem {
    Problem { status: 422, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, status: u16, says: &str) {
        let problem = message(body.as_bytes()).expect_err(body);
        assert_eq!(problem.status, status, "{body}: {}", problem.error);
        assert!(problem.error.contains(says), "{body}: {}", problem.error);
    }

    #[test]
    fn a_message_is_read_word_for_word() {
        let body = r#"{"id":"m-1","from":"ada","text":" two\nlines ","conversation":"room","thread":"t","more":[1]}"#;
        let expected = Heard {
            id: "m-1".to_owned(),
            from: "ada".to_owned(),
            text: " two\nlines ".to_owned(),
            conversation: Some("room".to_owned()),
            thread: Some("t".to_owned()),
        };
        assert_eq!(message(body.as_bytes()), Ok(expected));
    }

    #[test]
    fn what_may_be_left_out_may_be() {
        for body in [
            r#"{"id":"1","from":"a","text":"x"}"#,
            r#"{"id":"1","from":"a","text":"x","thread":null,"conversation":null}"#,
        ] {
            let heard = message(body.as_bytes()).expect(body);
            assert_eq!((heard.conversation, heard.thread), (None, None), "{body}");
        }
    }

    #[test]
    fn what_is_no_json_and_what_does_not_fit_are_told_apart() {
        check("", 400, "no JSON");
        check("{", 400, "no JSON");
        check("id=1", 400, "no JSON");
        check("[]", 422, "no object");
        check("{}", 422, "id is missing");
        check(r#"{"id":"1","text":"x"}"#, 422, "from is missing");
        check(r#"{"id":"1","from":"a"}"#, 422, "text is missing");
        check(r#"{"id":"1","from":"a","text":null}"#, 422, "text is missing");
        check(r#"{"id":"1","from":"a","text":"  "}"#, 422, "text is empty");
        check(r#"{"id":1,"from":"a","text":"x"}"#, 422, "id is no text");
        check(r#"{"id":"1","from":"a","text":"x","thread":""}"#, 422, "thread is empty");
        check(r#"{"id":"1","from":"a","text":"x","conversation":{}}"#, 422, "conversation is no text");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert_eq!(message(b"{\"id\":\"\xff\"}").map_err(|problem| problem.status), Err(400));
    }
}
