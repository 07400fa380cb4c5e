//! Tabulated curves and maps.
//!
//! Hopsan reads a table from the text of a parameter or from a file. A component here reads no
//! files: what is in the file is given as `text`, and all other parameters say how to read it.

use super::block::memoryless;
use fluxline_core::component::{ComponentType, NoConstants, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::sync::Arc;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Curve>(),
    ComponentType::of::<PloCurve>(),
    ComponentType::of::<ObsoleteCurve>(),
    ComponentType::of::<Map>(),
    ComponentType::of::<Space>(),
];

/// A tabulated curve from two columns of numbers.
///
/// out = table(in), linear between points, held beyond the ends
#[component("hopsan.Signal1DLookupTable", s, constants = GridConstants)]
pub struct Curve {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// – — file that the text comes from [–]
    #[parameter(name = "filename", default = "")]
    pub file: String,
    /// – — rows of numbers, or what is in the file [–]
    #[parameter(default = "")]
    pub text: String,
    /// – — character between the numbers of a row [–]
    #[parameter(name = "csvsep", default = ",")]
    pub separator: String,
    /// – — column of the variable, from 0 [–]
    #[parameter(name = "inid", default = 0)]
    pub column: usize,
    /// – — column of the value, from 0 [–]
    #[parameter(name = "outid", default = 1)]
    pub value_column: usize,
    /// – — rows to leave out at the top [–]
    #[parameter(name = "numlineskip", default = 0)]
    pub skip: usize,
    /// – — character at the beginning of rows to leave out at the top [–]
    #[parameter(default = "")]
    pub comment: String,
    /// – — read the file anew for every run [–]
    #[parameter(default = "true")]
    pub reload: bool,
    /// y — value of the curve [any]
    #[output]
    out: Output,
}

/// A tabulated curve from two columns of a PLO file, chosen by their names.
///
/// out = table(in), linear between points, held beyond the ends
#[component("hopsan.Signal1DPLOLookupTable", s, constants = GridConstants)]
pub struct PloCurve {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// – — file that the text comes from [–]
    #[parameter(name = "filename", default = "")]
    pub file: String,
    /// – — text of PLO format, or what is in the file [–]
    #[parameter(default = "")]
    pub text: String,
    /// – — name of the variable [–]
    #[parameter(name = "invar", default = "Time")]
    pub variable: String,
    /// – — name of the value [–]
    #[parameter(name = "outvar", default = "Data")]
    pub value: String,
    /// – — read the file anew for every run [–]
    #[parameter(default = "true")]
    pub reload: bool,
    /// y — value of the curve [any]
    #[output]
    out: Output,
}

/// A tabulated curve from two columns of numbers, as older models have it.
///
/// out = table(in), linear between points, held beyond the ends
#[component("hopsan.SignalLookUpTable2D", s, constants = GridConstants)]
pub struct ObsoleteCurve {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// – — file that the text comes from [–]
    #[parameter(name = "filename", default = "FilePath")]
    pub file: String,
    /// – — what is in the file [–]
    #[parameter(default = "")]
    pub text: String,
    /// – — character between the numbers of a row [–]
    #[parameter(name = "csvsep", default = ",")]
    pub separator: String,
    /// – — column of the value, from 0; the variable is in column 0 [–]
    #[parameter(name = "outid", default = 1)]
    pub value_column: usize,
    /// – — read the file anew for every run [–]
    #[parameter(default = "true")]
    pub reload: bool,
    /// y — value of the curve [any]
    #[output]
    out: Output,
}

/// A tabulated map over two variables.
///
/// out = table(row, col), bilinear between points, held beyond the edges
///
/// The text has one row for each point: row, col, value, with col running fastest. The last row gives
/// the number of rows and of columns.
#[component("hopsan.Signal2DLookupTable", s, constants = GridConstants)]
pub struct Map {
    /// u₁ — first variable [any]
    #[input(default = 0)]
    pub row: f64,
    /// u₂ — second variable [any]
    #[input(default = 0)]
    pub col: f64,
    /// – — file that the text comes from [–]
    #[parameter(name = "filename", default = "")]
    pub file: String,
    /// – — points of the map, or what is in the file [–]
    #[parameter(default = "")]
    pub text: String,
    /// – — has no effect [–]
    #[parameter(name = "numlineskip", default = 0)]
    pub skip: usize,
    /// – — character at the beginning of rows to leave out at the top [–]
    #[parameter(default = "")]
    pub comment: String,
    /// – — read the file anew for every run [–]
    #[parameter(default = "true")]
    pub reload: bool,
    /// y — value of the map [any]
    #[output]
    out: Output,
}

