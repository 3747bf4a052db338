//! Functions that run into limits: time, memory, stack, output, host calls, open files. And `echo`, which runs into none.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;

use chitin_sdk::{Call, Failure, Part, host::run};
use serde::Deserialize;
use serde_json::json;

use crate::report;

#[derive(Deserialize)]
struct Echo {
    text: String,
}

/// One string in, one string out: what is left is the cost of a call.
pub(crate) fn echo(call: &Call) -> Result<Vec<Part>, Failure> {
    Ok(vec![Part::Text(call.args::<Echo>()?.text)])
}

pub(crate) fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

#[derive(Deserialize)]
struct EatMemory {
    mib: usize,
}

/// Takes memory piece by piece and touches every page, so that nothing is taken in name only.
pub(crate) fn eat_memory(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted_mib = call.args::<EatMemory>()?.mib;
    let mut held: Vec<Vec<u8>> = Vec::new();
    for taken_mib in 0..wanted_mib {
        let mut piece: Vec<u8> = Vec::new();
        if let Err(error) = piece.try_reserve_exact(MIB) {
            return report::outcome(Err(format!("{error} after {taken_mib} MiB")));
        }
        piece.resize(MIB, 1);
        held.push(piece);
    }
    report::value(json!({ "mib": black_box(&held).len() }))
}

pub(crate) fn recurse() -> Result<Vec<Part>, Failure> {
    report::value(json!({ "depth": deeper(0) }))
}

/// Frames without memory of their own, so that it is the stack of the engine that ends and not the guest's memory.
#[expect(unconditional_recursion, reason = "running out of stack is what this tries")]
fn deeper(depth: u64) -> u64 {
    deeper(black_box(depth + 1)) + 1
}

#[expect(clippy::panic, reason = "a trap is what this tries")]
pub(crate) fn panic() -> ! {
    panic!("the probe was asked to panic");
}

#[derive(Deserialize)]
struct Exit {
    code: i32,
}

pub(crate) fn exit(call: &Call) -> Result<Vec<Part>, Failure> {
    let code = call.args::<Exit>()?.code;
    std::process::exit(code)
}

#[derive(Deserialize)]
struct Print {
    stdout_kib: usize,
    stderr_kib: usize,
}

pub(crate) fn print(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted = call.args::<Print>()?;
    let stdout_kib = written_kib(&mut std::io::stdout().lock(), b'o', wanted.stdout_kib);
    let stderr_kib = written_kib(&mut std::io::stderr().lock(), b'e', wanted.stderr_kib);
    report::value(json!({ "stdout_kib": stdout_kib, "stderr_kib": stderr_kib }))
}

/// Writes lines of 1 KiB until the host takes no more; says how many it took.
fn written_kib(stream: &mut impl Write, letter: u8, wanted: usize) -> usize {
    let mut line = vec![letter; 1023];
    line.push(b'\n');
    (0..wanted).take_while(|_| stream.write_all(&line).and_then(|()| stream.flush()).is_ok()).count()
}

#[derive(Deserialize)]
struct Count {
    n: u64,
}

/// Calls the cheapest function of the host.
pub(crate) fn flood(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted = call.args::<Count>()?.n;
    let mut cancelled = false;
    for _ in 0..wanted {
        cancelled |= run::cancelled();
    }
    report::value(json!({ "calls": wanted, "cancelled": cancelled }))
}

/// Opens the workspace again and again and holds every handle.
pub(crate) fn many_files(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted = call.args::<Count>()?.n;
    let mut held = Vec::new();
    for index in 0..wanted {
        let path = format!("/workspace/probe-{index}");
        match File::create(&path) {
            Ok(file) => held.push(file),
            Err(error) => return report::outcome(Err(format!("{error} after {} files", held.len()))),
        }
    }
    report::value(json!({ "open": held.len() }))
}

const MIB: usize = 1024 * 1024;
