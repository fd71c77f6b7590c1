//! Numbers at their greatest.

use crate::{Record, Shape, Table};

/// A unit of one lane has up to 2^31 bytes: more rows than 32 bits number.
#[test]
fn rows_of_the_longest_units_are_numbered() {
    let (shape, num_pages) = (Shape { num_visits: 1, num_bands: 2, row_bits: 3 }, 1 << 30);
    let mut record = Record::new(0, 0, Table { shape, num_pages }, 1).expect("a record");
    record.unit_pages = num_pages;
    let record = Record::decode(&record.encode().try_into().expect("a record's bytes")).expect("legal");
    assert_eq!(record.row(num_pages - 1, 15), (1 << 34) - 1);
}

/// A caller may make any shape and any table.
#[test]
fn shapes_out_of_range_have_no_records() {
    for row_bits in [9, 31, 32, 255] {
        let shape = Shape { num_visits: 255, num_bands: 255, row_bits };
        let table = Table { shape, num_pages: u32::MAX };
        assert_eq!(Record::new(0, 0, table, u32::MAX), None, "{row_bits} {}", table.num_rows());
    }
}
