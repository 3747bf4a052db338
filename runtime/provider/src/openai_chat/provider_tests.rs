//! Is a body read in time and in bounds, whoever sends it?

use chitin_ports::StopReason;
use chitin_types::{Effects, FunctionName, ToolName, ToolSpec};
use futures::stream;
use serde_json::json;

use super::*;

struct Deaf;

impl TextSink for Deaf {
    fn text(&self, _piece: &str) {}
}

fn pieces(body: Vec<Result<Bytes, EgressError>>) -> Pieces {
    Pieces::of(Response { status: 200, headers: Vec::new(), body: stream::iter(body).boxed() })
}

#[expect(clippy::unnecessary_wraps, reason = "a piece of a body that may break")]
fn text(text: &'static str) -> Result<Bytes, EgressError> {
    Ok(Bytes::from_static(text.as_bytes()))
}

fn broken() -> Result<Bytes, EgressError> {
    Err(EgressError::Unreachable("the connection broke".to_owned()))
}

fn provider(native_tools: bool) -> OpenAiChat {
    let (base_url, model) = ("http://127.0.0.1:9/v1".to_owned(), "configured".to_owned());
    let config = OpenAiConfig { base_url, model, api_key: None, native_tools };
    OpenAiChat::new(config, Egress::default()).expect("an address")
}

fn request(model: Option<&str>) -> ChatRequest {
    let spec = ToolSpec {
        tool: ToolName::parse("chitin/fs").expect("a name"),
        function: FunctionName::parse("file_read").expect("a name"),
        title: String::new(),
        summary: String::new(),
        input_schema: json!({ "type": "object" }),
        effects: Effects::default(),
    };
    ChatRequest {
        system: String::new(),
        messages: vec![],
        tools: vec![spec],
        delivery: Delivery::Whole,
        model: model.map(str::to_owned),
    }
}

#[test]
fn the_model_that_a_session_asks_for_goes_before_the_configured_one() {
    let provider = provider(true);
    assert_eq!(provider.body(&request(None))["model"], "configured");
    assert_eq!(provider.body(&request(Some("other")))["model"], "other");
    assert!(provider.takes_model());
}

#[test]
fn a_server_without_tools_is_sent_none() {
    let check = |native_tools: bool, sent: bool| {
        let provider = provider(native_tools);
        assert_eq!(provider.body(&request(None)).get("tools").is_some(), sent);
        assert_eq!(provider.native_tools(), native_tools);
    };
    check(true, true);
    check(false, false);
}

const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

#[tokio::test]
async fn a_connection_that_breaks_costs_the_answer_only_before_its_end() {
    let read = async |body: Vec<Result<Bytes, EgressError>>| streamed(pieces(body), Stream::new(Some(&Deaf))).await;
    let hi = ChatReply { text: "hi".to_owned(), calls: vec![], stop: StopReason::End, usage: None };
    assert_eq!(read(vec![text(HI), text(STOP), broken()]).await, Ok(hi.clone()));
    assert_eq!(read(vec![text(HI), text(STOP)]).await, Ok(hi.clone()));
    assert_eq!(read(vec![text(HI), text(STOP), text("data: [DONE]\n\n"), broken()]).await, Ok(hi));
    let error = ProviderError::Unreachable("the connection broke".to_owned());
    assert_eq!(read(vec![text(HI), broken()]).await, Err(error));
}

#[tokio::test]
async fn an_endless_body_is_refused() {
    let mebibyte = Bytes::from(vec![b' '; 1024 * 1024]);
    let body = (0..17).map(|_| Ok(mebibyte.clone())).collect();
    let error = ProviderError::BadAnswer("it is larger than 16 MiB".to_owned());
    assert_eq!(all(pieces(body)).await, Err(error));
    let body = (0..17).map(|_| Ok(mebibyte.clone())).collect();
    assert_eq!(beginning(pieces(body)).await.len(), REFUSAL_BYTES_MAX);
    let too_large = EgressError::TooLarge("the answer is larger than 16 MiB".to_owned());
    let error = ProviderError::BadAnswer("the answer is larger than 16 MiB".to_owned());
    assert_eq!(all(pieces(vec![Err(too_large)])).await, Err(error));
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let body = stream::iter(vec![text("x")]).chain(stream::pending()).boxed();
    let mut pieces = Pieces::of(Response { status: 200, headers: Vec::new(), body });
    assert_eq!(pieces.wait, FIRST_BYTE_MAX);
    assert_eq!(pieces.next().await, Ok(Some(Bytes::from_static(b"x"))));
    assert_eq!(pieces.wait, IDLE_MAX);
    pieces.wait = Duration::ZERO;
    assert_eq!(pieces.next().await, Err(silence(Duration::ZERO)));
}