/// A tabulated map over three variables.
///
/// out = table(row, col, plane), trilinear between points, held beyond the edges
///
/// The text has one row for each point: row, col, plane, value, with plane running fastest. The last
/// row gives the number of rows, of columns and of planes.
#[component("hopsan.Signal3DLookupTable", s, constants = GridConstants)]
pub struct Space {
    /// u₁ — first variable [any]
    #[input(default = 0)]
    pub row: f64,
    /// u₂ — second variable [any]
    #[input(default = 0)]
    pub col: f64,
    /// u₃ — third variable [any]
    #[input(default = 0)]
    pub plane: f64,
    /// – — file that the text comes from [–]
    #[parameter(name = "filename", default = "")]
    pub file: String,
    /// – — points of the map, or what is in the file [–]
    #[parameter(default = "")]
    pub text: String,
    /// – — has no effect [–]
    #[parameter(name = "numlineskip", default = 0)]
    pub skip: usize,
    /// – — character at the beginning of rows to leave out at the top [–]
    #[parameter(default = "")]
    pub comment: String,
    /// – — read the file anew for every run [–]
    #[parameter(default = "true")]
    pub reload: bool,
    /// y — value of the map [any]
    #[output]
    out: Output,
}

/// Constants of the tables: their grid.
#[derive(Clone, Debug, Constants)]
pub struct GridConstants<T> {
    grid: Arc<Grid>,
    none: NoConstants<T>,
}

/// Values over the points of a grid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    /// Increasing knots of each variable, at least two.
    axes: Vec<Vec<f64>>,
    /// Values; the last variable runs fastest.
    values: Vec<f64>,
}

impl Grid {
    /// Sorts the knots of each variable and checks the shape.
    fn new(axes: Vec<Vec<f64>>, values: Vec<f64>) -> Result<Self, Refusal> {
        let points: usize = axes.iter().map(Vec::len).product();
        if axes.iter().any(|axis| axis.len() < 2) || points != values.len() {
            let sizes: Vec<_> = axes.iter().map(|axis| axis.len().to_string()).collect();
            return Err(refuse(
                format!("{} values for {} knots", values.len(), sizes.join(" × ")),
                "give two knots or more of each variable, and a value for each point",
            ));
        }
        let mut grid = Self { axes, values };
        for axis in 0..grid.axes.len() {
            grid.sort(axis);
            let knots = &grid.axes[axis];
            if let Some(pair) = knots.windows(2).find(|pair| pair[0] >= pair[1]) {
                return Err(refuse(
                    format!("two knots are equal: {} and {}", pair[0], pair[1]),
                    "give each knot once",
                ));
            }
        }
        Ok(grid)
    }

    /// Distance in `values` between neighbours along a variable.
    fn stride(&self, axis: usize) -> usize {
        self.axes[axis + 1..].iter().map(Vec::len).product()
    }

    fn sort(&mut self, axis: usize) {
        let (knots, stride) = (&self.axes[axis], self.stride(axis));
        let mut order: Vec<usize> = (0..knots.len()).collect();
        order.sort_by(|&a, &b| knots[a].total_cmp(&knots[b]));
        let count = knots.len();
        let from = |i: usize| {
            let (place, rest) = (i / stride % count, i % stride);
            (i / (stride * count) * count + order[place]) * stride + rest
        };
        self.values = (0..self.values.len()).map(|i| self.values[from(i)]).collect();
        self.axes[axis] = order.iter().map(|&i| knots[i]).collect();
    }

    /// Linear between points along each variable, held beyond the ends.
    #[wide]
    pub(crate) fn at<T: Num, const N: usize>(&self, x: [T; N]) -> T {
        let mut base = T::zero();
        let mut parts = [T::zero(); N];
        for axis in 0..N {
            let knots = &self.axes[axis];
            let interval = |x: f64| knots.partition_point(|&k| k < x).clamp(1, knots.len() - 1) - 1;
            base += x[axis].apply(|x| (interval(x) as f64, 0.0)) * self.stride(axis) as f64;
            parts[axis] = x[axis].apply(|x| {
                let i = interval(x);
                let width = knots[i + 1] - knots[i];
                let part = (x - knots[i]) / width;
                let slope = if (0.0..=1.0).contains(&part) { 1.0 / width } else { 0.0 };
                (part.clamp(0.0, 1.0), slope)
            });
        }
        self.between(base, 0, &parts)
    }

