//! What AddressSanitizer must notice: a read past the end of a buffer, or (with an argument) memory that nobody frees.

fn main() {
    let bytes = std::hint::black_box(vec![1u8; 64]);
    if std::env::args().len() > 1 {
        std::mem::forget(bytes);
        return;
    }
    // SAFETY: none. This is the mistake.
    let past_the_end = unsafe { bytes.as_ptr().add(bytes.len()).read_volatile() };
    println!("{past_the_end}");
}
