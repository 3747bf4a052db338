//! Do turns keep their order, and does a lane forget only what is safe to forget?

use std::pin::pin;

use futures::poll;

use super::*;
use crate::testing::key;

fn session(text: &str) -> SessionId {
    SessionId::parse(text).expect("an id")
}

#[tokio::test]
async fn one_lane_runs_one_turn_and_lets_a_bounded_number_wait() {
    let (lanes, ann) = (Lanes::new(1), key("ann"));
    let running = lanes.enter(&ann).await.expect("an empty lane");
    let mut waiting = pin!(lanes.enter(&ann));
    assert!(poll!(waiting.as_mut()).is_pending());
    assert_eq!(lanes.enter(&ann).await.err(), Some(TurnError::LaneFull { waiting: 1 }));
    assert!(lanes.enter(&key("bob")).await.is_ok());
    drop(running);
    assert!(waiting.await.is_ok());
}

#[tokio::test]
async fn a_stop_reaches_the_running_turn_and_no_later_one() {
    let lanes = Lanes::new(1);
    assert!(!lanes.stop(&key("ann")));
    let first = lanes.enter(&key("ann")).await.expect("an empty lane");
    let seen = first.cancelled();
    assert!(lanes.stop(&key("ann")));
    drop(first);
    assert!(!lanes.stop(&key("ann")));
    let second = lanes.enter(&key("ann")).await.expect("an empty lane");
    assert!(*seen.borrow());
    assert!(!*second.cancelled().borrow());
}

#[tokio::test]
async fn what_a_dropped_turn_started_is_stopped() {
    let lanes = Lanes::new(1);
    let turn = lanes.enter(&key("ann")).await.expect("an empty lane");
    let seen = turn.cancelled();
    drop(turn);
    assert!(*seen.borrow());
}

#[tokio::test]
async fn a_new_session_remembers_nothing_of_the_old_one() {
    let lanes = Lanes::new(1);
    let mut lane = lanes.enter(&key("ann")).await.expect("an empty lane");
    lane.memory_of(&session("s1")).greeted = true;
    drop(lane);
    let mut lane = lanes.enter(&key("ann")).await.expect("an empty lane");
    assert!(lane.memory_of(&session("s1")).greeted);
    assert!(!lane.memory_of(&session("s2")).greeted);
    assert!(!lane.memory_of(&session("s1")).greeted);
}

#[tokio::test]
async fn the_oldest_idle_lane_is_forgotten_and_a_busy_one_never() {
    let lanes = Lanes::new(1);
    let mut busy = lanes.enter(&key("busy")).await.expect("an empty lane");
    busy.memory_of(&session("s1")).greeted = true;
    for number in 0..LANES_MAX {
        drop(lanes.enter(&key(&format!("sender-{number}"))).await.expect("room for one more"));
    }
    assert_eq!(hold(&lanes.slots).by_key.len(), LANES_MAX);
    assert!(hold(&lanes.slots).by_key.contains_key(&key("busy")));
    assert!(!hold(&lanes.slots).by_key.contains_key(&key("sender-0")));
}
