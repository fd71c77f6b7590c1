//! The tool as a process that is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const SIGKILL: i32 = 9;

/// When a process is killed.
pub struct Moment {
    /// After this many acknowledged cells were read.
    pub acks: u64,
    /// And this much later.
    pub delay: Duration,
}

/// The result of a process.
pub struct Ended {
    /// Whether it was killed; otherwise it ended by itself.
    pub killed: bool,
    /// The last number of cells that it acknowledged.
    pub acknowledged: u64,
}

fn spawn(dir: &Path, subcommand: &str, options: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_filterblock"));
    command.arg(subcommand).arg(dir).args(options.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Feeds `lines` to `filterblock fill` and kills it. Unless `ends`, its input stays open, so that it does not end by
/// itself.
pub fn fill(dir: &Path, options: &str, lines: Vec<u8>, ends: bool, moment: &Moment) -> Ended {
    let mut child = spawn(dir, "fill", options);
    let mut stdin = child.stdin.take().unwrap();
    let feeder = thread::spawn(move || {
        // The process may be killed before it has read everything.
        let _ = stdin.write_all(&lines);
        (!ends).then_some(stdin)
    });
    let mut acks = BufReader::new(child.stdout.take().unwrap());
    let mut acknowledged = 0;
    while acknowledged < moment.acks {
        let Some(ack) = next_ack(&mut acks) else {
            wait(child);
            panic!("filterblock fill ended after {acknowledged} of {} acknowledgements", moment.acks);
        };
        acknowledged = ack;
    }
    thread::sleep(moment.delay);
    child.kill().unwrap();
    // What was acknowledged counts, even if it was read after the end.
    while let Some(ack) = next_ack(&mut acks) {
        assert!(ack > acknowledged, "{ack} after {acknowledged}");
        acknowledged = ack;
    }
    let killed = wait(child);
    feeder.join().unwrap();
    Ended { killed, acknowledged }
}

/// Kills `filterblock rebuild`, unless it ends before.
pub fn rebuild(dir: &Path, options: &str, delay: Duration) -> Ended {
    let mut child = spawn(dir, "rebuild", options);
    thread::sleep(delay);
    child.kill().unwrap();
    Ended { killed: wait(child), acknowledged: 0 }
}

/// Returns whether the process was killed. It must not have failed otherwise.
fn wait(mut child: Child) -> bool {
    let status = child.wait().unwrap();
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert!(status.success() || status.signal() == Some(SIGKILL), "{status}: {message}");
    assert_eq!(message, "");
    !status.success()
}

/// The next complete line as `ok 17`; `None` at the end, or at the summary.
fn next_ack(acks: &mut impl BufRead) -> Option<u64> {
    let mut line = String::new();
    acks.read_line(&mut line).unwrap();
    line.strip_suffix('\n')?.strip_prefix("ok ").map(|number| number.parse().unwrap())
}
