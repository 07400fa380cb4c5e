//! Series colours: Okabe & Ito's colour-blind-safe set (2008), without its yellow, which vanishes
//! on white paper. Each colour has a lighter twin for dark screens. When the colours run out, the
//! dash pattern changes, so that 21 series stay distinct.

/// `(on light ground, on dark ground)`.
pub(crate) const COLOURS: [(&str, &str); 7] = [
    ("#0072b2", "#56a8e8"), // blue
    ("#d55e00", "#f5843c"), // vermilion
    ("#009e73", "#2fc79c"), // bluish green
    ("#b85c92", "#e59cc6"), // reddish purple, darkened: the original is faint in thin lines
    ("#d98e00", "#f0b73c"), // orange, darkened likewise
    ("#3fa0d8", "#9ad6f7"), // sky blue
    ("#444444", "#c9ccd1"), // black
];

/// Dash patterns in px, taken up one after the other.
pub(crate) const DASHES: [&[f64]; 3] = [&[], &[7.0, 3.0], &[2.0, 2.5]];

pub(crate) fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()].0
}

pub(crate) fn dash(index: usize) -> &'static [f64] {
    DASHES[index / COLOURS.len() % DASHES.len()]
}
