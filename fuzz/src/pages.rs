//! Files of pages as inputs: without the zeros that fill nearly all of a small table's 4096-byte pages.
//!
//! In an input, `MARK` and a byte `n` stand for zeros up to the last `n` bytes of the page. A mutation that inserts or
//! removes bytes so moves what follows it up to the next mark, and no further.

pub use crate::layout::PAGE_LEN;

/// Three bytes that no seed holds, the first of them no text.
const MARK: [u8; 3] = *b"\xa5pg";
/// The largest file that an input can stand for.
const MAX_LEN: usize = 48 * PAGE_LEN;

/// The file that `input` stands for.
pub fn inflate(input: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut rest = input;
    while let Some(at) = rest.windows(MARK.len() + 1).position(|bytes| bytes.starts_with(&MARK)) {
        let kept = usize::from(rest[at + MARK.len()]);
        file.extend_from_slice(&rest[..at]);
        rest = &rest[at + MARK.len() + 1..];
        // At least one zero, and after a full page a page of them.
        file.resize((file.len() + kept + 1).next_multiple_of(PAGE_LEN) - kept, 0);
        if file.len() > MAX_LEN {
            break;
        }
    }
    file.extend_from_slice(rest);
    file.truncate(MAX_LEN);
    file
}

/// An input that stands for `file`, whose last page may lack an end.
pub fn deflate(file: &[u8]) -> Vec<u8> {
    let mut input = Vec::new();
    for page in file.chunks(PAGE_LEN) {
        let end = page.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        // A checksum at the end of the page, after zeros.
        let kept = 4;
        let body = page.len().checked_sub(kept).map_or(page, |len| &page[..len]);
        let body_end = body.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        if page.len() < PAGE_LEN {
            input.extend_from_slice(page);
        } else if end > body.len() && body_end + 16 < body.len() {
            input.extend_from_slice(&body[..body_end]);
            input.extend_from_slice(&MARK);
            input.push(kept as u8);
            input.extend_from_slice(&page[body.len()..]);
        } else {
            input.extend_from_slice(&page[..end]);
            // A full page needs none.
            if end < page.len() {
                input.extend_from_slice(&MARK);
                input.push(0);
            }
        }
    }
    assert_eq!(inflate(&input), file, "a page that holds the mark");
    input
}
