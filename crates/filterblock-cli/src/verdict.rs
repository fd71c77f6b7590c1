//! The outcome of a verification, for programs and for people.

use crate::exit::{self, Code, Failure};
use crate::output::{self, Output, object};
use serde_json::{Map, Value};
use std::io::{self, Write};
use std::path::Path;

/// The outcome of the verification of a file or a store.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) failures: Vec<Failure>,
    /// For programs.
    pub(crate) figures: Map<String, Value>,
    /// For people.
    pub(crate) text: String,
}

impl From<Failure> for Verdict {
    fn from(failure: Failure) -> Self {
        Self { failures: vec![failure], ..Self::default() }
    }
}

impl Verdict {
    /// Prints the failures on standard error and the rest on standard output; returns the worst code.
    pub(crate) fn print(self, path: &Path, json: bool, out: &mut Output) -> io::Result<Code> {
        let Self { failures, figures, text } = self;
        // Both streams may be the same terminal: keep the files in order.
        out.flush()?;
        failures.iter().for_each(exit::message);
        let worst = failures.iter().map(Failure::code).max().unwrap_or(Code::Ok);
        if !json {
            write!(out, "{text}")?;
            return Ok(worst);
        }
        let mut fields = Map::new();
        output::put_path(&mut fields, "file", path);
        fields.extend(object([("ok", failures.is_empty().into())]));
        if !failures.is_empty() {
            let errors = failures.iter().map(Failure::to_string).collect();
            fields.extend(object([("errors", errors), ("exit_code", (worst as u8).into())]));
        }
        fields.extend(figures);
        out.json(&fields)?;
        Ok(worst)
    }
}
