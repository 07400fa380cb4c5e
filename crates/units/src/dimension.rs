//! The kind of a quantity, as exponents over the SI base quantities.

use std::borrow::Cow;
use std::fmt;

/// Exponents are counted in twelfths: halves, thirds, quarters and sixths are
/// exact, which covers `l/min/sqrt(bar)` and every law in the field's books.
pub(crate) const PARTS: i16 = 12;

const BASE_SYMBOLS: [&str; 7] = ["m", "kg", "s", "A", "K", "mol", "cd"];

/// What kind of quantity a number is: exponents over length, mass, time,
/// current, temperature, amount and luminous intensity.
///
/// An angle is dimensionless. Quantities that share SI units therefore share a
/// dimension: torque and energy, rotational speed and frequency, mass flow and
/// translational damping, a displacement per radian and a volume.
///
/// ```
/// use fluxline_units::Dimension;
///
/// assert_eq!(Dimension::PRESSURE.name(), "pressure");
/// assert_eq!(Dimension::PRESSURE.si_symbol(), "Pa");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dimension {
    twelfths: [i16; 7],
}

impl Dimension {
    /// A dimension from whole exponents of m, kg, s, A, K, mol, cd.
    pub const fn new(exponents: [i8; 7]) -> Self {
        let mut twelfths = [0; 7];
        let mut i = 0;
        while i < 7 {
            twelfths[i] = exponents[i] as i16 * PARTS;
            i += 1;
        }
        Self { twelfths }
    }

    /// A dimension from exponents of m, kg, s, A, K, mol, cd counted in twelfths,
    /// so that 6 is a square root.
    pub const fn from_twelfths(twelfths: [i16; 7]) -> Self {
        Self { twelfths }
    }

    /// The exponents of m, kg, s, A, K, mol, cd counted in twelfths.
    pub const fn twelfths(self) -> [i16; 7] {
        self.twelfths
    }

    /// Whether all exponents are zero.
    pub const fn is_dimensionless(self) -> bool {
        let mut i = 0;
        while i < 7 {
            if self.twelfths[i] != 0 {
                return false;
            }
            i += 1;
        }
        true
    }

    /// The dimension of a product; `None` when an exponent leaves its range (about ±2700).
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        let mut twelfths = [0; 7];
        for (i, out) in twelfths.iter_mut().enumerate() {
            *out = self.twelfths[i].checked_add(other.twelfths[i])?;
        }
        Some(Self { twelfths })
    }

    /// The dimension of a quotient; `None` when an exponent leaves its range (about ±2700).
    pub fn checked_div(self, other: Self) -> Option<Self> {
        let mut twelfths = [0; 7];
        for (i, out) in twelfths.iter_mut().enumerate() {
            *out = self.twelfths[i].checked_sub(other.twelfths[i])?;
        }
        Some(Self { twelfths })
    }

    /// The dimension of a power, the exponent counted in twelfths (24 is a
    /// square, 6 a square root). `None` when a resulting exponent is no multiple
    /// of 1/12 or leaves its range.
    pub fn checked_pow(self, exponent_twelfths: i32) -> Option<Self> {
        let mut twelfths = [0; 7];
        for (i, out) in twelfths.iter_mut().enumerate() {
            let product = i64::from(self.twelfths[i]) * i64::from(exponent_twelfths);
            if product % i64::from(PARTS) != 0 {
                return None;
            }
            *out = i16::try_from(product / i64::from(PARTS)).ok()?;
        }
        Some(Self { twelfths })
    }

    /// The human name, such as "pressure" or "volume flow"; the SI spelling
    /// ("m^3/s^2") where the dimension has no name.
    ///
    /// Where several quantities share a dimension the name lists those that a
    /// user of fluid power is likely to mean.
    pub fn name(self) -> Cow<'static, str> {
        match self.entry() {
            Some(entry) => Cow::Borrowed(entry.name),
            None => Cow::Owned(self.spelling()),
        }
    }

    /// The name with its article, for messages: "a pressure", "an area",
    /// "a dimensionless number", "a quantity in m^3/s^2".
    pub fn with_article(self) -> String {
        if self.is_dimensionless() {
            return "a dimensionless number".to_string();
        }
        match self.entry() {
            Some(entry) if entry.name.starts_with(['a', 'e', 'i', 'o', 'u']) => {
                format!("an {}", entry.name)
            }
            Some(entry) => format!("a {}", entry.name),
            None => format!("a quantity in {}", self.spelling()),
        }
    }

    /// The coherent SI unit, whose factor is exactly 1: "Pa", "m^3/s", and "1"
    /// for a dimensionless number.
    pub fn si_symbol(self) -> Cow<'static, str> {
        match self.entry() {
            Some(entry) => Cow::Borrowed(entry.si),
            None => Cow::Owned(self.spelling()),
        }
    }

    fn entry(self) -> Option<&'static Entry> {
        NAMED.iter().find(|entry| entry.dimension == self)
    }

    /// Base units only: `m^3*kg/s^2/K`.
    fn spelling(self) -> String {
        let mut text = String::new();
        for (symbol, &exponent) in BASE_SYMBOLS.iter().zip(&self.twelfths) {
            if exponent > 0 {
                if !text.is_empty() {
                    text.push('*');
                }
                push_power(&mut text, symbol, exponent);
            }
        }
        if text.is_empty() {
            text.push('1');
        }
        for (symbol, &exponent) in BASE_SYMBOLS.iter().zip(&self.twelfths) {
            if exponent < 0 {
                text.push('/');
                push_power(&mut text, symbol, exponent);
            }
        }
        text
    }
}