    /// Interpolates along the variables that are left, from the last to the first of them.
    #[wide]
    fn between<T: Num>(&self, base: T, offset: usize, parts: &[T]) -> T {
        let axis = self.axes.len() - parts.len();
        let Some((&part, rest)) = parts.split_first() else {
            return base.apply(|at| (self.values[at as usize + offset], 0.0));
        };
        let low = self.between(base, offset, rest);
        let high = self.between(base, offset + self.stride(axis), rest);
        low + (high - low) * part
    }
}

fn refuse(message: String, help: &str) -> Refusal {
    Refusal::new("text", message, help)
}

/// Rows of numbers as text, read as Hopsan reads CSV files.
struct Rows<'a> {
    rows: Vec<Vec<&'a str>>,
}

impl<'a> Rows<'a> {
    fn read(text: &'a str, separator: &str, skip: usize, comment: &str) -> Result<Self, Refusal> {
        let one = |text: &str, parameter| {
            let mut characters = text.chars();
            match (characters.next(), characters.next()) {
                (first, None) => Ok(first),
                _ => Err(Refusal::new(
                    parameter,
                    format!("\"{text}\" is more than one character"),
                    "give one character",
                )),
            }
        };
        let comment = one(comment, "comment")?;
        let separator = one(separator, "csvsep")?.unwrap_or(',');
        let rows: Vec<Vec<&str>> = text
            .lines()
            .skip(skip)
            .skip_while(|line| comment.is_some_and(|c| line.starts_with(c)))
            .filter(|line| !line.trim().is_empty())
            .map(|line| line.split(separator).map(str::trim).collect())
            .collect();
        if rows.is_empty() {
            return Err(refuse(
                "there are no numbers".to_owned(),
                "give the table as text; the text of a file is what is in it",
            ));
        }
        Ok(Self { rows })
    }

    /// A number of a row. Decimals may follow a comma.
    fn number(&self, row: usize, column: usize) -> Result<f64, Refusal> {
        let field = self.rows[row].get(column).copied().ok_or_else(|| {
            refuse(
                format!("row {} has no column {column}", row + 1),
                "columns are counted from 0; check the separator",
            )
        })?;
        field.replace(',', ".").parse().map_err(|_| {
            refuse(
                format!("\"{field}\" in row {} is not a number", row + 1),
                "leave rows of text out with numlineskip or comment",
            )
        })
    }

    /// Every `step`-th number of a column, from the top.
    fn column(&self, column: usize, count: usize, step: usize) -> Result<Vec<f64>, Refusal> {
        (0..count).map(|i| self.number(i * step, column)).collect()
    }

    /// A curve from two columns.
    fn curve(&self, column: usize, values: usize) -> Result<Grid, Refusal> {
        let count = self.rows.len();
        Grid::new(vec![self.column(column, count, 1)?], self.column(values, count, 1)?)
    }

    /// A map from `N` columns of knots and one of values; the last row gives the numbers of knots.
    fn map<const N: usize>(&self) -> Result<Grid, Refusal> {
        if let Some(row) = self.rows.iter().position(|row| row.len() != N + 1) {
            return Err(refuse(
                format!("row {} has {} columns, not {}", row + 1, self.rows[row].len(), N + 1),
                "give a knot of each variable and a value in every row",
            ));
        }
        let points = self.rows.len() - 1;
        let mut counts = [0; N];
        for (axis, count) in counts.iter_mut().enumerate() {
            *count = self.number(points, axis)? as usize;
        }
        // Sizes may be anything: their product must not overflow.
        let named = counts.iter().try_fold(1usize, |all, &count| all.checked_mul(count));
        if named != Some(points) {
            let sizes = counts.map(|count| count.to_string()).join(" × ");
            return Err(refuse(
                format!("the last row says {sizes}, but there are {points} points"),
                "end the table with the number of knots of each variable",
            ));
        }
        let axes: Result<Vec<_>, _> = (0..N)
            .map(|axis| {
                let stride = counts[axis + 1..].iter().product();
                self.column(axis, counts[axis], stride)
            })
            .collect();
        Grid::new(axes?, self.column(N, points, 1)?)
    }
}

/// A curve from the first two columns of numbers that commas separate.
pub(crate) fn curve(text: &str) -> Result<Grid, Refusal> {
    Rows::read(text, ",", 0, "")?.curve(0, 1)
}

/// What is left of a text.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn word(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
    fn skip_line(&mut self) {
        self.0 = self.0.split_once('\n').map_or("", |(_, rest)| rest);
    }
    fn number<N: std::str::FromStr>(&mut self) -> Result<N, Refusal> {
        let word = self.word().unwrap_or_default();
        word.parse().map_err(|_| {
            refuse(format!("\"{word}\" where a number is needed"), "give a text of PLO format")
        })
    }
}

