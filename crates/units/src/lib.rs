//! Units, quantities and expressions: how Fluxline reads `"120 bar"`,
//! `"5.9 l/min/sqrt(bar)"` and `"pi/4 * bore^2"`.
//!
//! Everything is held in SI units. A [`Dimension`] says what kind of quantity a
//! number is, a [`Unit`] converts between the text of the trade and SI, a
//! [`Quantity`] is a number with its dimension, and an [`Expr`] computes with
//! quantities and named parameters while checking every dimension.
//!
//! ```
//! use fluxline_units::{Expr, Quantity};
//!
//! let bore = Quantity::parse("40 mm")?;
//! let area = Expr::parse("pi/4 * bore^2", &|name| name == "bore")?;
//! let area = area.evaluate(&|name| (name == "bore").then_some(bore))?;
//! assert_eq!(format!("{area:.4}"), "1257 mm^2");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Angles
//!
//! The radian is the number 1, as in SI: `rad/s` and `1/s` have one dimension,
//! and so have torque and energy, or a pump's displacement and a volume. Other
//! angle units convert: `1 rev` is 2π, `1500 rpm` is 157.08 rad/s, and
//! `50 cm^3/rev` is 50e-6/(2π) m³/rad. `Hz` is `1/s`, without a factor 2π.
//!
//! # Temperatures
//!
//! `degC` and `degF` have an offset only when they are the whole unit
//! (`40 degC` is 313.15 K). Inside a compound unit (`J/(kg*degC)`) they are
//! differences. A difference on its own is written in `K`.

mod dimension;
mod expression;
mod nearest;
mod number;
mod quantity;
mod scale;
mod symbols;
mod unit;

pub use dimension::{Dimension, display_unit};
pub use expression::{Expr, ExprError, Operand, is_reserved};
pub use nearest::nearest;
pub use quantity::{Quantity, QuantityError};
pub use symbols::unit_symbols;
pub use unit::{Unit, UnitError, format_in};