/// Writes `symbol` to the absolute value of the exponent.
fn push_power(text: &mut String, symbol: &str, twelfths: i16) {
    let numerator = twelfths.unsigned_abs();
    let whole = PARTS.unsigned_abs();
    text.push_str(symbol);
    if numerator == whole {
        return;
    }
    let divisor = greatest_common_divisor(numerator, whole);
    if divisor == whole {
        text.push_str(&format!("^{}", numerator / whole));
    } else {
        text.push_str(&format!("^({}/{})", numerator / divisor, whole / divisor));
    }
}

fn greatest_common_divisor(mut a: u16, mut b: u16) -> u16 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// The unit in which the field states a dimension: bar for pressures, l/min for
/// flows. `None` where there is no habit; print in [`Dimension::si_symbol`] then.
///
/// Temperatures are given in K, since a dimension cannot tell a temperature from
/// a difference of temperatures; ask for `degC` through [`format_in`](crate::format_in).
/// Rotational speeds are given in 1/s, since `rpm` would misstate a frequency.
pub fn display_unit(dimension: Dimension) -> Option<&'static str> {
    dimension.entry().map(|entry| entry.display)
}

/// The display unit that suits the size of a value: mm below a metre, kW above a kilowatt.
pub(crate) fn display_unit_for(value: f64, dimension: Dimension) -> Option<&'static str> {
    let size = value.abs();
    let by_size = |steps: &[(f64, &'static str)], smallest| {
        steps.iter().find(|(from, _)| size >= *from).map_or(smallest, |&(_, symbol)| symbol)
    };
    if size == 0.0 {
        return display_unit(dimension);
    }
    Some(match dimension {
        Dimension::LENGTH => by_size(&[(1.0, "m"), (1e-4, "mm")], "µm"),
        Dimension::AREA => by_size(&[(1e-1, "m^2")], "mm^2"),
        Dimension::VOLUME => by_size(&[(1.0, "m^3"), (1e-3, "l")], "cm^3"),
        Dimension::TIME => by_size(&[(1.0, "s"), (1e-3, "ms"), (1e-7, "µs")], "ns"),
        Dimension::FORCE => by_size(&[(1e4, "kN")], "N"),
        Dimension::POWER => by_size(&[(1e3, "kW")], "W"),
        Dimension::CURRENT => by_size(&[(1.0, "A")], "mA"),
        _ => return display_unit(dimension),
    })
}

struct Entry {
    dimension: Dimension,
    name: &'static str,
    si: &'static str,
    display: &'static str,
}

