//! Passes the commit of the sources to the tool, for `--version`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Elsewhere, as in a copy inside another repository, the commit would not be of these sources.
    if git(&["rev-parse", "--show-prefix"]).as_deref() != Some("crates/filterblock-cli/") {
        return;
    }
    // Both change with a commit or a checkout.
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", path]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=FILTERBLOCK_COMMIT={commit}");
    }
}

/// What git prints; `None` without git or a repository.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
