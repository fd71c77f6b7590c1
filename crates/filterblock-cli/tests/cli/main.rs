//! The command-line tool, run as a process.

mod advice;
mod build;
mod calc;
mod damage;
#[cfg(unix)]
mod debris;
mod demo;
#[cfg(unix)]
mod documents;
mod forms;
mod input;
mod inspect;
mod keyed;
mod output;
#[cfg(target_os = "linux")]
mod progress;
mod query;
mod ranges;
mod replaced;
mod sets;
mod store;
mod table;
mod thin;
mod verify;
mod whole;

use filterblock::range::RangePolicy;
use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyTransform};
use filterblock_kv::{Store, StoreOptions};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;
use testkit::assembled::{repair, repair_crc};

const KINDS: [&str; 5] = ["bloom", "blocked", "golomb", "ribbon", "fuse"];

/// A directory of its own and the tool inside it.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn command(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_filterblock"));
        command.current_dir(self.dir.path()).args(args).stdin(Stdio::null());
        command
    }

    /// Runs `script`, which calls the tool `$FB`, in a shell without input.
    #[cfg(unix)]
    fn shell(&self, script: &str) -> Output {
        let mut command = Command::new("sh");
        command.current_dir(self.dir.path()).env("FB", env!("CARGO_BIN_EXE_filterblock")).stdin(Stdio::null());
        command.args(["-c", script]).output().unwrap()
    }

    /// Runs `script`, which calls the tool by its name, in a shell that ends at the first failure.
    #[cfg(unix)]
    fn shell_with_tool(&self, script: &str) -> Output {
        let tool = std::path::Path::new(env!("CARGO_BIN_EXE_filterblock"));
        let path = format!("{}:{}", tool.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.current_dir(self.dir.path()).env("PATH", path).stdin(Stdio::null());
        command.args(["-euc", script]).output().unwrap()
    }

    /// Runs a command as a message names it.
    #[cfg(unix)]
    fn follow(&self, command: &str) -> Output {
        self.shell(&command.replacen("filterblock", "$FB", 1))
    }

    /// What `script` shows on a terminal where `typed` is typed.
    #[cfg(target_os = "linux")]
    fn on_terminal(&self, script: &str, typed: &[u8]) -> String {
        let mut command = Command::new("script");
        command.current_dir(self.dir.path()).env("FB", env!("CARGO_BIN_EXE_filterblock"));
        command.args(["-qec", script, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    /// Runs the tool with `line` split at spaces.
    fn run(&self, line: &str) -> Output {
        self.command(line.split(' ')).output().unwrap()
    }

    /// Runs the tool, which must end with `code`, and returns what it printed.
    #[track_caller]
    fn expect(&self, code: i32, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the tool, which must fail with `code`, and returns its message; standard output must be empty.
    #[track_caller]
    fn expect_failure(&self, code: i32, line: &str) -> String {
        let output = self.run(line);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{line}: {message}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{line}");
        assert!(!message.is_empty(), "{line}");
        for debris in ["panicked", "Err(", "DecodeError", "BuildError", "Os {", "backtrace"] {
            assert!(!message.contains(debris), "{line}: {message}");
        }
        message
    }

    #[track_caller]
    fn json(&self, code: i32, line: &str) -> Value {
        serde_json::from_str(&self.expect(code, line)).unwrap()
    }

    #[track_caller]
    fn with_stdin(&self, line: &str, input: &[u8]) -> Output {
        let mut command = self.command(line.split(' '));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Inputs are smaller than what the tool reads before it answers, so this cannot block. A tool that needs none
        // of them may have ended.
        if let Err(error) = stdin.write_all(input) {
            assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        }
        drop(stdin);
        child.wait_with_output().unwrap()
    }

    /// `keys.txt` with the keys key-0 … key-999, `absent.txt` with a thousand others, and a block `t.fb`.
    fn with_block(kind: &str) -> Self {
        let place = Self::new();
        place.write("keys.txt", lines("key", 1000));
        place.write("absent.txt", lines("absent", 1000));
        place.expect(0, &format!("build --kind {kind} --seed 0 --output t.fb keys.txt"));
        place
    }
}

#[cfg(unix)]
fn bytes_name(bytes: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What the tool printed to standard output and to standard error; it must have ended with `code`.
#[track_caller]
fn ended(code: i32, output: &Output) -> (String, String) {
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
    (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(output))
}

/// The commands that a message names between backquotes, but for those that show help.
fn commands(message: &str) -> Vec<String> {
    let quoted = message.split('`').skip(1).step_by(2);
    quoted.filter(|text| text.starts_with("filterblock ") && !text.ends_with("--help")).map(str::to_owned).collect()
}

/// `count` cells, each of a row of its own, in no order of rows.
fn spread_cells(count: u64, value_len: usize) -> String {
    let row = |i: u64| filterblock::KeyHasher::new(0).hash(i.to_string().as_bytes()).get();
    (0..count).map(|i| format!("row-{:016x}\tcolumn\t{:0value_len$}\n", row(i), 0)).collect()
}

/// The bytes with one bit changed.
fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes
}

fn lines(prefix: &str, count: u32) -> String {
    (0..count).map(|i| format!("{prefix}-{i}\n")).collect()
}

/// The names of an object's fields, in order, with a space between two.
fn field_names(object: &Value) -> String {
    object.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
}
