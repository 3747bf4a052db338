//! Does everything end? Timeout, cancellation, a dropped future, a killed helper, too much output, too many processes.

use std::time::{Duration, Instant};

use chitin_ports::{Spawn, Stopped};
use tokio::{sync::watch, time::sleep};

use super::fixture::{BOTH, Bench, mark, plainly, running, said};

/// Starts a grandchild in a session of its own that ignores what it can, and says so.
fn detach(mark: &str) -> String {
    format!("trap '' TERM HUP INT; (setsid nohup sleep {mark} >/dev/null 2>&1 </dev/null &); echo started")
}

async fn gone(mark: &str) -> bool {
    for _ in 0..200 {
        if running(mark).is_empty() {
            return true;
        }
        sleep(Duration::from_millis(20)).await;
    }
    false
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a process")).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
}

fn parent(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, rest) = stat.rsplit_once(')').expect("a name");
    rest.split_whitespace().nth(1).expect("a parent").parse().expect("a number")
}

#[tokio::test]
async fn a_grandchild_in_its_own_session_does_not_outlive_the_call() {
    for (row, choice) in [0, 1].into_iter().zip(BOTH) {
        let bench = Bench::new(choice).await;
        let mark = mark(row);
        assert!(plainly(&detach(&mark), &bench.work).status.success());
        // A process that is just becoming another program has no command line for a moment.
        let mut plain = running(&mark);
        for _ in 0..200 {
            if plain.len() == 1 {
                break;
            }
            sleep(Duration::from_millis(20)).await;
            plain = running(&mark);
        }
        assert_eq!(plain.len(), 1, "without the jail it stays");
        plain.into_iter().for_each(kill);
        assert!(gone(&mark).await);
        assert_eq!(bench.ok(&detach(&mark)).await, "started");
        assert_eq!(running(&mark), Vec::<u32>::new(), "{choice:?}: gone when the call returns");
    }
}

#[tokio::test]
async fn the_wall_time_ends_everything() {
    for (row, choice) in [10, 11].into_iter().zip(BOTH) {
        let bench = Bench::new(choice).await;
        let mark = mark(row);
        let mut order = bench.order(&format!("{}; sleep {mark}", detach(&mark)));
        order.wall_ms = 1_000;
        let begun = Instant::now();
        let ended = bench.jail.spawn(order).await.expect("started");
        assert_eq!((ended.stopped, ended.code), (Some(Stopped::Wall), None), "{choice:?} {}", said(&ended));
        assert_eq!(ended.out, b"started\n", "what was said before is kept");
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        assert_eq!(running(&mark), Vec::<u32>::new(), "{choice:?}");
    }
}

#[tokio::test]
async fn a_wish_to_stop_ends_everything() {
    for (row, choice) in [20, 21].into_iter().zip(BOTH) {
        let bench = Bench::new(choice).await;
        let mark = mark(row);
        let (stop, cancelled) = watch::channel(false);
        let mut order = bench.order(&format!("{}; sleep {mark}", detach(&mark)));
        order.cancelled = cancelled;
        let stopping = async {
            while running(&mark).is_empty() {
                sleep(Duration::from_millis(20)).await;
            }
            stop.send(true).expect("heard");
        };
        let (ended, ()) = tokio::join!(bench.jail.spawn(order), stopping);
        assert_eq!(ended.expect("started").stopped, Some(Stopped::Cancelled), "{choice:?}");
        assert_eq!(running(&mark), Vec::<u32>::new(), "{choice:?}");
    }
}

#[tokio::test]
async fn dropping_the_future_ends_everything() {
    for (row, choice) in [30, 31].into_iter().zip(BOTH) {
        let bench = Bench::new(choice).await;
        let mark = mark(row);
        let order = bench.order(&format!("{}; sleep {mark}", detach(&mark)));
        let until_started = async {
            while running(&mark).is_empty() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            ended = bench.jail.spawn(order) => panic!("{choice:?}: ended by itself: {ended:?}"),
            () = until_started => {}
        }
        assert!(gone(&mark).await, "{choice:?}");
    }
}

#[tokio::test]
async fn a_killed_helper_takes_the_program_with_it() {
    for (row, choice) in [40, 41].into_iter().zip(BOTH) {
        let bench = Bench::new(choice).await;
        let mark = mark(row);
        let mut order = bench.order("");
        order.argv = vec!["sleep".to_owned(), mark.clone()];
        // The helper outside is the ancestor of the program that is a child of this process.
        let killing = async {
            while running(&mark).is_empty() {
                sleep(Duration::from_millis(20)).await;
            }
            let mut pid = running(&mark)[0];
            while parent(pid) != std::process::id() {
                pid = parent(pid);
            }
            kill(pid);
        };
        let (ended, ()) = tokio::join!(bench.jail.spawn(order), killing);
        assert!(ended.is_err(), "{choice:?}: {ended:?}");
        assert!(gone(&mark).await, "{choice:?}");
    }
}

