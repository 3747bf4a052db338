//! Does an answer count once, in time, for the question that was shown, and does nothing stay on the board?

use std::pin::pin;

use chitin_types::{Digest, SessionId};
use futures::poll;

use super::*;
use crate::testing::{HandClock, NOW_MS};

fn board() -> (Arc<HandClock>, Board) {
    let clock = Arc::new(HandClock::default());
    (Arc::clone(&clock), Board::new(clock))
}

fn question(id: &str) -> Question {
    Question {
        id: id.to_owned(),
        digest: Digest::of(id.as_bytes()),
        title: "acme/box write".to_owned(),
        arguments: r#"{"n":1}"#.to_owned(),
        rule: "call:write".to_owned(),
        session: Some(SessionId::parse("s1").expect("an id")),
        covers_session: false,
        expires_at_ms: NOW_MS + 1_000,
    }
}

fn ids(board: &Board) -> Vec<String> {
    board.pending().into_iter().map(|open| open.id).collect()
}

#[tokio::test]
async fn a_question_is_shown_and_answered_once() {
    let check = async |allow: bool, expected: Answer| {
        let (_, board) = board();
        let asked = question("q1");
        let mut asking = pin!(board.ask(&asked));
        assert!(poll!(asking.as_mut()).is_pending());
        let shown = OpenQuestion {
            id: "q1".to_owned(),
            title: "acme/box write".to_owned(),
            arguments: r#"{"n":1}"#.to_owned(),
            rule: "call:write".to_owned(),
            session: Some("s1".to_owned()),
            expires_at_ms: NOW_MS + 1_000,
        };
        assert_eq!(board.pending(), [shown]);
        assert_eq!(board.answer("q2", allow), Err(AnswerError::Unknown));
        assert_eq!(board.answer("q1", allow), Ok(()));
        assert_eq!(board.answer("q1", !allow), Err(AnswerError::Unknown));
        assert_eq!(asking.await, expected);
        assert!(board.pending().is_empty());
    };
    check(true, Answer::Yes(Approval { digest: Digest::of(b"q1"), expires_at_ms: NOW_MS + 1_000 })).await;
    check(false, Answer::No("the owner said no".to_owned())).await;
}

#[tokio::test]
async fn an_answer_goes_to_its_own_question() {
    let (_, board) = board();
    let (one, two) = (question("q1"), question("q2"));
    let (mut first, mut second) = (pin!(board.ask(&one)), pin!(board.ask(&two)));
    assert!(poll!(first.as_mut()).is_pending());
    assert!(poll!(second.as_mut()).is_pending());
    assert_eq!(ids(&board), ["q1", "q2"]);
    assert_eq!(board.answer("q2", true), Ok(()));
    assert!(poll!(first.as_mut()).is_pending());
    assert!(matches!(second.await, Answer::Yes(approval) if approval.digest == two.digest));
    assert_eq!(ids(&board), ["q1"]);
}

#[tokio::test]
async fn after_its_time_a_question_is_a_no() {
    let (clock, board) = board();
    let asked = question("q1");
    let mut asking = pin!(board.ask(&asked));
    assert!(poll!(asking.as_mut()).is_pending());
    clock.forward(1_000);
    board.sweep();
    assert!(poll!(asking.as_mut()).is_pending());
    assert_eq!(ids(&board), ["q1"]);
    clock.forward(1);
    assert_eq!(ids(&board), [""; 0]);
    board.sweep();
    assert_eq!(asking.await, Answer::No(LATE.to_owned()));
    assert_eq!(board.answer("q1", true), Err(AnswerError::Unknown));
    assert_eq!(board.ask(&asked).await, Answer::No(LATE.to_owned()));
}

#[tokio::test]
async fn a_yes_after_its_time_does_not_count() {
    let (clock, board) = board();
    let asked = question("q1");
    let mut asking = pin!(board.ask(&asked));
    assert!(poll!(asking.as_mut()).is_pending());
    clock.forward(1_001);
    assert_eq!(board.answer("q1", true), Err(AnswerError::Expired));
    assert_eq!(asking.await, Answer::No(LATE.to_owned()));
}

#[tokio::test]
async fn a_dropped_asker_takes_its_question_down() {
    let (_, board) = board();
    let asked = question("q1");
    {
        let mut asking = pin!(board.ask(&asked));
        assert!(poll!(asking.as_mut()).is_pending());
        assert_eq!(ids(&board), ["q1"]);
    }
    assert_eq!(ids(&board), [""; 0]);
    assert_eq!(board.answer("q1", true), Err(AnswerError::Unknown));
}

#[tokio::test]
async fn the_board_is_never_fuller_than_its_limit() {
    let (_, board) = board();
    let questions: Vec<Question> = (0..=OPEN_MAX).map(|number| question(&format!("q{number}"))).collect();
    let mut asking: Vec<_> = questions.iter().map(|question| board.ask(question)).collect();
    let last = asking.pop().expect("one too many");
    for ask in &mut asking {
        assert!(poll!(ask.as_mut()).is_pending());
    }
    assert!(matches!(last.await, Answer::No(reason) if reason.contains("too many")));
    let twin = question("q0");
    drop(asking.pop());
    assert!(matches!(board.ask(&twin).await, Answer::No(reason) if reason.contains("same id")));
    assert_eq!(board.pending().len(), OPEN_MAX - 1);
}