/// A curve from a text of PLO format (versions 1 and 2).
fn plo(text: &str, variable: &str, value: &str) -> Result<Grid, Refusal> {
    let mut cursor = Cursor(text);
    let is_plo = cursor.word() == Some("'VERSION'");
    if !is_plo || !matches!(cursor.word(), Some("1" | "2")) {
        return Err(refuse(
            "the text does not begin with 'VERSION' and 1 or 2".to_owned(),
            "give a text of PLO format; the text of a file is what is in it",
        ));
    }
    cursor.skip_line();
    cursor.skip_line();
    let (mut columns, rows): (usize, usize) = (cursor.number()?, cursor.number()?);
    let mut names = Vec::new();
    while names.len() < columns {
        let Some(word) = cursor.word() else { break };
        // A first column of time is not counted.
        if names.is_empty() && matches!(word, "'Time'," | "'Frequency',") {
            columns += 1;
        }
        names.push(word.replace("',", "").replace('\'', ""));
    }
    for _ in 0..columns {
        cursor.word();
    }
    let find = |name: &str| {
        names.iter().position(|one| one == name).ok_or_else(|| {
            refuse(
                format!("there is no column {name}"),
                &format!("the columns are {}", names.join(", ")),
            )
        })
    };
    let (x, y) = (find(variable)?, find(value)?);
    let (mut knots, mut values) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        for column in 0..columns {
            let number = cursor.number()?;
            if column == x {
                knots.push(number);
            }
            if column == y {
                values.push(number);
            }
        }
    }
    Grid::new(vec![knots], values)
}

/// Declares tables by how they are read and what they read at a step.
macro_rules! tables {
    ($($type:ident [$($input:ident),*], |$own:ident| $grid:expr;)*) => {$(
        impl $type {
            fn constants(&self) -> Result<GridConstants<f64>, Refusal> {
                let $own = self;
                Ok(GridConstants { grid: Arc::new($grid?), none: NoConstants::new() })
            }
            #[inline(always)]
            fn value<T: Num>(k: &GridConstants<T>, io: &Step<'_, T>) -> T {
                k.grid.at([$(io.input(Self::$input)),*])
            }
        }
        memoryless!($type: GridConstants);
    )*};
}

