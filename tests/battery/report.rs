//! What a test reports: its counts, and the case at hand when it panics.

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

/// Prints the counts as one line that begins with "counted: ", wherever the harness has left its cursor.
pub(crate) fn counted(counts: &[(u64, &str)]) {
    let parts: Vec<String> = counts.iter().map(|(number, what)| format!("{} {what}", grouped(*number))).collect();
    println!("\ncounted: {}", parts.join(", "));
}

/// The case at hand, printed only if the test panics: the library's own message does not name it.
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
    let texts: Vec<String> = [0, 7, 999, 1_000, 33_488, 8_386_560, 1_000_000_000].map(grouped).into();
    assert_eq!(texts, ["0", "7", "999", "1 000", "33 488", "8 386 560", "1 000 000 000"]);
}