#[tokio::test]
async fn output_is_kept_up_to_its_cap_and_the_rest_is_counted() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let mut order = bench.order("head -c 3000000 /dev/zero; echo end >&2");
        order.output_kib = 64;
        let ended = bench.jail.spawn(order).await.expect("runs");
        assert_eq!((ended.code, ended.stopped), (Some(0), None), "{choice:?}: the program was not held up");
        let kept = u64::try_from(ended.out.len() + ended.err.len()).expect("small");
        assert!(kept <= 64 * 1024, "{kept}");
        assert_eq!(kept + ended.dropped_bytes, 3_000_004);
    }
}

#[tokio::test]
async fn too_many_processes_are_refused_and_all_of_them_end() {
    for (row, choice) in [50, 51].into_iter().zip(BOTH) {
        let bench = Bench::new(choice).await;
        let mark = mark(row);
        let mut order = bench.order(&format!("for i in $(seq 200); do sleep {mark} & done; echo all"));
        order.processes = 20;
        order.wall_ms = 4_000;
        let ended = bench.jail.spawn(order).await.expect("runs");
        assert!(!ended.out.ends_with(b"all\n"), "{choice:?}: all were started: {}", said(&ended));
        assert_eq!(running(&mark), Vec::<u32>::new(), "{choice:?}");
    }
}

#[tokio::test]
async fn a_bomb_of_processes_ends_with_its_call() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let name = format!("bomb{}{choice:?}.sh", std::process::id());
        std::fs::write(bench.work.join(&name), "while :; do setsid sh \"$0\" & sh \"$0\" & done 2>/dev/null\n")
            .expect("written");
        let mut order = bench.order(&format!("sh {name} & exec sleep 60"));
        order.wall_ms = 1_500;
        let ended = bench.jail.spawn(order).await.expect("runs");
        assert_eq!(ended.stopped, Some(Stopped::Wall), "{choice:?}");
        assert_eq!(running(&name), Vec::<u32>::new(), "{choice:?}");
    }
}

#[tokio::test]
async fn memory_processor_time_and_file_size_are_bounded() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let with = |change: fn(&mut chitin_ports::Order), line: &str| {
            let mut order = bench.order(line);
            change(&mut order);
            bench.jail.spawn(order)
        };
        let eat = "/usr/bin/python3 -c 'b = bytearray(200 << 20); print(len(b))'";
        assert_eq!(with(|_| {}, eat).await.expect("runs").code, Some(0), "{choice:?}: the twin with more memory");
        assert_ne!(with(|order| order.memory_mib = 64, eat).await.expect("runs").code, Some(0), "{choice:?}");
        let spin = with(|order| order.cpu_s = 1, "exec /usr/bin/python3 -c 'while True: pass'").await.expect("runs");
        assert!(spin.signal.is_some() && spin.stopped.is_none(), "{choice:?} {}", said(&spin));
        let write = "head -c 3000000 /dev/zero > big && echo whole";
        assert!(!with(|order| order.file_mib = 1, write).await.expect("runs").out.starts_with(b"whole"), "{choice:?}");
        assert!(with(|order| order.file_mib = 4, write).await.expect("runs").out.starts_with(b"whole"), "{choice:?}");
    }
}

#[tokio::test]
async fn the_end_of_a_program_is_told_exactly() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        for (line, code, signal) in [
            ("exit 0", Some(0), None),
            ("exit 7", Some(7), None),
            ("exit 137", Some(137), None),
            ("kill -9 $$", None, Some(9)),
        ] {
            let ended = bench.run(line).await;
            assert_eq!((ended.code, ended.signal), (code, signal), "{choice:?} {line}");
            assert_eq!(ended.backend, bench.word());
        }
    }
}

#[tokio::test]
async fn pieces_of_output_come_while_it_runs() {
    use std::sync::{Arc, Mutex};
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let pieces = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&pieces);
        let mut order = bench.order("echo one; sleep 0.3; echo two >&2");
        order.outlet = Some(Arc::new(move |bytes: &[u8], is_err| {
            sink.lock().expect("whole").push((String::from_utf8_lossy(bytes).into_owned(), is_err));
        }));
        bench.jail.spawn(order).await.expect("runs");
        let got = pieces.lock().expect("whole").clone();
        assert_eq!(got, [("one\n".to_owned(), false), ("two\n".to_owned(), true)], "{choice:?}");
    }
}

#[tokio::test]
async fn many_at_once_do_not_disturb_each_other() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let runs = (0..12).map(|n| {
            let bench = &bench;
            async move {
                bench.ok(&format!("echo {n} > f{n} && sleep 0.1 && cat f{n} && ls -A | grep -c bashrc || true")).await
            }
        });
        let all = futures_join(runs).await;
        for (n, out) in all.iter().enumerate() {
            assert!(out.starts_with(&n.to_string()), "{choice:?}: {out}");
        }
        let left: Vec<_> =
            std::fs::read_dir(&bench.work).expect("there").filter_map(Result::ok).map(|e| e.file_name()).collect();
        assert_eq!(left.len(), 12, "{choice:?}: only what was written stays: {left:?}");
    }
}

/// Waits for all, without a further library.
async fn futures_join<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut open: Vec<_> = all.map(|one| Some(Box::pin(one))).collect();
    let mut done: Vec<Option<T>> = open.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (slot, result) in open.iter_mut().zip(&mut done) {
            if let Some(future) = slot
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *result = Some(value);
                *slot = None;
            }
        }
        if open.iter().all(Option::is_none) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}
