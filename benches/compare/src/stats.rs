//! Order statistics of a few samples.

/// Linearly interpolated quantile; `None` without samples.
pub fn quantile(samples: &[f64], at: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let position = at * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[position as usize], sorted[position.ceil() as usize]);
    Some(low + (high - low) * position.fract())
}

pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// First and third quartile.
pub fn quartiles(samples: &[f64]) -> Option<[f64; 2]> {
    Some([quantile(samples, 0.25)?, quantile(samples, 0.75)?])
}

/// The median of the ratios of the samples to those of the same rounds in `reference`.
pub fn median_ratio(samples: &[f64], reference: &[f64]) -> Option<f64> {
    median(&samples.iter().zip(reference).map(|(sample, reference)| sample / reference).collect::<Vec<_>>())
}
