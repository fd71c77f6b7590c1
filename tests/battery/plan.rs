//! How much is tried, and how it is told.

/// How far the tests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// In debug builds: the same questions of fewer and smaller blocks, within seconds.
    Quick,
    /// In release builds: what is said of every change, within a minute.
    Full,
    /// With `FILTERBLOCK_LONG=1`: within twenty minutes.
    Long,
}

pub(crate) fn extent() -> Extent {
    match std::env::var_os("FILTERBLOCK_LONG") {
        Some(wanted) if wanted == "1" => Extent::Long,
        _ if cfg!(debug_assertions) => Extent::Quick,
        _ => Extent::Full,
    }
}

/// That of three which the extent asks for.
pub(crate) fn by_extent<T>(quick: T, full: T, long: T) -> T {
    match extent() {
        Extent::Quick => quick,
        Extent::Full => full,
        Extent::Long => long,
    }
}

/// A number in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let groups = digits.as_bytes()[first..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    std::iter::once(digits[..first].to_owned())
        .filter(|group| !group.is_empty())
        .chain(groups)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Prints what was tried, as one line that begins with "counted: " wherever the harness has its cursor.
pub(crate) fn counted(counts: &[(u64, &str)]) {
    let parts: Vec<String> = counts.iter().map(|(number, what)| format!("{} {what}", grouped(*number))).collect();
    println!("\ncounted: {}", parts.join(", "));
}

/// What is going on, said only if it panics: the library's own message does not know.
pub(crate) struct Case<T: std::fmt::Debug>(pub(crate) T);

impl<T: std::fmt::Debug> Drop for Case<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in the case {:?}", self.0);
        }
    }
}

#[test]
fn numbers_are_grouped() {
    let told: Vec<String> = [0, 7, 999, 1_000, 33_488, 8_386_560, 1_000_000_000].map(grouped).into();
    assert_eq!(told, ["0", "7", "999", "1 000", "33 488", "8 386 560", "1 000 000 000"]);
}
