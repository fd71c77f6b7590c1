//! Every sizing that is not refused makes sets of files of any number of keys, within its rate, which lose no row.

use crate::sample::columns_of;
use crate::*;
use filterblock_set::{Shape, Sizing};
use testkit::extent::by_extent;
use testkit::policies::num_keys;

const USUAL: [u64; 9] = [0, 1, 2, 8, 37, 40, 1000, 100_000, u64::MAX];
const RATES: [f64; 11] = [0.0, 1e-10, 1e-9, 8e-5, 8.1e-4, 0.004, 0.03, 0.1, 0.5, 1.0, f64::NAN];

fn drawn(random: &mut Random) -> Option<Sizing> {
    let (usual, rate) = (random.pick(&USUAL), random.pick(&RATES));
    let shape = Shape {
        num_visits: random.pick(&[0, 1, 2, 8, 32, 33]),
        num_bands: random.pick(&[0, 1, 2, 4, 8, 9]),
        row_bits: random.pick(&[0, 1, 3, 4, 8, 9]),
    };
    if random.one_in(2) { Sizing::new(usual, rate) } else { Sizing::with_shape(shape, usual, rate) }
}

#[test]
fn every_sizing_that_is_made_makes_sets() {
    let (mut random, mut num_sets, mut num_refused) = (Random::new(50), 0, [0; 2]);
    for _ in 0..by_extent(300, 20_000, 20_000) {
        let (Some(sizing), num_keys) = (drawn(&mut random), num_keys(&mut random, 3000)) else {
            num_refused[0] += 1;
            continue;
        };
        // Others take minutes.
        let Some(table) = sizing.table(num_keys as u64).filter(|table| table.num_rows() < 1 << 22) else {
            num_refused[1] += 1;
            continue;
        };
        assert!(table.rate(num_keys as u64) <= 0.5, "{sizing:?}");
        let files = tables(0, random.index(3) + 1, num_keys);
        let mut builder = SetBuilder::new(&hasher(), &columns_of(sizing)).expect("two columns");
        add(&mut builder, &files);
        let bytes = finish(builder);
        // A bit for each row and file, of two columns, the checks of units, the index.
        let bits = table.num_rows().next_multiple_of(8) * files.len() as u64;
        let most = bits / 8 * 2 + bits / 8 / 32 + u64::from(table.shape.num_visits) * 32 + 1024;
        assert!(bytes.len() as u64 <= most, "{sizing:?}: {} of {most} bytes", bytes.len());
        assert!(no_row_lost(&bytes, &files).opened, "{sizing:?}");
        num_sets += 1;
    }
    assert!(num_refused[0] > 50 && num_sets > 100, "{num_sets} {num_refused:?}");
    println!("counted: {num_sets} sets of drawn sizings, {num_refused:?} refused, no row lost");
}