macro_rules! named_dimensions {
    ($($(#[$note:meta])* $constant:ident = $exponents:expr, $name:literal, $si:literal, $display:literal;)*) => {
        impl Dimension {
            $(
                #[doc = concat!("The dimension of: ", $name, "; `", $si, "`.")]
                $(#[$note])*
                pub const $constant: Self = $exponents;
            )*
        }

        /// Name, coherent SI unit and display unit of every named dimension.
        static NAMED: &[Entry] = &[
            $(Entry { dimension: Dimension::$constant, name: $name, si: $si, display: $display },)*
        ];
    };
}

const fn si(m: i8, kg: i8, s: i8, a: i8, k: i8) -> Dimension {
    Dimension::new([m, kg, s, a, k, 0, 0])
}

// Ordered by how often a model asks for them: the search is linear.
named_dimensions! {
    DIMENSIONLESS = si(0, 0, 0, 0, 0), "dimensionless", "1", "1";
    PRESSURE = si(-1, 1, -2, 0, 0), "pressure", "Pa", "bar";
    VOLUME_FLOW = si(3, 0, -1, 0, 0), "volume flow", "m^3/s", "l/min";
    LENGTH = si(1, 0, 0, 0, 0), "length", "m", "mm";
    AREA = si(2, 0, 0, 0, 0), "area", "m^2", "mm^2";
    /// A displacement per angle (`cm^3/rev`) has this dimension too.
    VOLUME = si(3, 0, 0, 0, 0), "volume", "m^3", "cm^3";
    TIME = si(0, 0, 1, 0, 0), "time", "s", "s";
    MASS = si(0, 1, 0, 0, 0), "mass", "kg", "kg";
    DENSITY = si(-3, 1, 0, 0, 0), "density", "kg/m^3", "kg/m^3";
    FORCE = si(1, 1, -2, 0, 0), "force", "N", "N";
    VELOCITY = si(1, 0, -1, 0, 0), "velocity", "m/s", "m/s";
    ACCELERATION = si(1, 0, -2, 0, 0), "acceleration", "m/s^2", "m/s^2";
    /// Rotational stiffness (`N*m/rad`) has this dimension too.
    TORQUE = si(2, 1, -2, 0, 0), "torque or energy", "N*m", "N*m";
    POWER = si(2, 1, -3, 0, 0), "power", "W", "W";
    ROTATIONAL_SPEED = si(0, 0, -1, 0, 0), "rotational speed or frequency", "1/s", "1/s";
    ROTATIONAL_ACCELERATION = si(0, 0, -2, 0, 0), "rotational acceleration", "1/s^2", "1/s^2";
    KINEMATIC_VISCOSITY = si(2, 0, -1, 0, 0), "kinematic viscosity", "m^2/s", "cSt";
    DYNAMIC_VISCOSITY = si(-1, 1, -1, 0, 0), "dynamic viscosity", "Pa*s", "mPa*s";
    STIFFNESS = si(0, 1, -2, 0, 0), "stiffness", "N/m", "N/m";
    /// Translational damping (`N*s/m`) and mass flow (`kg/s`) are one dimension.
    MASS_FLOW = si(0, 1, -1, 0, 0), "mass flow or damping", "kg/s", "kg/s";
    /// Angular momentum has this dimension too.
    ROTATIONAL_DAMPING = si(2, 1, -1, 0, 0), "rotational damping", "N*m*s", "N*m*s";
    INERTIA = si(2, 1, 0, 0, 0), "inertia", "kg*m^2", "kg*m^2";
    MOMENTUM = si(1, 1, -1, 0, 0), "momentum", "N*s", "N*s";
    CONDUCTANCE = si(4, -1, 1, 0, 0), "conductance (flow per pressure)", "m^3/s/Pa", "l/min/bar";
    FLOW_PER_ROOT_PRESSURE = Dimension::from_twelfths([42, -6, 0, 0, 0, 0, 0]),
        "flow per root of pressure", "m^3/s/sqrt(Pa)", "l/min/sqrt(bar)";
    HYDRAULIC_RESISTANCE = si(-4, 1, -1, 0, 0), "hydraulic resistance", "Pa*s/m^3", "bar/(l/min)";
    HYDRAULIC_CAPACITANCE = si(4, -1, 2, 0, 0), "hydraulic capacitance", "m^3/Pa", "cm^3/bar";
    HYDRAULIC_INERTANCE = si(-4, 1, 0, 0, 0), "hydraulic inertance", "kg/m^4", "kg/m^4";
    PRESSURE_RATE = si(-1, 1, -3, 0, 0), "pressure rate", "Pa/s", "bar/s";
    COMPRESSIBILITY = si(1, -1, 2, 0, 0), "compressibility", "1/Pa", "1/bar";
    FLOW_PER_CURRENT = si(3, 0, -1, -1, 0), "flow per current", "m^3/s/A", "l/min/A";
    /// Pressure gradient along a pipe.
    PRESSURE_GRADIENT = si(-2, 1, -2, 0, 0), "pressure gradient", "Pa/m", "bar/m";
    CURVATURE = si(-1, 0, 0, 0, 0), "reciprocal length", "1/m", "1/m";
    VOLTAGE = si(2, 1, -3, -1, 0), "voltage", "V", "V";
    CURRENT = si(0, 0, 0, 1, 0), "current", "A", "A";
    RESISTANCE = si(2, 1, -3, -2, 0), "resistance", "Ohm", "Ohm";
    ELECTRICAL_CONDUCTANCE = si(-2, -1, 3, 2, 0), "electrical conductance", "S", "S";
    CAPACITANCE = si(-2, -1, 4, 2, 0), "capacitance", "F", "µF";
    INDUCTANCE = si(2, 1, -2, -2, 0), "inductance", "H", "mH";
    CHARGE = si(0, 0, 1, 1, 0), "charge", "C", "C";
    /// The constant of an electric motor, `N*m/A` or `V*s/rad`, has this dimension too.
    MAGNETIC_FLUX = si(2, 1, -2, -1, 0), "magnetic flux or motor constant", "Wb", "N*m/A";
    MAGNETIC_FLUX_DENSITY = si(0, 1, -2, -1, 0), "magnetic flux density", "T", "T";
    /// The force constant of a solenoid or a linear motor, `N/A`.
    FORCE_PER_CURRENT = si(1, 1, -2, -1, 0), "force per current", "N/A", "N/A";
    TEMPERATURE = si(0, 0, 0, 0, 1), "temperature", "K", "K";
    HEAT_CAPACITY = si(2, 1, -2, 0, -1), "heat capacity", "J/K", "J/K";
    SPECIFIC_HEAT_CAPACITY = si(2, 0, -2, 0, -1), "specific heat capacity", "J/(kg*K)", "J/(kg*K)";
    SPECIFIC_ENERGY = si(2, 0, -2, 0, 0), "specific energy", "J/kg", "J/kg";
    THERMAL_CONDUCTIVITY = si(1, 1, -3, 0, -1), "thermal conductivity", "W/(m*K)", "W/(m*K)";
    THERMAL_CONDUCTANCE = si(2, 1, -3, 0, -1), "thermal conductance", "W/K", "W/K";
    HEAT_TRANSFER_COEFFICIENT = si(0, 1, -3, 0, -1), "heat transfer coefficient", "W/(m^2*K)", "W/(m^2*K)";
    HEAT_FLUX = si(0, 1, -3, 0, 0), "heat flux", "W/m^2", "W/m^2";
    THERMAL_EXPANSION = si(0, 0, 0, 0, -1), "thermal expansion", "1/K", "1/K";
    AMOUNT = Dimension::new([0, 0, 0, 0, 0, 1, 0]), "amount", "mol", "mol";
    MOLAR_MASS = Dimension::new([0, 1, 0, 0, 0, -1, 0]), "molar mass", "kg/mol", "g/mol";
    LUMINOUS_INTENSITY = Dimension::new([0, 0, 0, 0, 0, 0, 1]), "luminous intensity", "cd", "cd";
}

/// Second names of shared dimensions, so that a declaration can say what it means.
impl Dimension {
    /// An angle, a plain number since the radian is 1.
    pub const ANGLE: Self = Self::DIMENSIONLESS;
    /// The volume a pump or motor displaces per angle, as in `cm^3/rev`.
    pub const DISPLACEMENT: Self = Self::VOLUME;
    /// Energy, which has the dimension of a torque.
    pub const ENERGY: Self = Self::TORQUE;
    /// Torque per angle, which has the dimension of a torque.
    pub const ROTATIONAL_STIFFNESS: Self = Self::TORQUE;
    /// Frequency, which has the dimension of a rotational speed.
    pub const FREQUENCY: Self = Self::ROTATIONAL_SPEED;
    /// Force per velocity, which has the dimension of a mass flow.
    pub const DAMPING: Self = Self::MASS_FLOW;
}

/// All named dimensions, for tests that must cover every one.
#[cfg(test)]
pub(crate) fn named() -> impl Iterator<Item = Dimension> {
    NAMED.iter().map(|entry| entry.dimension)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
    use std::collections::HashSet;

    #[test]
    fn every_named_dimension_is_listed_once_and_its_units_have_that_dimension() {
        let mut seen = HashSet::new();
        for entry in NAMED {
            assert!(seen.insert(entry.dimension), "{} is listed twice", entry.name);
            for symbol in [entry.si, entry.display] {
                let unit = Unit::parse(symbol).unwrap();
                assert_eq!(unit.dimension(), entry.dimension, "{symbol}");
            }
            let unit = Unit::parse(entry.si).unwrap();
            assert_eq!(unit.to_si(0.1), 0.1, "{} must be coherent", entry.si);
        }
    }

    #[test]
    fn a_dimension_without_a_name_is_spelled_in_base_units() {
        let odd = Dimension::new([3, 0, -2, 0, 0, 0, 0]);
        assert_eq!(odd.name(), "m^3/s^2");
        assert_eq!(odd.with_article(), "a quantity in m^3/s^2");
        assert_eq!(
            Dimension::from_twelfths([-6, 18, 0, 0, 4, 0, 0]).name(),
            "kg^(3/2)*K^(1/3)/m^(1/2)"
        );
    }

    #[test]
    fn names_carry_their_article() {
        assert_eq!(Dimension::PRESSURE.with_article(), "a pressure");
        assert_eq!(Dimension::AREA.with_article(), "an area");
        assert_eq!(Dimension::DIMENSIONLESS.with_article(), "a dimensionless number");
    }

    #[test]
    fn a_root_that_leaves_the_twelfths_is_refused() {
        let root = Dimension::LENGTH.checked_pow(1).unwrap();
        assert_eq!(root.checked_pow(6), None);
        assert_eq!(Dimension::LENGTH.checked_pow(12 * 40_000), None);
    }
}
