//! How does one plan run, seen from the daemon? A plan and the order's wishes go in; output, end and notices come out.
//!
//! ```text
//!   helper started ─ plan sent ─┬ report read ──────────────→ its end
//!                               ├ wall time over ─ stream closed ─ helper ends everything ─ report read → Stopped::Wall
//!                               ├ cancelled ────── stream closed ─ …                                   → Stopped::Cancelled
//!                               └ future dropped ─ stream closed ─ helper ends everything
//! ```

use std::{
    os::fd::OwnedFd,
    path::Path,
    process::Stdio,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use chitin_ports::{Order, Outlet, SpawnError, Stopped};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::{Child, Command},
    time::{Instant, sleep_until, timeout_at},
};

use crate::{
    child::HELPER_ARG,
    plan::{End, PLAN_BYTES_MAX, Plan, REPORT_BYTES_MAX, Report},
};

/// What came of one run.
pub(crate) struct Ran {
    pub end: End,
    pub notices: Vec<String>,
    pub unsettled: Vec<String>,
    pub stopped: Option<Stopped>,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    pub dropped_bytes: u64,
}

/// Runs a plan to its end.
///
/// # Errors
/// The helper could not be started or did not answer.
pub(crate) async fn launch(helper: &Path, plan: &Plan, order: &Order) -> Result<Ran, SpawnError> {
    let wall = Instant::now() + Duration::from_millis(order.wall_ms);
    let (mut child, control) = start(helper).map_err(|e| SpawnError::System(format!("{}: {e}", helper.display())))?;
    let (reports, mut wishes) = control.into_split();
    let sent = timeout_at(wall.min(Instant::now() + SETUP_MAX), send(&mut wishes, plan, &order.stdin)).await;
    if let Ok(Err(why)) = &sent {
        return Err(SpawnError::System(why.clone()));
    }
    let collected = Collected::new(order);
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let work = async {
        let (report, (), ()) =
            tokio::join!(report(reports), collected.pump(out, Stream::Out), collected.pump(err, Stream::Err));
        report
    };
    tokio::pin!(work);
    let mut cancelled = order.cancelled.clone();
    let asked = async {
        // A caller that went away never asks.
        if cancelled.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let (report, stopped) = tokio::select! {
        report = &mut work => (report, None),
        () = sleep_until(wall) => end(wishes, &mut work, Stopped::Wall).await,
        () = asked => end(wishes, &mut work, Stopped::Cancelled).await,
    };
    finish(&mut child).await;
    let (out, err, dropped_bytes) = collected.take();
    let Some(Report { end, notices, unsettled }) = report else {
        let said = String::from_utf8_lossy(&err);
        return Err(SpawnError::System(format!("the helper ended without a report: {}", said.trim())));
    };
    Ok(Ran { end, notices, unsettled, stopped, out, err, dropped_bytes })
}

/// Closes the stream, on which the helper ends everything, and waits for its report.
async fn end(
    wishes: OwnedWriteHalf,
    work: &mut (impl Future<Output = Option<Report>> + Unpin),
    why: Stopped,
) -> (Option<Report>, Option<Stopped>) {
    drop(wishes);
    (timeout_at(Instant::now() + END_MAX, work).await.ok().flatten(), Some(why))
}

fn start(helper: &Path) -> std::io::Result<(Child, UnixStream)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut command = Command::new(helper);
    command.arg(HELPER_ARG).env_clear().current_dir("/");
    command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Killing the helper would leave what it watches; the closed stream makes it end that first.
    command.kill_on_drop(false);
    Ok((command.spawn()?, UnixStream::from_std(ours)?))
}

async fn send(wishes: &mut OwnedWriteHalf, plan: &Plan, stdin: &[u8]) -> Result<(), String> {
    let text = serde_json::to_vec(plan).map_err(|e| format!("write the plan: {e}"))?;
    let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= PLAN_BYTES_MAX);
    let length = length.ok_or("the command line and environment are too long")?;
    let written = async {
        wishes.write_all(&length.to_le_bytes()).await?;
        wishes.write_all(&text).await?;
        wishes.write_all(stdin).await
    };
    // A helper that is gone says why on its standard error, which is read next.
    let _ = written.await;
    Ok(())
}

async fn report(reports: OwnedReadHalf) -> Option<Report> {
    let mut text = Vec::new();
    // A stream that breaks in the middle gives a text that is no report.
    let _ = reports.take(REPORT_BYTES_MAX).read_to_end(&mut text).await;
    serde_json::from_slice(&text).ok()
}

/// Takes the ended helper off the kernel's list, or ends one that hangs.
async fn finish(child: &mut Child) {
    if timeout_at(Instant::now() + END_MAX, child.wait()).await.is_err() {
        tracing::error!("the helper of the sandbox did not end and was killed");
        if let Err(error) = child.kill().await {
            tracing::error!(%error, "the helper of the sandbox cannot be killed");
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

/// Output up to its cap. What is more is read too, so that the program does not wait for a reader, and only counted.
struct Collected {
    kept: Mutex<Kept>,
    outlet: Option<Outlet>,
}

#[derive(Default)]
struct Kept {
    out: Vec<u8>,
    err: Vec<u8>,
    left: usize,
    dropped: u64,
}

impl Collected {
    fn new(order: &Order) -> Self {
        let left = usize::try_from(order.output_kib.saturating_mul(1024)).unwrap_or(usize::MAX);
        Self { kept: Mutex::new(Kept { left, ..Kept::default() }), outlet: order.outlet.clone() }
    }

    async fn pump(&self, from: Option<impl AsyncRead + Unpin>, stream: Stream) {
        let Some(mut from) = from else {
            return;
        };
        let mut piece = vec![0; PIECE_BYTES];
        // A pipe that breaks ends like one that closes: there is nothing more to read.
        while let Ok(n @ 1..) = from.read(&mut piece).await {
            let bytes = piece.get(..n).unwrap_or_default();
            let kept = self.keep(bytes, stream);
            if let Some(outlet) = self.outlet.as_ref().filter(|_| kept > 0) {
                outlet(bytes.get(..kept).unwrap_or_default(), stream == Stream::Err);
            }
        }
    }

    fn keep(&self, bytes: &[u8], stream: Stream) -> usize {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let n = bytes.len().min(kept.left);
        kept.left -= n;
        kept.dropped += u64::try_from(bytes.len() - n).unwrap_or(u64::MAX);
        let taken = bytes.get(..n).unwrap_or_default();
        match stream {
            Stream::Out => kept.out.extend_from_slice(taken),
            Stream::Err => kept.err.extend_from_slice(taken),
        }
        n
    }

    fn take(&self) -> (Vec<u8>, Vec<u8>, u64) {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        (kept.out, kept.err, kept.dropped)
    }
}

/// How long the helper may take to read its plan.
const SETUP_MAX: Duration = Duration::from_secs(10);
/// How long the helper may take to end everything and put files right; longer than its own limit on that.
const END_MAX: Duration = Duration::from_secs(15);
/// Bytes that are read at once.
const PIECE_BYTES: usize = 16 * 1024;
