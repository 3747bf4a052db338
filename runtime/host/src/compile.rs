//! Where is a component compiled? In a child that is jailed and bounded: verified bytes go in, machine code comes out.
//!
//! ```text
//!   CodeCache ─ Compile ─┬ Jailed    ─ Spawn ─→ chitin compile-child ─→ compile_child ─┐
//!                        └ InProcess  (tests and measurements only) ───────────────────┴─ machine code
//! ```
//!
//! What a publisher writes decides how long a compiler runs and how much memory it takes, so neither is spent in the
//! process that holds keys and answers people. The child gets the bytes on its standard input and no file but itself.

use std::{
    io::{Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use async_trait::async_trait;
use chitin_package::COMPONENT_BYTES_MAX;
use chitin_ports::{Compile, CompileError, Ended, Order, PortError, Spawn, SpawnMount, Stopped};
use tokio::sync::watch;

use crate::engine::compiling_engine;

/// The first argument by which the program knows that it is the child; everything else of it is skipped then.
pub const COMPILE_ARG: &str = "compile-child";

/// Compiles in a child, inside the sandbox.
pub struct Jailed {
    spawn: Arc<dyn Spawn>,
    program: PathBuf,
}

impl Jailed {
    /// A compiler that starts `program`, which must call [`compile_child`] when its first argument is [`COMPILE_ARG`].
    pub fn new(spawn: Arc<dyn Spawn>, program: impl Into<PathBuf>) -> Self {
        Self { spawn, program: program.into() }
    }

    fn order(&self, component: &[u8], cancelled: watch::Receiver<bool>) -> Result<Order, CompileError> {
        let shown = self.program.display();
        let program = self.program.canonicalize().map_err(|e| port(format!("find the compiler {shown}: {e}")))?;
        let name =
            program.to_str().ok_or_else(|| port(format!("start the compiler {shown}: its path is not UTF-8")))?;
        Ok(Order {
            argv: vec![name.to_owned(), COMPILE_ARG.to_owned()],
            cwd: PathBuf::from("/"),
            env: vec![("RAYON_NUM_THREADS".to_owned(), THREADS_MAX.to_string())],
            stdin: component.to_vec(),
            mounts: vec![SpawnMount { from: program.clone(), at: program.clone(), writable: false }],
            wall_ms: WALL_S_MAX * 1_000,
            cpu_s: CPU_S_MAX,
            memory_mib: MEMORY_MIB_MAX,
            output_kib: CODE_MIB_MAX * 1_024,
            processes: PROCESSES_MAX,
            file_mib: 1,
            cancelled,
            outlet: None,
        })
    }
}

#[async_trait]
impl Compile for Jailed {
    async fn compile(&self, component: &[u8]) -> Result<Vec<u8>, CompileError> {
        let (_nobody_stops, cancelled) = watch::channel(false);
        let order = self.order(component, cancelled)?;
        let ended = self.spawn.spawn(order).await.map_err(|e| port(format!("compile the component: {e}")))?;
        code_of(ended)
    }
}

/// Compiles in this process: for tests and measurements, whose components are our own.
#[derive(Debug, Clone, Copy, Default)]
pub struct InProcess;

#[async_trait]
impl Compile for InProcess {
    async fn compile(&self, component: &[u8]) -> Result<Vec<u8>, CompileError> {
        let bytes = component.to_vec();
        let compiled = tokio::task::spawn_blocking(move || machine_code(&bytes)).await;
        compiled.unwrap_or_else(|e| Err(port(format!("compile the component: {e}"))))
    }
}

/// The child: a component on standard input becomes machine code on standard output, or a sentence on standard error.
pub fn compile_child(stdin: impl Read, stdout: &mut impl Write, stderr: &mut impl Write) -> ExitCode {
    ExitCode::from(compiled(stdin, stdout, stderr))
}

fn compiled(stdin: impl Read, stdout: &mut impl Write, stderr: &mut impl Write) -> u8 {
    let result = whole(stdin).and_then(|bytes| machine_code(&bytes)).and_then(|code| {
        let write = stdout.write_all(&code).and_then(|()| stdout.flush());
        write.map_err(|e| port(format!("write the machine code: {e}")))
    });
    match result {
        Ok(()) => 0,
        Err(error) => {
            // Standard error is the last place to say something; when it is gone, the exit code still speaks.
            let _ = writeln!(stderr, "{error}");
            match error {
                CompileError::Refused(_) => REFUSED_CODE,
                CompileError::Port(_) => BROKEN_CODE,
            }
        }
    }
}

fn whole(stdin: impl Read) -> Result<Vec<u8>, CompileError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(COMPONENT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    stdin.take(limit).read_to_end(&mut bytes).map_err(|e| port(format!("read the component: {e}")))?;
    if bytes.len() > COMPONENT_BYTES_MAX {
        return Err(CompileError::Refused(format!("it has more than {COMPONENT_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

fn machine_code(component: &[u8]) -> Result<Vec<u8>, CompileError> {
    let engine = compiling_engine().map_err(|e| port(e.to_string()))?;
    // A compiler may panic at bytes that were made for it; for whoever installs them that is a refusal like any other.
    match catch_unwind(AssertUnwindSafe(|| engine.precompile_component(component))) {
        Ok(Ok(code)) => Ok(code),
        Ok(Err(error)) => Err(CompileError::Refused(shown(&format!("{error:#}")))),
        Err(_) => Err(CompileError::Refused("the compiler broke at it".to_owned())),
    }
}

// What the child's end means. Whatever the bytes cause is a refusal; whatever is ours is a failure.
fn code_of(ended: Ended) -> Result<Vec<u8>, CompileError> {
    let refused = |why: String| Err(CompileError::Refused(why));
    match ended.stopped {
        Some(Stopped::Wall) => return refused(format!("compiling it takes longer than {WALL_S_MAX} s")),
        Some(Stopped::Cancelled) => return Err(port("compile the component: somebody asked to stop".to_owned())),
        None => {}
    }
    if ended.dropped_bytes > 0 {
        return refused(format!("its machine code has more than {CODE_MIB_MAX} MiB"));
    }
    let said = shown(&String::from_utf8_lossy(&ended.err));
    // A sandbox with an init of its own reports a signal as 128 and its number.
    let signal = ended.signal.or_else(|| ended.code.filter(|code| *code > 128).map(|code| code - 128));
    match (ended.code, signal) {
        (Some(0), _) if ended.out.is_empty() => Err(port("compile the component: the child gave nothing".to_owned())),
        (Some(0), _) => Ok(ended.out),
        (Some(code), _) if code == i32::from(REFUSED_CODE) => refused(said),
        (_, Some(SIGXCPU)) => refused(format!("compiling it takes more than {CPU_S_MAX} s of processor time")),
        _ if said.contains(OUT_OF_MEMORY) => refused(format!("compiling it takes more than {MEMORY_MIB_MAX} MiB")),
        (_, Some(SIGKILL)) => {
            refused(format!("compiling it takes more than {MEMORY_MIB_MAX} MiB or {CPU_S_MAX} s of processor time"))
        }
        (_, Some(signal)) => Err(port(format!("compile the component: the child ended by signal {signal}: {said}"))),
        (Some(code), None) => Err(port(format!("compile the component: the child ended with code {code}: {said}"))),
        (None, None) => Err(port(format!("compile the component: the child's end is not known: {said}"))),
    }
}

// One line that a terminal shows as it is: the text may quote names that a publisher chose.
fn shown(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SAID_CHARS_MAX).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn port(what: String) -> CompileError {
    CompileError::Port(PortError(what))
}

/// The child says by it that the component is refused; sysexits.h calls it a data error.
const REFUSED_CODE: u8 = 65;
/// The child itself is broken; sysexits.h calls it an internal software error.
const BROKEN_CODE: u8 = 70;
/// The largest component in use compiles in 20 s on one core. More is one that was made to keep a compiler busy.
const WALL_S_MAX: u64 = 120;
/// Two cores for the whole wall time.
const CPU_S_MAX: u64 = 240;
/// Address space of the child. A 12 MB component takes about 1.5 GiB; a bomb takes all there is.
const MEMORY_MIB_MAX: u64 = 4_096;
/// Machine code is four to six times the component, which has at most 64 MiB.
const CODE_MIB_MAX: u64 = 256;
/// Threads that compile. Each has a stack of its own, and on a machine of 64 cores they alone would pass the next limit.
const THREADS_MAX: u32 = 8;
/// Processes and threads of the child: those that compile, the first one, and room for the sandbox's own.
const PROCESSES_MAX: u64 = 16;
/// Characters of the child's words that are kept; an error can quote a whole module.
const SAID_CHARS_MAX: usize = 1_000;
/// What Rust says before it aborts because an allocation failed.
const OUT_OF_MEMORY: &str = "memory allocation of";
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;

#[cfg(test)]
#[path = "compile_tests.rs"]
mod tests;
