//! A fault between the writing of bytes and their check, for tests.

/// In tests, flips the bit that `set` chose. Elsewhere it does nothing. Builds call it with the bytes that they have
/// written and are about to check.
#[inline(always)]
pub(crate) fn inject(_written: &mut [u8]) {
    #[cfg(test)]
    tests::flip(_written);
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    std::thread_local! {
        /// The number of bits that are still to be written before the one that is flipped.
        static BITS_BEFORE: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Flips a bit of what this thread writes next: the one that `num_bits` others precede.
    pub(crate) fn set(num_bits: usize) {
        BITS_BEFORE.set(Some(num_bits));
    }

    /// Returns whether the bit was flipped, and flips none from now on.
    pub(crate) fn was_injected() -> bool {
        BITS_BEFORE.take().is_none()
    }

    pub(super) fn flip(written: &mut [u8]) {
        let num_bits = written.len() * 8;
        BITS_BEFORE.set(match BITS_BEFORE.get() {
            Some(bit) if bit < num_bits => {
                written[bit / 8] ^= 1 << (bit % 8);
                None
            }
            before => before.map(|bit| bit - num_bits),
        });
    }
}
