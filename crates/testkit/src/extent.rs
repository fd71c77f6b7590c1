//! How much the larger tests try. `FILTERBLOCK_PLAN` chooses `small`, `full` or `long`; without it, a debug build runs
//! the small plans and a release build the full ones. A plan sets sizes and counts, never what is asserted of a case.

/// The plans, from the smallest to the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Seconds in a debug build: fewer and smaller cases of the same sorts.
    Small,
    /// A minute or two in a release build.
    Full,
    /// Half an hour of processor time for the battery; the other tests have no longer plan than the full one.
    Long,
}

pub fn extent() -> Extent {
    match std::env::var("FILTERBLOCK_PLAN").as_deref() {
        Ok("small") => Extent::Small,
        Ok("full") => Extent::Full,
        Ok("long") => Extent::Long,
        Ok(other) => panic!("FILTERBLOCK_PLAN is small, full or long, not {other:?}"),
        Err(_) if cfg!(debug_assertions) => Extent::Small,
        Err(_) => Extent::Full,
    }
}

/// The value for the chosen plan.
pub fn by_extent<T>(small: T, full: T, long: T) -> T {
    match extent() {
        Extent::Small => small,
        Extent::Full => full,
        Extent::Long => long,
    }
}
