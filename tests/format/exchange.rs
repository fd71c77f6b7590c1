//! The golden frames, written on one machine and read on others.

use crate::*;
use crate::{between_machines, golden, releases};

#[test]
fn machines_read_frames_that_others_write() {
    let cases = golden::cases();
    assert!(cases.len() >= 24);
    let write = |dir: &std::path::Path| {
        for case in &cases {
            fs::write(dir.join(&case.name), case.build(&case.keys())).expect("a file");
        }
    };
    between_machines::exchange("frames", "golden frames", write, |dir| {
        assert_eq!(fs::read_dir(dir).expect("a directory").count(), cases.len());
        cases.iter().map(|case| releases::read_frame(dir, &golden::dir(), &case.describe(&case.name))).sum()
    });
}
