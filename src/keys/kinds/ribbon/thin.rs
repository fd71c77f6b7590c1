//! A copy with fewer columns.

use super::{Params, View, WORD_LEN};
use std::vec::Vec;

/// Appends the payload of the first `columns` columns, which are fewer than the stored ones.
///
/// Thresholds and layers depend on the columns that were solved for, not on those that are stored: see the essay of the
/// [parent](super).
pub(super) fn thin(view: &View<'_>, columns: u32, out: &mut Vec<u8>) -> Params {
    let (layout, payload) = (view.layout, view.payload);
    let params = &layout.params;
    debug_assert!((1..params.most_columns()).contains(&columns));
    let kept_len = columns as usize * WORD_LEN;
    let (_, rest) = payload.split_at(layout.first.thresholds_at as usize);
    let num_blocks: u64 = layout.layers().map(|layer| layer.num_blocks).sum();
    out.reserve_exact(num_blocks as usize * kept_len + rest.len());
    for layer in layout.layers() {
        for block in 0..layer.num_blocks {
            let at = (layer.first_word + layer.word_of(params, block)) as usize * WORD_LEN;
            out.extend_from_slice(&payload[at..][..kept_len]);
        }
    }
    out.extend_from_slice(rest);
    let thinned_from = match params.thinned_from {
        0 => params.most_columns() as u8,
        from => from,
    };
    Params { columns: columns as u8, thinned_from, wide_share: 0, ..*params }
}
