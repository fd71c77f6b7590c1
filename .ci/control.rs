//! What sanitizers must notice: AddressSanitizer a read past the end of a buffer, or (with `leak`) memory that nobody frees;
//! ThreadSanitizer (with `race`) two threads that write to one place.

fn main() {
    let mut bytes = std::hint::black_box(vec![1u8; 64]);
    match std::env::args().nth(1).as_deref() {
        None => {
            // SAFETY: none. This is the mistake.
            let past_the_end = unsafe { bytes.as_ptr().add(bytes.len()).read_volatile() };
            println!("{past_the_end}");
        }
        Some("race") => {
            // For long enough that they overlap: of threads that run one after the other nothing is reported.
            let place = bytes.as_mut_ptr() as usize;
            std::thread::scope(|scope| {
                for value in 0..2 {
                    scope.spawn(move || {
                        for _ in 0..20_000_000 {
                            // SAFETY: none. This is the mistake.
                            unsafe { *std::hint::black_box(place as *mut u8) = value };
                        }
                    });
                }
            });
        }
        Some(_) => std::mem::forget(bytes),
    }
}
