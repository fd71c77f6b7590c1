//! A hint to the processor that a line of bytes will be read soon.

/// Prefetches the line in which `items[at]` begins. It does nothing if `at` is out of bounds or the processor has no such
/// hint.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], at: usize) {
    let address = items.as_ptr().wrapping_add(at);
    // SAFETY: SSE is part of x86-64. The hint neither reads nor faults, at any address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    // SAFETY: PRFM neither reads nor faults, at any address; it writes no register, no flag and no stack.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{address}]", address = in(reg) address,
            options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
