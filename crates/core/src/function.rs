//! Functions of the mathematics library by name: what is followed by name can be written down in code
//! of other languages, and is given with its slope.

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Named {
    /// Sine; [`crate::trig`] computes it for all but large angles.
    Sin,
    /// Cosine, likewise.
    Cos,
    /// Inverse tangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Logarithm to base 10.
    Log10,
    /// Smallest whole number not below.
    Ceil,
    /// Nearest whole number, halves away from zero.
    Round,
}

impl Named {
    /// Its name in C and in Rust.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Atan => "atan",
            Self::Sinh => "sinh",
            Self::Cosh => "cosh",
            Self::Log10 => "log10",
            Self::Ceil => "ceil",
            Self::Round => "round",
        }
    }

    /// Value and slope.
    pub fn at(self, x: f64) -> (f64, f64) {
        match self {
            Self::Sin => (x.sin(), x.cos()),
            Self::Cos => (x.cos(), -x.sin()),
            Self::Atan => (x.atan(), 1.0 / (1.0 + x * x)),
            Self::Sinh => (x.sinh(), x.cosh()),
            Self::Cosh => (x.cosh(), x.sinh()),
            Self::Log10 => (x.log10(), 1.0 / (x * std::f64::consts::LN_10)),
            Self::Ceil => (x.ceil(), 0.0),
            Self::Round => (x.round(), 0.0),
        }
    }
}

/// A function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pair {
    /// The angle of a point, of ordinate and abscissa.
    Atan2,
    /// xⁿ for x ≥ 0; slopes that are infinite at 0 are reported as 0.
    Power,
}

impl Pair {
    /// Value, and slopes along either.
    pub fn at(self, x: f64, y: f64) -> (f64, f64, f64) {
        match self {
            Self::Atan2 => {
                let square = (x * x + y * y).max(f64::MIN_POSITIVE);
                (x.atan2(y), y / square, -x / square)
            }
            Self::Power => {
                let value = x.powf(y);
                match x > 0.0 {
                    true => (value, y * value / x, value * x.ln()),
                    false => (value, if y == 1.0 { 1.0 } else { 0.0 }, 0.0),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_the_functions() {
        let h = 1e-6;
        for f in [Named::Sin, Named::Cos, Named::Atan, Named::Sinh, Named::Cosh] {
            for x in [-0.7, 0.1, 0.6] {
                let slope = (f.at(x + h).0 - f.at(x - h).0) / (2.0 * h);
                assert!((f.at(x).1 - slope).abs() < 1e-8, "{f:?} at {x}");
            }
        }
        assert!((Named::Log10.at(2.0).1 - 0.5 / std::f64::consts::LN_10).abs() < 1e-15);
        for f in [Pair::Atan2, Pair::Power] {
            let (x, y) = (0.6, 1.7);
            let by_x = (f.at(x + h, y).0 - f.at(x - h, y).0) / (2.0 * h);
            let by_y = (f.at(x, y + h).0 - f.at(x, y - h).0) / (2.0 * h);
            let (_, a, b) = f.at(x, y);
            assert!((a - by_x).abs() < 1e-8 && (b - by_y).abs() < 1e-8, "{f:?}");
        }
    }
}