tables! {
    Curve [INPUT], |own| Rows::read(&own.text, &own.separator, own.skip, &own.comment)
        .and_then(|rows| rows.curve(own.column, own.value_column));
    PloCurve [INPUT], |own| plo(&own.text, &own.variable, &own.value);
    ObsoleteCurve [INPUT], |own| Rows::read(&own.text, &own.separator, 0, "")
        .and_then(|rows| rows.curve(0, own.value_column));
    Map [ROW, COL], |own| Rows::read(&own.text, ",", 0, &own.comment)
        .and_then(|rows| rows.map::<2>());
    Space [ROW, COL, PLANE], |own| Rows::read(&own.text, ",", 0, &own.comment)
        .and_then(|rows| rows.map::<3>());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::block::sequence;
    use fluxline_core::component::Physics;
    use fluxline_core::number::Dual;
    use fluxline_core::testing::{Bench, Surroundings, assert_lanes_give_the_bits_of_scalars};

    fn curve(text: &str) -> Curve {
        Curve {
            input: 0.0,
            file: String::new(),
            text: text.to_owned(),
            separator: ",".to_owned(),
            column: 0,
            value_column: 1,
            skip: 0,
            comment: String::new(),
            reload: true,
        }
    }
    fn space(text: String) -> Space {
        Space {
            row: 0.0,
            col: 0.0,
            plane: 0.0,
            file: String::new(),
            text,
            skip: 0,
            comment: String::new(),
            reload: true,
        }
    }
    /// A function that is linear in each of its variables, so that a table meets it exactly.
    fn f(x: f64, y: f64, z: f64) -> f64 {
        1.0 + x - 2.0 * y + 0.5 * z + x * y - 3.0 * y * z + x * y * z
    }
    /// Its table on knots out of order.
    fn table() -> String {
        let mut text = String::new();
        for x in [1.0, -1.0] {
            for y in [0.0, 2.0, 1.0] {
                for z in [3.0, 0.0] {
                    text += &format!("{x}, {y}, {z}, {}\n", f(x, y, z));
                }
            }
        }
        text + "2,3,2,0\n"
    }
    fn refusal<M: Physics>(component: &M) -> Refusal {
        match Bench::within(component, &Surroundings::of::<M>(0.1)) {
            Ok(_) => panic!("not refused"),
            Err(refusal) => refusal,
        }
    }

    #[test]
    fn curve_is_linear_between_its_points_and_held_beyond() {
        let rows = [[-2.0], [-1.0], [-0.5], [0.0], [1.0], [2.0], [9.0]];
        let expected = [5.0, 5.0, 3.0, 1.0, 2.0, 3.0, 3.0];
        assert_eq!(sequence(&curve("-1,5\n0,1\n2,3\n"), 0.1, &rows), expected);
        let shuffled = Curve {
            separator: ";".to_owned(),
            column: 2,
            skip: 1,
            comment: "#".to_owned(),
            ..curve("x;y;z\r\n# a\r\n# b\r\n0;1;0,0\r\n0;3;2\r\n\r\n7;5,0;-1\r\n")
        };
        assert_eq!(sequence(&shuffled, 0.1, &rows), expected);
        let old = ObsoleteCurve {
            input: 0.0,
            file: String::new(),
            text: "2,0,3\n0,0,1\n-1,0,5".to_owned(),
            separator: ",".to_owned(),
            value_column: 2,
            reload: true,
        };
        assert_eq!(sequence(&old, 0.1, &rows), expected);
        let plo = PloCurve {
            input: 0.0,
            file: String::new(),
            text: "'VERSION'\n 1 \n 'a.PLO'\n 2 3\n'Time', 'A', 'Data'\n 1 1 1\n\
                   -1 0 5\n 0 0 1\n 2 0 3\n a.DAT\n a\n"
                .to_owned(),
            variable: "Time".to_owned(),
            value: "Data".to_owned(),
            reload: true,
        };
        assert_eq!(sequence(&plo, 0.1, &rows), expected);
    }

    #[test]
    fn maps_meet_functions_that_are_linear_in_each_variable() {
        let rows = [
            [0.25, 1.5, 1.0],
            [-1.0, 0.0, 3.0],
            [1.0, 1.0, 0.5],
            [9.0, -9.0, 9.0],
            [0.0, 2.0, 3.0],
        ];
        for (value, [x, y, z]) in sequence(&space(table()), 0.1, &rows).iter().zip(rows) {
            let exact = f(x.clamp(-1.0, 1.0), y.clamp(0.0, 2.0), z.clamp(0.0, 3.0));
            assert!((value - exact).abs() < 1e-13);
        }
        let map = Map {
            row: 0.0,
            col: 0.0,
            file: String::new(),
            text: "# row, col, value\n1,0,7\n1,4,11\n3,0,9\n3,4,21\n2,2,0".to_owned(),
            skip: 0,
            comment: "#".to_owned(),
            reload: true,
        };
        assert_eq!(sequence(&map, 0.1, &[[1.0, 2.0], [2.0, 0.0], [2.0, 2.0]]), [9.0, 8.0, 12.0]);
    }

    #[test]
    fn maps_know_their_slopes() {
        let grid = Rows::read(&table(), ",", 0, "").and_then(|rows| rows.map::<3>()).unwrap();
        let at = |axis: usize| {
            let point = [0.25, 1.5, 1.0].map(Dual::constant);
            let mut point = point;
            point[axis] = Dual::variable(point[axis].value);
            grid.at(point).slope
        };
        let (x, y, z) = (0.25, 1.5, 1.0);
        let exact = [1.0 + y + y * z, -2.0 + x - 3.0 * z + x * z, 0.5 - 3.0 * y + x * y];
        for (axis, exact) in exact.into_iter().enumerate() {
            assert!((at(axis) - exact).abs() < 1e-13, "variable {axis}");
        }
    }

    #[test]
    fn tables_that_cannot_be_read_are_refused() {
        assert!(refusal(&curve("")).help.contains("what is in it"));
        assert!(refusal(&curve("0,1\n1,x")).message.contains("\"x\" in row 2"));
        assert!(refusal(&curve("0,1\n1")).message.contains("no column 1"));
        assert!(refusal(&curve("0,1")).message.contains("1 values for 1 knots"));
        assert!(refusal(&curve("0,1\n0,2")).message.contains("equal: 0 and 0"));
        let wide = Curve { separator: "ab".to_owned(), ..curve("0,1") };
        assert_eq!(refusal(&wide).parameter, "csvsep");
        let wrong = space(table().replace("2,3,2,0", "2,3,3,0"));
        assert!(refusal(&wrong).message.contains("2 × 3 × 3, but there are 12 points"));
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let space = space(table());
        assert_lanes_give_the_bits_of_scalars(
            [&space; 4],
            0.1,
            |_| unreachable!("a signal has no line ends"),
            |noise| noise.between(-2.0, 4.0),
        );
    }
}
