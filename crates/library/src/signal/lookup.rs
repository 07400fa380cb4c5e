//! Tabulated curves and maps, over a signal or over time.

use super::block::memoryless;
use super::time::ahead;
use fluxline_core::component::{NoConstants, Refusal};
use fluxline_core::number::Num;
use fluxline_core::table::Table;
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::sync::Arc;

/// A tabulated curve.
///
/// y = table(u), linear between points, held beyond the ends
#[component("signal.lookup", s, constants = TableConstants, also = "hopsan:Signal1DLookupTable")]
pub struct Lookup {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// – — points of the curve [any]
    #[parameter]
    pub table: Arc<Table>,
    /// y — value of the curve [any]
    #[output]
    out: Output,
}

/// A tabulated map.
///
/// y = table(u₁, u₂), bilinear between points, held beyond the edges
#[component("signal.lookup_2d", s, constants = TableConstants, also = "hopsan:Signal2DLookupTable")]
pub struct Lookup2d {
    /// u₁ — variable along the columns [any]
    #[input(default = 0, also = "col")]
    pub input1: f64,
    /// u₂ — variable along the rows [any]
    #[input(default = 0, also = "row")]
    pub input2: f64,
    /// – — grid of the map [any]
    #[parameter]
    pub table: Arc<Table>,
    /// y — value of the map [any]
    #[output]
    out: Output,
}

fluxline_core::choice! {
    /// What a table gives between its points.
    pub enum Between {
        /// The straight line.
        Linear = "linear",
        /// The value of the last point.
        Hold = "hold",
    }
}

