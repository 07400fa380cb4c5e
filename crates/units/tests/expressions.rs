//! Expressions: values, the rule that ends a unit, dimension checks, messages.

use fluxline_units::{Dimension, Expr, ExprError, Quantity, QuantityError, UnitError};

/// Parameters of a small cylinder drive.
fn parameter(name: &str) -> Option<Quantity> {
    let text = match name {
        "bore" => "40 mm",
        "supply" => "120 bar",
        "dp" => "50 bar",
        "rho" => "870 kg/m^3",
        "a" => "3 bar",
        "b" => "2 bar",
        "n" => "2",
        "zero" => "0",
        "m" => "5 kg",
        "k" => "3",
        "flow" => "10 l/min",
        "pump.displacement" => "50 cm^3/rev",
        _ => return None,
    };
    Quantity::parse(text).ok()
}

fn parse(text: &str) -> Result<Expr, ExprError> {
    Expr::parse(text, &|name| parameter(name).is_some())
}

fn run(text: &str) -> Result<Quantity, ExprError> {
    parse(text)?.evaluate(&parameter)
}

fn value(text: &str) -> Quantity {
    run(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> ExprError {
    run(text).expect_err(text)
}

fn assert_is(text: &str, expected: &str) {
    let (found, expected) = (value(text), Quantity::parse(expected).unwrap());
    assert_eq!(found.dimension, expected.dimension, "{text}");
    let tolerance = 4.0 * f64::EPSILON * expected.value.abs();
    assert!((found.value - expected.value).abs() <= tolerance, "{text} = {found}, not {expected}");
}

#[test]
fn formulas_of_the_trade_are_computed() {
    assert_is("pi/4 * bore^2", "1256.6370614359173 mm^2");
    assert_is("2*supply + 10 bar", "250 bar");
    assert_is("if(a > b, 1 bar, 2 bar)", "1 bar");
    assert_is("if(a < b, 1 bar, 2 bar)", "2 bar");
    assert_is("sqrt(2*dp/rho)", "107.21125348377948 m/s"); // √(1e7/870)
    assert_is("max(bore, 3 mm)", "40 mm");
    assert_is("min(bore, 3 mm, 1 m)", "3 mm");
    assert_is("pump.displacement * 1500 rpm", "75 l/min");
    assert_is("m * gravity", "49.03325 N");
    assert_is("5.9 l/min/sqrt(bar) * sqrt(dp)", "41.71930009000631 l/min"); // 5.9·√50
    assert_is("flow / (pi/4*bore^2)", "0.13262911924324612 m/s");
}

#[test]
fn operators_bind_as_in_mathematics() {
    for (text, expected) in [
        ("-2^2", "-4"),
        ("2^-1", "0.5"),
        ("2^3^2", "512"),
        ("(-2)^2", "4"),
        ("2 - 3 - 4", "-5"),
        ("24/4/2", "3"),
        ("2 + 3*4", "14"),
        ("-3*-2", "6"),
        ("+5", "5"),
        ("1 < 2 and 3 > 2 or false", "1"),
        ("not 1 > 2", "1"),
        ("not true or true", "1"),
        ("1 + 1 == 2", "1"),
        ("1 != 2", "1"),
        ("2 <= 1", "0"),
        ("2 >= 2", "1"),
        ("2·3", "6"),
    ] {
        assert_is(text, expected);
    }
}

#[test]
fn functions_give_their_values() {
    for (text, expected) in [
        ("abs(-3 bar)", "3 bar"),
        ("sign(-3 bar)", "-1"),
        ("sign(0 bar)", "0"),
        ("sin(30 deg)", "0.49999999999999994"),
        ("cos(0)", "1"),
        ("tan(45 deg)", "0.9999999999999999"),
        ("asin(1)", "90 deg"),
        ("acos(0)", "90 deg"),
        ("atan(1)", "45 deg"),
        ("atan2(1 m, 1 m)", "45 deg"),
        ("exp(0)", "1"),
        ("ln(exp(2))", "2"),
        ("log10(1000)", "3"),
        ("pow(3 m, 2)", "9 m^2"),
        ("pow(16 m^4, 1/4)", "2 m"),
        ("floor(2.7)", "2"),
        ("ceil(2.1)", "3"),
        ("round(2.5)", "3"),
        ("2^0.5", "1.4142135623730951"),
    ] {
        assert_is(text, expected);
    }
}

#[test]
fn a_plain_quantity_is_an_expression() {
    for text in [
        "120 bar",
        "-3.5e5 Pa",
        "40 degC",
        "-40 degC",
        "- 40 degC",
        "1500 1/min",
        "5.9 l/min/sqrt(bar)",
        "50 %",
        "1e-3",
        "10 N m",
        "3 (1/s)",
        "+2 mm²",
        "7 √Pa",
        "90 °",
    ] {
        let expr = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let expected = Quantity::parse(&text.replace("- ", "-")).unwrap();
        assert_eq!(expr.as_quantity(), Some(expected), "{text}");
        assert_eq!(value(text), expected, "{text}");
    }
    assert_eq!(parse("2*3").unwrap().as_quantity(), None);
}

#[test]
fn a_unit_follows_only_a_number_and_ends_before_what_is_no_unit() {
    // `m` is a parameter here (5 kg), `s` is not.
    assert_is("2 * k / m", "1.2 1/kg");
    assert_is("10 N / m", "2 N/kg");
    assert_is("10 N / s", "10 N/s");
    assert_is("2 m", "2 m");
    assert_is("10 N m", "10 N*m");
    assert_is("10 (m/s)", "10 m/s");
    assert_is("10 N/(m)", "2 N/kg");
    assert_is("10 bar / 2", "5 bar");
    assert_is("10 l/min * k", "30 l/min");
    assert_is("3 mm^2", "3 mm^2");
    assert_is("(3 mm)^2", "9 mm^2");
    assert_is("10 l/min(2, 5)", "5 l");
    assert_is("10 bar/sqrt(k + 1)", "5 bar");
    assert_is("6 bar / (k)", "2 bar");
    assert_is("6 bar * (1 + 1)", "12 bar");
    assert_is("6 and true", "1");
    assert_is("1 / m", "0.2 1/kg");
    assert_is("1 1/s * k", "3 1/s");
}

#[test]
fn without_a_parameter_of_that_name_the_unit_goes_on() {
    let expr = Expr::parse("10 N / m", &|_| false).unwrap();
    assert_eq!(expr.as_quantity(), Quantity::parse("10 N/m").ok());
    let expr = Expr::parse("10 N/(m*s)", &|_| false).unwrap();
    assert_eq!(expr.as_quantity(), Quantity::parse("10 N/(m*s)").ok());
}

#[test]
fn names_come_with_their_places() {
    let expr = parse("2*supply + pump.displacement*pi - 10 bar*supply").unwrap();
    let names: Vec<_> = expr.names().collect();
    assert_eq!(names, [("supply", 2..8), ("pump.displacement", 11..28), ("supply", 41..47)]);
}

#[test]
fn a_parameter_hides_a_constant_of_the_same_name() {
    let expr = Expr::parse("gravity", &|name| name == "gravity").unwrap();
    let moon = expr.evaluate(&|_| Quantity::parse("1.62 m/s^2").ok()).unwrap();
    assert_eq!(moon.value, 1.62);
}

#[test]
fn different_dimensions_do_not_mix() {
    for (text, message) in [
        ("120 bar + 10 l/min", "cannot add a pressure (120 bar) and a volume flow (10 l/min)"),
        ("supply + flow", "cannot add a pressure (120 bar) and a volume flow (10 l/min)"),
        ("supply - flow", "cannot subtract a volume flow (10 l/min) from a pressure (120 bar)"),
        ("supply > 3", "cannot compare a pressure (120 bar) and a dimensionless number (3)"),
        (
            "max(bore, 2)",
            "cannot take the maximum of a length (40 mm) and a dimensionless number (2)",
        ),
        ("if(true, 1 bar, 2 mm)", "cannot choose between a pressure (1 bar) and a length (2 mm)"),
        ("sin(supply)", "`sin` needs a dimensionless number, not a pressure (120 bar)"),
        ("2^bore", "an exponent needs a dimensionless number, not a length (40 mm)"),
        ("round(bore)", "`round` needs a dimensionless number, not a length (40 mm)"),
        (
            "if(bore, 1, 2)",
            "the condition of `if` needs a dimensionless number, not a length (40 mm)",
        ),
        ("not bore", "`not` needs a dimensionless number, not a length (40 mm)"),
        ("bore and true", "`and` needs a dimensionless number, not a length (40 mm)"),
        (
            "bore^n",
            "the exponent of a length (40 mm) depends on a parameter; the dimension of the result would change with it",
        ),
        (
            "bore^0.3",
            "the result of this operation on a length (40 mm) has no expressible dimension",
        ),
    ] {
        assert_eq!(error(text).to_string(), message, "{text}");
    }
    assert_eq!(
        error("supply > 3").suggestion().unwrap(),
        "give the number a unit, such as `3 bar`"
    );
    assert_is("k^n", "9");
}

#[test]
fn a_branch_not_taken_is_checked_but_not_computed() {
    assert_is("if(zero > 0, 1/zero, 7)", "7");
    assert_is("zero != 0 and 1/zero > 2", "0");
    assert_is("zero == 0 or 1/zero > 2", "1");
    assert!(matches!(error("if(true, 1 bar, 1 m)"), ExprError::Mismatch { .. }));
    assert!(matches!(error("if(true, 1, sin(1 m))"), ExprError::NotDimensionless { .. }));
    assert!(matches!(error("if(true, 1, x)"), ExprError::UnknownName { .. }));
}

#[test]
fn dimensions_are_checked_without_values() {
    let dimension = |name: &str| parameter(name).map(|quantity| quantity.dimension);
    let check = |text: &str| parse(text).unwrap().check(&dimension);
    assert_eq!(check("sqrt(2*dp/rho)"), Ok(Dimension::VELOCITY));
    assert_eq!(check("if(a > b, 1/zero, ln(-1))"), Ok(Dimension::DIMENSIONLESS));
    let error = check("supply + flow").unwrap_err();
    assert_eq!(error.to_string(), "cannot add a pressure (supply) and a volume flow (flow)");
}

#[test]
fn what_cannot_be_computed_names_its_part() {
    let check = |text: &str, part: &str, message: &str| {
        let error = error(text);
        assert_eq!(&text[error.span()], part, "{text}");
        assert_eq!(error.to_string(), message, "{text}");
    };
    check("1 + 3/(a - a)", "(a - a)", "division by zero: `(a - a)` is 0");
    check("1/zero", "zero", "division by zero: `zero` is 0");
    check("1 + exp(1000)", "exp(1000)", "`exp(1000)` is too large or not a number");
    check("1e300*1e300", "1e300*1e300", "`1e300*1e300` is too large or not a number");
    check("sqrt(b - a)", "sqrt(b - a)", "a square root needs a value of at least 0, not -1 bar");
    check("ln(0)", "ln(0)", "a logarithm needs a value above 0, not 0");
    check("asin(2)", "asin(2)", "an arc sine or cosine needs a value from -1 to 1, not 2");
    check("(-8)^(1/3)", "(-8)^(1/3)", "a fractional power needs a base of at least 0, not -8");
    check("0^-1", "0^-1", "a negative power needs a base other than 0, not 0");
}

#[test]
fn slips_of_the_pen_get_a_good_answer() {
    let answer = |text: &str| {
        let error = error(text);
        let help = error.suggestion().unwrap_or_default();
        (text[error.span()].to_string(), error.to_string(), help)
    };
    let check = |text: &str, part: &str, message: &str, help: &str| {
        let expected = (part.to_string(), message.to_string(), help.to_string());
        assert_eq!(answer(text), expected, "{text}");
    };
    check("2*suply", "suply", "unknown name `suply`", "");
    check("10 bra", "bra", "unknown unit `bra`", "did you mean `bar`?");
    check("10 l/mni", "mni", "unknown name `mni`", "if a unit is meant: `min`");
    check("2*bar", "bar", "unknown name `bar`", "a unit is read only after a number: `1 bar`");
    check("0,5 bar", "0,5", "a comma is no decimal sign; use a point", "write `0.5 bar`");
    check(
        "2 supply",
        "supply",
        "found `supply` where a unit or an operator is expected",
        "for a product, write `* supply`",
    );
    check(
        "supply bar",
        "bar",
        "found `bar` where an operator or the end is expected",
        "a unit is read only directly after a number; write `*` for a product",
    );
    check(
        "1 < 2 < 3",
        "<",
        "found `<` where `and`, `or` or the end is expected",
        "comparisons cannot be chained: write `a < b and b < c`",
    );
    check("a = b", "=", "found `=` where an operator or the end is expected", "compare with `==`");
    check("2**3", "*", "found `*` where a value is expected", "a power is written `^`");
    check("sqr(2)", "sqr", "unknown function `sqr`", "did you mean `sqrt`?");
    check("sqrt(1,2)", "sqrt(1,2)", "`sqrt` takes 1 argument, but 2 given", "");
    check("min(1)", "min(1)", "`min` takes 2 or more arguments, but 1 given", "");
    check(
        "2 + min",
        "min",
        "found `min` where a value is expected",
        "`min` is a function: write `min(…)`",
    );
    check(
        "3 mm^n",
        "^n",
        "the exponent of a unit must be a number, a multiple of 1/12 between -99 and 99",
        "write a number such as `^2`, `^-1` or `^(1/2)`; for a power of a value, `(3 mm)^n`",
    );
    check("2 +", "", "the expression ends where a value is expected", "");
    check("", "", "the expression ends where a value is expected", "");
    check(
        "(2 + 3",
        "",
        "the expression ends where an operator or `)` is expected",
        "add the missing `)`",
    );
    check("2)", ")", "found `)` where an operator or the end is expected", "");
    check("1e999 bar", "1e999", "the value is larger than any number the simulator can hold", "");
    assert!(matches!(
        error("5 J/kg K"),
        ExprError::Literal(QuantityError::Unit(UnitError::AmbiguousProduct { .. }))
    ));
}

#[test]
fn hostile_depth_and_length_are_refused() {
    for opening in ["(", "-", "sqrt(", "1^", "2*(1+", "not ", "1 m/(", "if(1,2,"] {
        let text = opening.repeat(Expr::MAX_LENGTH / opening.len());
        assert!(matches!(error(&text), ExprError::TooDeep { .. }), "{opening}");
    }
    assert!(matches!(error(&"1+".repeat(10_000)), ExprError::TooLong { .. }));
}

#[test]
fn a_long_sum_is_no_deep_one() {
    let terms = Expr::MAX_LENGTH / 2;
    let text = vec!["1"; terms].join("+");
    assert_eq!(value(&text).value, terms as f64);
}

#[test]
fn the_deepest_expression_allowed_is_computed() {
    let nested =
        |opening: &str, count: usize| format!("{}1{}", opening.repeat(count), ")".repeat(count));
    assert_eq!(value(&nested("(", Expr::MAX_DEPTH - 1)).value, 1.0);
    assert_eq!(value(&nested("1^sqrt(", Expr::MAX_DEPTH / 2 - 1)).value, 1.0);
    assert_eq!(value(&nested("if(0,1,", Expr::MAX_DEPTH - 1)).value, 1.0);
}

#[test]
fn units_that_turn_out_to_be_none_do_not_cost_more_than_a_scan() {
    for piece in ["1 m/(s*", "1 N/(s*(", "1 s*s*", "2 N/sqrt("] {
        let text = piece.repeat(Expr::MAX_LENGTH / piece.len());
        let start = std::time::Instant::now();
        let _ = run(&text);
        assert!(start.elapsed().as_millis() < 500, "{piece}: {:?}", start.elapsed());
    }
}
