//! The trailers of compact frames, and the compact frame of a block: format-spec.md, section 10.

use crate::oracle::int;

/// The trailer of a compact golomb frame; `widths` are those of remainders and directory.
pub fn golomb_trailer(num_buckets: u64, bucket_range: u64, widths: [u8; 2]) -> Vec<u8> {
    if let (1, [remainder_bits @ 1..16, 0]) = (num_buckets, widths) {
        let unit = 1 << (remainder_bits - 1);
        if bucket_range % unit == 0 && (1..256).contains(&(bucket_range / unit)) {
            return vec![(bucket_range / unit) as u8, remainder_bits, 0x13];
        }
    }
    let (buckets, range) = (short(num_buckets), short(bucket_range));
    let lens = (buckets.len() << 4 | range.len()) as u8;
    [&buckets[..], &range, &widths, &[lens, 0x13]].concat()
}

/// The trailer of a compact ribbon frame, of seed, columns and layers; that of a thinned filter unless
/// `thinned_from` is 0.
pub fn ribbon_trailer(wide_share: u64, thinned_from: u8, [last_seed, columns, num_layers]: [u8; 3]) -> Vec<u8> {
    let share = short(wide_share);
    let (integer, len) = if thinned_from > 0 { (vec![thinned_from], 15) } else { (share.clone(), share.len() as u8) };
    [&integer[..], &[last_seed, columns, num_layers << 4 | len, 0x14]].concat()
}

/// The trailer of a compact fuse frame, of seed, bits and length of segments.
pub fn fuse_trailer(num_segments: u64, [seed, fingerprint_bits, log2_segment_len]: [u8; 3]) -> Vec<u8> {
    let segments = short(num_segments);
    let lens = log2_segment_len << 3 | segments.len() as u8;
    [&segments[..], &[seed, fingerprint_bits, lens, 0x15]].concat()
}

/// An integer without zero bytes at its upper end.
fn short(value: u64) -> Vec<u8> {
    (0..8).take_while(|i| value >> (8 * i) > 0).map(|i| (value >> (8 * i)) as u8).collect()
}

/// The compact frame of a block's own filter.
pub fn compact_of(block: &[u8]) -> Vec<u8> {
    let (num_entries, params, payload) = (int(&block[24..32]), &block[40..52], &block[64..]);
    let mut trailer = match block[9] {
        _ if num_entries == 0 => vec![0x10],
        1 => vec![params[0], 0x11],
        2 => vec![(params[0] - 1) << 4 | params[1], 0x12],
        4 => ribbon_trailer(int(&params[4..8]), params[3], [params[2], params[0], params[1]]),
        5 => fuse_trailer(int(&params[4..8]), [params[2], params[0], params[1]]),
        _ => golomb_trailer(num_entries.div_ceil(params[2].into()), int(&params[4..]), [params[0], params[1]]),
    };
    // Bit 8 of the features, and bit 3 of the tag: remapped.
    *trailer.last_mut().expect("a tag") |= (block[13] & 1) << 3;
    [payload, &trailer].concat()
}
