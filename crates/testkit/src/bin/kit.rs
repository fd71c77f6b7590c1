//! For implementers of other readers and writers; tests/conformance/README.md has the protocol.
//!
//!     kit corpus SEED NUMBER    writes random cases of the conformance kit
//!     kit answer                replies to the requests of run.py

use std::error::Error;
use std::io::{BufRead as _, Write as _, stdin, stdout};
use testkit::kit::{corpus, library};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut out = stdout().lock();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["corpus", seed, number] => {
            let (seed, number) = (seed.parse()?, number.parse()?);
            for at in 0..number {
                write!(out, "{}{}", if at == 0 { "[\n" } else { ",\n" }, corpus::case(seed, at))?;
            }
            writeln!(out, "\n]")?;
        }
        ["answer"] => {
            for line in stdin().lock().lines() {
                writeln!(out, "{}", library::answer(&serde_json::from_str(&line?)?))?;
                out.flush()?;
            }
        }
        _ => return Err("kit corpus SEED NUMBER, or kit answer".into()),
    }
    Ok(())
}
