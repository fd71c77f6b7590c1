//! The code of what leaves have in common: that of R. Rice, about a centre of each group.

/// How what leaves have in common is stored: as zigzag differences from a centre, in Rice's code.
pub(super) struct Code {
    pub(super) centre: u32,
    /// The width of remainders.
    pub(super) width: u32,
    pub(super) bits: u64,
}

impl Code {
    /// Returns the code of the leaves of a group after the first.
    pub(super) fn of(differs: &[u16]) -> Self {
        let Some(num) = (differs.len() as u32).checked_sub(1).map(|num| num + 1) else {
            return Self { centre: 0, width: 0, bits: 0 };
        };
        let sum: u32 = differs.iter().map(|&differs| u32::from(differs) - 1).sum();
        let centre = (sum + num / 2) / num;
        let zigzags = || differs.iter().map(|&differs| zigzag(differs.into(), centre));
        // Near the logarithm of .7 of the mean.
        let near = (zigzags().sum::<u32>() * 7 / (10 * num)).checked_ilog2().unwrap_or(0);
        let bits = |width: u32| zigzags().map(|zigzag| (zigzag >> width) + 1 + width).sum::<u32>();
        let widths = (near.saturating_sub(1)..=near + 1).map(|width| (bits(width), width));
        let (bits, width) = widths.min().unwrap_or((0, 0));
        Self { centre, width, bits: bits.into() }
    }
}

/// Returns the difference of what a leaf has in common with the one before it from a centre.
pub(super) fn zigzag(differs: u32, centre: u32) -> u32 {
    let len = differs - 1;
    if len >= centre { 2 * (len - centre) } else { 2 * (centre - len) - 1 }
}
