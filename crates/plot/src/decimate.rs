//! Fewer points, same picture.

/// Thins a curve to what a pixel column can show: of each run of consecutive points that fall into
/// one column of width `column` (in x), the first, the lowest, the highest and the last are kept,
/// in their order. Peaks survive, joints to the neighbouring columns stay exact, and since runs
/// are formed along the curve, x may go back and forth (hysteresis loops).
pub(crate) fn thin(points: &[(f64, f64)], column: f64) -> Vec<(f64, f64)> {
    let mut kept = Vec::with_capacity(points.len().min(4096));
    let mut start = 0;
    while start < points.len() {
        let here = (points[start].0 / column).floor();
        let (mut low, mut high, mut end) = (start, start, start + 1);
        while end < points.len() && (points[end].0 / column).floor() == here {
            if points[end].1 < points[low].1 {
                low = end;
            }
            if points[end].1 > points[high].1 {
                high = end;
            }
            end += 1;
        }
        let mut indices = [start, low.min(high), low.max(high), end - 1].to_vec();
        indices.dedup();
        kept.extend(indices.into_iter().map(|i| points[i]));
        start = end;
    }
    kept
}

/// Indices of at most about `limit` samples that keep the extremes, the first and last sample and
/// every gap's place; all of them if they are few enough.
pub(crate) fn indices_within(y: &[f64], limit: usize) -> Option<Vec<usize>> {
    if y.len() <= limit {
        return None;
    }
    let bucket = y.len().div_ceil(limit.max(5) / 5);
    let mut kept = Vec::with_capacity(limit);
    for start in (0..y.len()).step_by(bucket) {
        let end = (start + bucket).min(y.len());
        let (mut low, mut high, mut gap) = (None::<usize>, None::<usize>, None);
        for i in start..end {
            if !y[i].is_finite() {
                gap.get_or_insert(i);
                continue;
            }
            if low.is_none_or(|l| y[i] < y[l]) {
                low = Some(i);
            }
            if high.is_none_or(|h| y[i] > y[h]) {
                high = Some(i);
            }
        }
        let mut chosen: Vec<usize> =
            [Some(start), low, high, gap, Some(end - 1)].into_iter().flatten().collect();
        chosen.sort_unstable();
        chosen.dedup();
        kept.extend(chosen);
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_single_spike_among_a_million_samples_survives() {
        let mut points: Vec<(f64, f64)> =
            (0..1_000_000).map(|i| (f64::from(i) * 1e-3, 0.0)).collect();
        points[654_321].1 = 7.0;
        let kept = thin(&points, 1.0);
        assert!(kept.len() <= 4 * 1000);
        assert!(kept.contains(&(654.321, 7.0)));
    }

    proptest! {
        #[test]
        fn thinning_keeps_the_extremes_of_every_column(
            points in prop::collection::vec((0.0..50.0f64, -1e3..1e3f64), 1..400), sorted: bool,
        ) {
            let mut points = points;
            if sorted {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
            let kept = thin(&points, 1.0);
            prop_assert!(kept.len() <= points.len());
            prop_assert_eq!(kept.first(), points.first());
            prop_assert_eq!(kept.last(), points.last());
            for column in 0..50 {
                let extremes = |set: &[(f64, f64)]| {
                    set.iter().filter(|p| p.0.floor() == f64::from(column)).fold(
                        (f64::INFINITY, f64::NEG_INFINITY),
                        |(low, high), p| (low.min(p.1), high.max(p.1)),
                    )
                };
                prop_assert_eq!(extremes(&points), extremes(&kept));
            }
            if sorted {
                prop_assert!(kept.len() <= 4 * 50);
            }
        }

        #[test]
        fn limited_samples_keep_extremes_ends_and_gaps(
            y in prop::collection::vec(prop_oneof![9 => -1e3..1e3f64, 1 => Just(f64::NAN)], 1..600),
            limit in 5usize..200,
        ) {
            let Some(kept) = indices_within(&y, limit) else {
                prop_assert!(y.len() <= limit);
                return Ok(());
            };
            prop_assert!(kept.len() <= limit + 5, "{} of {limit}", kept.len());
            prop_assert!(kept.windows(2).all(|w| w[0] < w[1]));
            prop_assert_eq!((kept[0], kept[kept.len() - 1]), (0, y.len() - 1));
            let highest = |i: &mut dyn Iterator<Item = f64>| i.fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(
                highest(&mut y.iter().copied()),
                highest(&mut kept.iter().map(|&i| y[i]))
            );
            prop_assert_eq!(
                y.iter().any(|v| v.is_nan()),
                kept.iter().any(|&i| y[i].is_nan())
            );
        }
    }
}
