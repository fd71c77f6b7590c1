//! The format's chapter on sets: its vectors against the library.

use crate::*;
use testkit::material::hex;
use testkit::specification;

/// Compares the document's vectors called `name` with `computed`; on failure, prints the lines that it should have.
fn compare(name: &str, computed: &[String]) {
    let written = specification::vectors(name);
    assert_eq!(written, computed, "the vectors '{name}' should be:\n{}\n", computed.join("\n"));
}

#[test]
fn value_vectors() {
    let values = [
        ("int:0", Value::Int(0)),
        ("int:7", Value::Int(7)),
        ("int:-1", Value::Int(-1)),
        ("int:500", Value::Int(500)),
        ("int:9223372036854775807", Value::Int(i64::MAX)),
        ("int:-9223372036854775808", Value::Wide(i64::MIN.into())),
        ("int:9223372036854775808", Value::Wide(1 << 63)),
        ("int:18446744073709551615", Value::Wide(u64::MAX.into())),
        ("decimal:7.00", Value::Decimal { unscaled: 700, scale: 2 }),
        ("decimal:0.00", Value::Decimal { unscaled: 0, scale: 2 }),
        ("decimal:1.50", Value::Decimal { unscaled: 150, scale: 2 }),
        ("decimal:-0.001", Value::Decimal { unscaled: -1, scale: 3 }),
        ("decimal:5e2", Value::Decimal { unscaled: 5, scale: -2 }),
        ("decimal:9223372036854775808.5", Value::Decimal { unscaled: 92_233_720_368_547_758_085, scale: 1 }),
        ("text:", Value::Text("")),
        ("text:Ulm", Value::Text("Ulm")),
        ("text:Zürich", Value::Text("Zürich")),
        ("binary:00ff", Value::Binary(&[0, 0xff])),
        ("local:1970-01-01T00:00:01.500", Value::LocalTimestamp(1_500, TimeUnit::Millisecond)),
        ("instant:2026-01-01T00:00:00Z", Value::Instant(1_767_225_600, TimeUnit::Second)),
        ("instant:2026-01-01T00:00:00.000000Z", Value::Instant(1_767_225_600_000_000, TimeUnit::Microsecond)),
        ("instant:1969-12-31T23:59:59.999999999Z", Value::Instant(-1, TimeUnit::Nanosecond)),
        ("date:1970-01-31", Value::Date(30)),
        ("date:1969-12-31", Value::Date(-1)),
        ("time:00:00:01", Value::TimeOfDay(1_000_000, TimeUnit::Microsecond)),
        ("time:23:59:59.999999999", Value::TimeOfDay(86_399_999_999_999, TimeUnit::Nanosecond)),
        ("time:24:00:00", Value::TimeOfDay(86_400, TimeUnit::Second)),
        ("time:24:00:05", Value::TimeOfDay(86_405, TimeUnit::Second)),
        ("time:-03:51:39", Value::TimeOfDay(-13_899_000, TimeUnit::Millisecond)),
        ("decimal:1e38", Value::Decimal { unscaled: 1, scale: -38 }),
        ("decimal:1e39", Value::Decimal { unscaled: 1, scale: -39 }),
        ("double:1.5", Value::NotIndexable),
    ];
    let line = |(name, value): &(&str, Value<'_>)| {
        let mut buffer = EntryBuffer::default();
        let class = value.class().map_or("-".into(), |class| class.to_wire().to_string());
        match value.entry(&mut buffer) {
            Some(entry) => format!(
                "{class} {name} {} {:#018x}",
                if entry.is_empty() { "-".into() } else { hex(entry) },
                KeyHasher::new(0).hash(entry).get()
            ),
            None => format!("{class} {name} none none"),
        }
    };
    compare("values", &values.iter().map(line).collect::<Vec<_>>());
    assert!((0..8).all(|class| ValueClass::from_wire(class).is_some_and(|found| found.to_wire() == class)));
    assert_eq!(ValueClass::from_wire(8), None);
}
