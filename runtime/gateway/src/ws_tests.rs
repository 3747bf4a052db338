//! Does a socket carry messages and events in order, and does it close when it must? Over a real listener.

use axum::http::HeaderValue;
use chitin_ports::Answer;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{self, client::IntoClientRequest as _},
};

use crate::serve::tests::Served;
use crate::testing::{Script, TOKEN, World, until};

type Client = WebSocketStream<TcpStream>;

/// A socket, or the status with which it was refused.
async fn dial(served: &Served, headers: &[(&'static str, String)]) -> Result<Client, u16> {
    let address = served.address;
    let mut request = format!("ws://{address}/ws/chat").into_client_request().expect("a request");
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_str(value).expect("a header"));
    }
    let stream = TcpStream::connect(address).await.expect("a connection");
    match tokio_tungstenite::client_async(request, stream).await {
        Ok((client, _)) => Ok(client),
        Err(tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
        Err(other) => panic!("{other}"),
    }
}

async fn open(served: &Served) -> Client {
    dial(served, &[("authorization", format!("Bearer {TOKEN}"))]).await.expect("a socket")
}

async fn say(client: &mut Client, value: Value) {
    client.send(tungstenite::Message::text(value.to_string())).await.expect("sent");
}

async fn hear(client: &mut Client) -> Value {
    loop {
        match client.next().await.expect("a frame").expect("a good frame") {
            tungstenite::Message::Text(text) => return serde_json::from_str(text.as_str()).expect("JSON"),
            tungstenite::Message::Ping(_) | tungstenite::Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Everything until the end of one message.
async fn hear_out(client: &mut Client) -> Vec<Value> {
    let mut heard = Vec::new();
    loop {
        let event = hear(client).await;
        let last = event["type"] == "done" || event["type"] == "error";
        heard.push(event);
        if last {
            return heard;
        }
    }
}

/// The code with which the other side closes, within a second.
async fn closed_with(client: &mut Client) -> u16 {
    let close = async {
        loop {
            match client.next().await {
                Some(Ok(tungstenite::Message::Close(Some(frame)))) => return u16::from(frame.code),
                Some(Ok(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(1), close).await.expect("within a second")
}

#[tokio::test]
async fn a_message_is_answered_event_by_event() {
    let served = Served::new(World::new()).await;
    let mut client = open(&served).await;
    say(&mut client, json!({ "type": "message", "text": "hi", "session": "work" })).await;
    let expected = [
        json!({ "type": "chunk", "text": "hello " }),
        json!({ "type": "chunk", "text": "there" }),
        json!({ "type": "done", "text": "hello there" }),
    ];
    assert_eq!(hear_out(&mut client).await, expected);
    let key = served.world.history.keys().remove(0);
    assert_eq!((key.channel.as_str(), key.reply_target.as_str()), ("api", "work"));
}

#[tokio::test]
async fn a_browser_shows_its_token_as_a_subprotocol() {
    let served = Served::new(World::new()).await;
    let protocols = |token: &str| [("sec-websocket-protocol", format!("chitin.v1, bearer.{token}"))];
    let mut client = dial(&served, &protocols(TOKEN)).await.expect("a socket");
    say(&mut client, json!({ "type": "message", "text": "hi" })).await;
    assert_eq!(hear_out(&mut client).await.last().expect("an end")["type"], "done");
    assert_eq!(dial(&served, &protocols("wrong")).await.err(), Some(401));
}

#[tokio::test]
async fn strangers_and_other_sites_get_no_socket() {
    let served = Served::new(World::new()).await;
    let right = || ("authorization", format!("Bearer {TOKEN}"));
    let ours = ("origin", format!("http://{}", served.address));
    assert!(dial(&served, &[right(), ours.clone()]).await.is_ok());
    assert_eq!(dial(&served, &[]).await.err(), Some(401));
    assert_eq!(dial(&served, &[ours]).await.err(), Some(401));
    assert_eq!(dial(&served, &[("authorization", "Bearer wrong".to_owned())]).await.err(), Some(401));
    assert_eq!(dial(&served, &[right(), ("origin", "http://evil.example".to_owned())]).await.err(), Some(403));
    assert_eq!(dial(&served, &[right(), ("host", "evil.example".to_owned())]).await.err(), Some(403));
    let expected = ["gateway:token", "gateway:token", "gateway:token", "gateway:origin", "gateway:host"];
    assert_eq!(served.world.refusals(), expected);
    assert!(served.world.model.asked().is_empty());
}

#[tokio::test]
async fn messages_are_answered_in_their_order() {
    let world = World::new();
    world.model.will([Script::Says("one"), Script::Says("three")]);
    let served = Served::new(world).await;
    let mut client = open(&served).await;
    say(&mut client, json!({ "type": "message", "text": "1" })).await;
    say(&mut client, json!({ "type": "message", "text": " " })).await;
    say(&mut client, json!({ "type": "message", "text": "3" })).await;
    say(&mut client, json!({ "type": "mess" })).await;
    say(&mut client, json!({ "type": "message", "text": "5", "channel": "terminal" })).await;
    let mut ends = Vec::new();
    for _ in 0..5 {
        ends.push(hear_out(&mut client).await.pop().expect("an end"));
    }
    let ends: Vec<_> = ends.iter().map(|end| end["type"].as_str().expect("a type")).collect();
    assert_eq!(ends, ["done", "error", "done", "error", "error"]);
    assert_eq!(served.world.model.asked(), ["1", "3"]);
}

#[tokio::test]
async fn a_turn_is_stopped_and_the_socket_goes_on() {
    let world = World::new();
    world.model.will([Script::Hangs]);
    let served = Served::new(world).await;
    let mut client = open(&served).await;
    say(&mut client, json!({ "type": "stop" })).await;
    assert_eq!(hear(&mut client).await["type"], "notice");
    say(&mut client, json!({ "type": "message", "text": "hi" })).await;
    until(|| served.world.model.asked().len() == 1).await;
    say(&mut client, json!({ "type": "stop" })).await;
    assert_eq!(hear_out(&mut client).await.pop().expect("an end")["type"], "error");
    say(&mut client, json!({ "type": "message", "text": "hi again" })).await;
    assert_eq!(hear_out(&mut client).await.pop().expect("an end")["type"], "done");
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_turn() {
    let world = World::new();
    world.model.will([Script::Hangs]);
    let served = Served::new(world).await;
    let mut client = open(&served).await;
    say(&mut client, json!({ "type": "message", "text": "hi" })).await;
    until(|| served.world.model.asked().len() == 1).await;
    drop(client);
    until(|| served.world.model.gone() == 1).await;
    until(|| served.world.gateway.sockets.available_permits() == 64).await;
}

#[tokio::test]
async fn a_revoked_token_closes_an_open_socket_within_a_second() {
    let world = World::new();
    world.model.will([Script::Hangs]);
    let served = Served::new(world).await;
    let (mut idle, mut busy) = (open(&served).await, open(&served).await);
    say(&mut busy, json!({ "type": "message", "text": "hi" })).await;
    until(|| served.world.model.asked().len() == 1).await;
    std::fs::remove_file(&served.world.token.path).expect("revoked");
    assert_eq!((closed_with(&mut idle).await, closed_with(&mut busy).await), (1008, 1008));
    until(|| served.world.model.gone() == 1).await;
}

#[tokio::test]
async fn a_question_is_answered_over_the_socket() {
    let served = Served::new(World::new()).await;
    let mut client = open(&served).await;
    let (first, second) = (served.world.ask("q1").await, served.world.ask("q2").await);
    say(&mut client, json!({ "type": "approve", "id": "nothing", "allow": true })).await;
    assert_eq!(hear(&mut client).await["type"], "notice");
    say(&mut client, json!({ "type": "approve", "id": "q1", "allow": true })).await;
    say(&mut client, json!({ "type": "approve", "id": "q2", "allow": false })).await;
    assert!(matches!(first.await.expect("no panic"), Answer::Yes(_)));
    assert!(matches!(second.await.expect("no panic"), Answer::No(_)));
}

#[tokio::test]
async fn what_is_too_much_closes_the_socket() {
    let world = World::new();
    world.model.will([Script::Hangs]);
    let served = Served::new(world).await;
    let mut client = open(&served).await;
    client.send(tungstenite::Message::binary(vec![1u8])).await.expect("sent");
    assert_eq!(closed_with(&mut client).await, 1003);

    let mut client = open(&served).await;
    for number in 0..=super::QUEUE_MAX + 1 {
        say(&mut client, json!({ "type": "message", "text": number.to_string() })).await;
    }
    assert_eq!(closed_with(&mut client).await, 1008);

    let mut client = open(&served).await;
    let large = "x".repeat(super::FRAME_BYTES_MAX + 1);
    // It may be hung up on before it has sent everything.
    let _ = client.send(tungstenite::Message::text(large)).await;
    let gone = tokio::time::timeout(std::time::Duration::from_secs(5), async {
        while let Some(Ok(frame)) = client.next().await {
            assert!(!frame.is_text(), "a message that is too large was taken");
        }
    });
    gone.await.expect("closed");
    assert_eq!(served.world.model.asked(), ["0"], "the large one never arrived");
}