/// A curve over time, such as a measured duty cycle.
///
/// y = table(t − t₀), linear between points or held from point to point; beyond the ends the end
/// value holds, or the table begins anew
///
/// Two points at one time are a jump, which takes effect at that time. A table that repeats does so
/// with the time from its first to its last point; the last point is then the first of the next turn.
#[component("signal.table", s, constants = TimeTableConstants)]
pub struct TimeTable {
    /// – — points over time [any]
    #[parameter]
    pub table: Arc<Table>,
    /// t₀ — time that counts as 0 in the table [s]
    #[parameter(default = "0 s")]
    pub start: f64,
    /// – — between points: linear or hold [any]
    #[parameter(default = "linear")]
    pub between: Between,
    /// – — begin anew after the last point [any]
    #[parameter(default = "false")]
    pub repeat: bool,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// Constants of [`Lookup`] and [`Lookup2d`].
#[derive(Clone, Debug, Constants)]
pub struct TableConstants<T> {
    table: Arc<Table>,
    /// All its numbers are in the table.
    none: NoConstants<T>,
}

/// Constants of [`TimeTable`].
#[derive(Clone, Debug, Constants)]
pub struct TimeTableConstants<T> {
    table: Arc<Table>,
    start: T,
    between: Between,
    repeat: bool,
}

memoryless!(Lookup: TableConstants);
memoryless!(Lookup2d: TableConstants);
memoryless!(TimeTable: TimeTableConstants, events);

impl Lookup {
    fn constants(&self) -> Result<TableConstants<f64>, Refusal> {
        check(&self.table, false)?;
        increases(&self.table.knots, false)?;
        Ok(TableConstants { table: self.table.clone(), none: NoConstants::new() })
    }
    #[inline(always)]
    fn value<T: Num>(k: &TableConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        k.table.along(u(Self::INPUT))
    }
}

impl Lookup2d {
    fn constants(&self) -> Result<TableConstants<f64>, Refusal> {
        check(&self.table, true)?;
        increases(&self.table.knots, false)?;
        increases(&self.table.rows, false)?;
        Ok(TableConstants { table: self.table.clone(), none: NoConstants::new() })
    }
    #[wide]
    #[inline(always)]
    fn value<T: Num>(k: &TableConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        u(Self::INPUT1).apply2(u(Self::INPUT2), |x, y| k.table.at2(x, y))
    }
}

impl TimeTable {
    fn constants(&self) -> Result<TimeTableConstants<f64>, Refusal> {
        let knots = &self.table.knots;
        check(&self.table, false)?;
        increases(knots, true)?;
        if self.repeat && knots[knots.len() - 1] <= knots[0] {
            return Err(Refusal::new(
                "repeat",
                format!("the table begins and ends at {} s: there is nothing to repeat", knots[0]),
                "give the table a last point at a later time, or set repeat = false",
            ));
        }
        Ok(TimeTableConstants {
            table: self.table.clone(),
            start: self.start,
            between: self.between,
            repeat: self.repeat,
        })
    }
    /// The next point.
    fn event_after(k: &TimeTableConstants<f64>, time: f64) -> f64 {
        let knots = &k.table.knots;
        let now = ahead(time);
        // What is held before the first point is its value: nothing happens there.
        let first = usize::from(k.between == Between::Hold && !k.repeat);
        let next_in_turn = |shift: f64| {
            let from = k.start + shift;
            let ahead = knots.partition_point(|&knot| from + knot <= now).max(first);
            knots.get(ahead).map_or(f64::INFINITY, |knot| from + knot)
        };
        if !k.repeat {
            return next_in_turn(0.0);
        }
        let period = knots[knots.len() - 1] - knots[0];
        let turns = ((now - k.start - knots[0]) / period).floor();
        // The turn before and after too, should rounding have counted one too many or too few.
        [-1.0, 0.0, 1.0]
            .into_iter()
            .map(|more| next_in_turn((turns + more) * period))
            .fold(f64::INFINITY, f64::min)
    }
    #[wide]
    #[inline(always)]
    fn value<T: Num>(k: &TimeTableConstants<T>, time: f64, _: impl Fn(usize) -> T) -> T {
        let slack = ahead(time) - time;
        (T::of(time) - k.start).apply(|t| k.at(t, slack))
    }
}

impl<T> TimeTableConstants<T> {
    /// Value and slope at a time of the table; points within `slack` ahead count as reached.
    fn at(&self, time: f64, slack: f64) -> (f64, f64) {
        let knots = &self.table.knots;
        let (first, last) = (knots[0], knots[knots.len() - 1]);
        let mut time = time;
        if self.repeat {
            let period = last - first;
            let turns = ((time + slack - first) / period).floor();
            time = (time - turns * period).max(first);
        }
        let passed = knots.partition_point(|&knot| knot <= time + slack);
        if passed == 0 {
            return (self.table.values[0], 0.0);
        }
        match self.between {
            Between::Hold => (self.table.values[passed - 1], 0.0),
            // A point just ahead is taken as reached, so that jumps happen and corners are exact.
            Between::Linear => self.table.at_passed(time.max(knots[passed - 1]), passed),
        }
    }
}

/// Refuses a table of the wrong shape.
fn check(table: &Table, map: bool) -> Result<(), Refusal> {
    let (columns, rows, values) = (table.knots.len(), table.rows.len(), table.values.len());
    if map && rows == 0 {
        return Err(Refusal::new(
            "table",
            format!("a curve of {columns} points where a map over two variables is needed"),
            "give rows and columns, or use signal.lookup",
        ));
    }
    if !map && rows > 0 {
        return Err(Refusal::new(
            "table",
            format!("a map of {rows} rows and {columns} columns where a curve is needed"),
            "give one value for each point, or use signal.lookup_2d",
        ));
    }
    if columns == 0 || values != columns * rows.max(1) {
        return Err(Refusal::new(
            "table",
            format!("{values} values for {columns} columns and {} rows", rows.max(1)),
            "give one value for each point",
        ));
    }
    Ok(())
}

/// Refuses points out of order.
fn increases(knots: &[f64], jumps: bool) -> Result<(), Refusal> {
    let in_order = |a: f64, b: f64| a < b || (jumps && a == b);
    match knots.windows(2).find(|pair| !in_order(pair[0], pair[1])) {
        None => Ok(()),
        Some(pair) => Err(Refusal::new(
            "table",
            format!("the point at {} comes after the point at {}", pair[1], pair[0]),
            "sort the points by increasing variable",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{Source, lanes_match, refusal, respond, sequence};

    fn curve(knots: &[f64], values: &[f64]) -> Arc<Table> {
        Arc::new(Table::curve(knots.to_vec(), values.to_vec()))
    }
    fn over_time(table: Arc<Table>, between: Between, repeat: bool) -> TimeTable {
        TimeTable { table, start: 0.0, between, repeat }
    }
    fn map() -> Lookup2d {
        Lookup2d {
            input1: 0.0,
            input2: 0.0,
            table: Arc::new(Table {
                knots: vec![-1.0, 0.5],
                rows: vec![0.0, 2.0, 3.0],
                values: [0.0, 2.0, 3.0]
                    .iter()
                    .flat_map(|y| [-1.0, 0.5].map(|x| 1.0 + x + y - 2.0 * x * y))
                    .collect(),
            }),
        }
    }
    fn lookup() -> Lookup {
        Lookup { input: 0.0, table: curve(&[-1.0, 0.0, 2.0], &[5.0, 1.0, 3.0]) }
    }

    #[test]
    fn curve_is_linear_between_its_points_and_held_beyond() {
        let values = respond(&lookup(), 0.5, 8, |t| t - 2.0);
        assert_eq!(values, [5.0, 5.0, 5.0, 3.0, 1.0, 1.5, 2.0, 2.5, 3.0]);
    }

    /// A function that is bilinear is met exactly; the map is held beyond its edges.
    #[test]
    fn map_is_bilinear_between_its_points_and_held_beyond() {
        let rows = [[0.25, 1.0], [-1.0, 2.0], [0.1, 2.5], [9.0, -9.0]];
        let values = sequence(&map(), 0.1, &rows);
        for (value, [x, y]) in values.iter().zip(rows) {
            let (x, y) = (x.min(0.5), y.max(0.0));
            assert!((value - (1.0 + x + y - 2.0 * x * y)).abs() < 1e-14);
        }
    }

    #[test]
    fn table_over_time_meets_its_points_and_jumps_on_time() {
        let table = curve(&[0.3, 0.6, 0.6, 0.9], &[1.0, 2.0, 5.0, 4.0]);
        let linear = over_time(table.clone(), Between::Linear, false);
        let values = Source::with(&linear, &[], 0.1).values(10);
        let exact =
            [1.0, 1.0, 1.0, 1.0, 4.0 / 3.0, 5.0 / 3.0, 5.0, 14.0 / 3.0, 13.0 / 3.0, 4.0, 4.0];
        for (value, exact) in values.iter().zip(exact) {
            assert!((value - exact).abs() < 1e-14, "{values:?}");
        }
        let hold = over_time(table, Between::Hold, false);
        let values = Source::with(&hold, &[], 0.1).values(10);
        assert_eq!(values, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 4.0, 4.0]);
    }

    /// Over 1000 turns every point comes back in its own step.
    #[test]
    fn table_that_repeats_keeps_its_period() {
        let table = curve(&[0.0, 0.2, 0.2, 0.7], &[0.0, 1.0, -1.0, 0.0]);
        let shape = |n: usize| match n % 7 {
            n @ 0..2 => n as f64 / 2.0,
            n => -1.0 + (n - 2) as f64 / 5.0,
        };
        let linear = over_time(table.clone(), Between::Linear, true);
        let hold = over_time(table, Between::Hold, true);
        let (linear, hold) = (
            Source::with(&linear, &[], 0.1).values(7000),
            Source::with(&hold, &[], 0.1).values(7000),
        );
        for n in 0..=7000 {
            // Time has an error of 2⁻⁵³·700 s, the slope is 5/s.
            assert!((linear[n] - shape(n)).abs() < 1e-12, "step {n}");
            assert_eq!(hold[n], if n % 7 < 2 { 0.0 } else { -1.0 }, "step {n}");
        }
    }

    #[test]
    fn tables_of_the_wrong_shape_are_refused() {
        let unsorted = Lookup { table: curve(&[0.0, 2.0, 1.0], &[0.0; 3]), ..lookup() };
        assert!(refusal(&unsorted).message.contains("1 comes after the point at 2"));
        let short = Lookup { table: curve(&[0.0, 2.0], &[0.0; 3]), ..lookup() };
        assert!(refusal(&short).message.contains("3 values for 2 columns"));
        let flat = Lookup2d { table: lookup().table, ..map() };
        assert!(refusal(&flat).help.contains("signal.lookup"));
        let deep = Lookup { table: map().table, ..lookup() };
        assert!(refusal(&deep).help.contains("signal.lookup_2d"));
        let point = over_time(curve(&[1.0], &[2.0]), Between::Hold, true);
        assert_eq!(refusal(&point).parameter, "repeat");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        lanes_match([(); 4].map(|()| lookup()));
        lanes_match([(); 4].map(|()| map()));
        lanes_match([0.0, 0.1, 0.2, 0.3].map(|start| TimeTable {
            start,
            ..over_time(curve(&[0.1, 0.5], &[1.0, 2.0]), Between::Linear, true)
        }));
    }
}
