//! The language as a table: a text, and its value or why it has none.

use super::*;

enum Gives {
    Value(f64),
    /// Part of the message.
    Error(&'static str),
    /// Understood, but with names that nothing is known of.
    Unknown(&'static [&'static str]),
}
use Gives::{Error, Unknown, Value};

const TABLE: &[(&str, Gives)] = &[
    // Numbers, as C reads them.
    ("5", Value(5.0)),
    (" 5", Value(5.0)),
    ("5 ", Value(5.0)),
    ("1 000", Value(1000.0)),
    ("1e5", Value(1e5)),
    ("2e+007", Value(2e7)),
    ("2e-2-1E-2", Value(0.01)),
    ("1e+2+3E+2", Value(400.0)),
    ("1e2+1E2", Value(200.0)),
    (".5", Value(0.5)),
    ("0x10", Value(16.0)),
    ("inf", Value(f64::INFINITY)),
    ("-inf", Value(f64::NEG_INFINITY)),
    ("pi", Value(std::f64::consts::PI)),
    ("0,5", Error("the decimal sign is a point")),
    ("1.2.3", Error("not a number")),
    ("0.5huj", Unknown(&["0.5huj"])),
    // Without a digit in front of the `e` the sign is an operator.
    ("2.e-3", Unknown(&["2.e"])),
    // A name that ends like a number swallows the sign.
    ("x1e-2", Unknown(&["x1e-2"])),
    // Signs.
    ("-5", Value(-5.0)),
    ("+5", Value(5.0)),
    ("--5", Value(5.0)),
    ("2--3", Value(5.0)),
    ("1+-3", Value(-2.0)),
    ("1-+3", Value(-2.0)),
    ("1++3", Value(4.0)),
    ("1---3", Value(-2.0)),
    ("1 - - 3", Value(4.0)),
    // Order of splitting.
    ("-2^2", Value(-4.0)),
    ("(-2)^2", Value(4.0)),
    ("10-3-2", Value(5.0)),
    ("8/2*3", Value(12.0)),
    ("7/3/4/5", Value(7.0 / 3.0 / 4.0 / 5.0)),
    ("2+3*4", Value(14.0)),
    ("2*3^2", Value(18.0)),
    ("2^3*2", Value(16.0)),
    ("1-(-2-3-(-4-5))", Value(-3.0)),
    ("-(((-2-2)-3)*4)", Value(28.0)),
    ("5+1<2", Value(6.0)),
    ("(5+1)<2", Value(0.0)),
    ("-4.2>3", Value(-1.0)),
    ("(-4.2)>3", Value(0.0)),
    ("2<3", Value(1.0)),
    ("2<2", Value(0.0)),
    ("4.2>2.5", Value(1.0)),
    // Logic: above one half is true.
    ("1|0", Value(1.0)),
    ("0.5|0.5", Value(0.0)),
    ("0.51|0", Value(1.0)),
    ("0|0|0|1", Value(1.0)),
    ("2|3|0", Value(1.0)),
    ("(-1)|(-2)", Value(0.0)),
    ("|2", Value(1.0)),
    ("1&0", Value(0.0)),
    ("1&1", Value(1.0)),
    ("(-1)&1.5", Value(0.0)),
    ("1&1&1&0.4", Value(0.0)),
    ("2<3 | 4<2", Value(1.0)),
    ("2<3 & 4>2", Value(1.0)),
    ("2<3 & 4<2", Value(0.0)),
    ("3+1|0", Value(1.0)),
    ("1|0+3", Value(4.0)),
    ("1|-1", Error("two operators in a row")),
    // At most one of `^ < >` in a row.
    ("2^3^2", Error("two of `^`, `<` and `>`")),
    ("2^(3^2)", Value(512.0)),
    ("1<2<3", Error("two of `^`, `<` and `>`")),
    ("2^2<5", Error("two of `^`, `<` and `>`")),
    ("(2^2)<5", Value(1.0)),
    ("2<=3", Error("in front of `=`")),
    // Operators that meet.
    ("2*-3", Error("two operators in a row")),
    ("2*(-3)", Value(-6.0)),
    ("2/-3", Error("two operators in a row")),
    ("2^-1", Error("two operators in a row")),
    ("2^(-1)", Value(0.5)),
    ("2**3", Error("two operators in a row")),
    ("2+*3", Error("an operand is missing")),
    ("1+1-", Error("an operand is missing")),
    ("1+", Error("an operand is missing")),
    ("*2", Error("an operand is missing")),
    ("2*", Error("an operand is missing")),
    ("^2", Error("an operand is missing")),
    ("2^", Error("an operand is missing")),
    ("()", Error("an operand is missing")),
    ("-", Error("an operand is missing")),
    // Parentheses.
    ("((5))", Value(5.0)),
    ("(((1+2)))*2", Value(6.0)),
    ("(1)+(2)", Value(3.0)),
    ("2(3)", Error("an operator is missing")),
    ("(2)(3)", Error("an operator is missing")),
    ("(2", Error("never closed")),
    ("2)", Error("closes nothing")),
    (")2+3(", Error("closes nothing")),
    // Functions.
    ("cos(0)", Value(1.0)),
    ("(cos((0)))", Value(1.0)),
    ("cos( 0 * 100)", Value(1.0)),
    ("cos(sin(0))", Value(1.0)),
    ("sin(pi/2*cos(0))", Value(1.0)),
    ("acos(1)+asin(0)+atan(0)+tan(0)", Value(0.0)),
    ("cosh(0)+sinh(0)+tanh(0)", Value(1.0)),
    ("exp(0)+log(1)+log10(100)", Value(3.0)),
    ("sqrt(9)+ceil(6.2)+floor(6.7)", Value(16.0)),
    ("abs(-6.7)", Value(6.7)),
    ("atan2(0,1)", Value(0.0)),
    ("atan2( (1+1)/2 , 2^0 )", Value(std::f64::consts::FRAC_PI_4)),
    ("pow(2,10)", Value(1024.0)),
    ("fmod(7,4)", Value(3.0)),
    ("fmod(-7,4)", Value(-3.0)),
    ("min(6,7)+max(6,7)", Value(13.0)),
    ("min(nan,1)", Value(f64::NAN)),
    ("min(1,nan)", Value(1.0)),
    ("-cos(0)^2", Value(-1.0)),
    ("cos(0,)", Value(1.0)),
    ("max(min(1,2),3)", Error("cut at the first comma")),
    ("sin(min(1,2))", Error("cut at the first comma")),
    ("flooor(6.7)", Error("did you mean `floor`")),
    ("floor(6,7)", Error("takes one argument, not 2")),
    ("atan2(1)", Error("takes two arguments, not 1")),
    ("cos()", Error("takes one argument, not 0")),
    ("max(,1)", Error("an operand is missing")),
    ("COS(0)", Error("there is no function `COS`")),
    ("cos(0)(1)", Error("an operator is missing")),
    ("my_f(1)", Error("an operator is missing")),
    ("floor6.7)", Error("closes nothing")),
    ("floor(6.7", Error("never closed")),
    ("sum(1,2)", Error("there is no function `sum`")),
    // Statements, comments, local variables.
    ("x=4;x*2", Value(8.0)),
    ("x = 4\n y = x + 1\r\n y * 2", Value(10.0)),
    ("a=5;a=8;a;", Value(8.0)),
    ("a=(b=3)+1;a*b", Value(12.0)),
    ("1;2;3", Value(3.0)),
    ("# nothing\n7 # seven", Value(7.0)),
    ("7 # seven", Value(7.0)),
    (" \t #   \n    a=5;\n #   a=8\n a+1; \r\n a+2 \r a+3 \r\n #Some comment ", Value(8.0)),
    ("(a)=3;a", Value(3.0)),
    ("a=-2;a", Value(-2.0)),
    ("x=x+1;x", Unknown(&["x"])),
    ("", Error("nothing to evaluate")),
    ("  \n;; # only this", Error("nothing to evaluate")),
    ("a=b=3", Error("only one `=`")),
    ("a==3", Error("only one `=`")),
    (" = 5", Error("no name in front")),
    ("a=", Error("an operand is missing")),
    ("a += 5", Error("in front of `=`")),
    ("a=*5", Error("may not stand after `=`")),
    ("2=3", Error("is not a name")),
    ("a+1=3", Error("is not a name")),
    ("pi=3", Error("`pi` is a constant")),
    // Names.
    ("a_1*B2", Unknown(&["a_1", "B2"])),
    ("self.P1.Pressure", Unknown(&["self.P1.Pressure"])),
    ("4_3_Valve.x", Unknown(&["4_3_Valve.x"])),
    ("a b", Unknown(&["ab"])),
    ("läge*2", Unknown(&["läge"])),
    // What follows a `#` is a comment, also in the name of a start value.
    ("P1#Pressure", Unknown(&["P1"])),
];

#[test]
fn every_text_gives_its_value_or_its_error() {
    for (text, expected) in TABLE {
        let parsed = Program::parse(text);
        match (expected, &parsed) {
            (Value(expected), Ok(program)) => {
                assert!(program.inputs().is_empty(), "{text:?}");
                let mut values = vec![f64::NAN; program.variables().len()];
                let mut stack = Vec::with_capacity(program.stack());
                let capacity = stack.capacity();
                let value = program.evaluate(&mut values, &mut stack);
                assert_eq!(stack.capacity(), capacity, "{text:?}: the stack is larger than said");
                let is_equal = value == *expected
                    || (value.is_nan() && expected.is_nan())
                    || (value - expected).abs() <= 1e-15 * expected.abs();
                assert!(is_equal, "{text:?} gives {value}, not {expected}");
                assert_eq!(
                    program.evaluate(&mut values, &mut stack).to_bits(),
                    value.to_bits(),
                    "{text:?} again"
                );
            }
            (Error(expected), Err(error)) => {
                assert!(error.message.contains(expected), "{text:?}: {}", error.message);
                assert!(text.get(error.range.clone()).is_some(), "{text:?}: {:?}", error.range);
            }
            (Unknown(names), Ok(program)) => {
                let inputs: Vec<&str> = program
                    .inputs()
                    .iter()
                    .map(|&slot| program.variables()[slot].as_str())
                    .collect();
                assert_eq!(&inputs, names, "{text:?}");
            }
            _ => panic!("{text:?}: {parsed:?}"),
        }
    }
}

#[test]
fn an_error_points_at_its_place() {
    let place = |text: &str| {
        let error = Program::parse(text).unwrap_err();
        text[error.range].to_owned()
    };
    assert_eq!(place("1 + cosinus(2)"), "cosinus");
    assert_eq!(place("a = 2 * - 3"), "* -");
    assert_eq!(place("x = 1; y = (2 + 3"), "(");
    assert_eq!(place("2 ^ 3 ^ 2"), "^");
    assert_eq!(place("1\n2,5"), "2,5");
}

#[test]
fn hostile_texts_are_refused_or_read_at_once() {
    let start = std::time::Instant::now();
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Program::parse(&nested(MAX_NESTING)).is_ok());
    assert!(Program::parse(&nested(MAX_NESTING + 1)).is_err());
    assert!(Program::parse(&nested(1_000_000)).is_err());
    let calls = |depth: usize| format!("{}1{}", "2-cos(".repeat(depth), ")*3^2".repeat(depth));
    assert!(Program::parse(&calls(MAX_NESTING)).is_ok());
    assert!(Program::parse(&"-".repeat(60_000)).is_err());
    assert!(Program::parse(&format!("{}1", "-".repeat(60_000))).is_ok());
    assert!(Program::parse(&"1+".repeat(30_000)).is_err());
    assert!(Program::parse(&"a=".repeat(30_000)).is_err());
    let sum: String = (0..8000).map(|index| format!("v{index}+")).collect();
    let program = Program::parse(&format!("{sum}1")).unwrap();
    assert_eq!(program.variables().len(), 8000);
    assert_eq!(program.stack(), 2);
    assert!(Program::parse(&"(1)".repeat(20_000)).is_err());
    assert!(Program::parse(&"x".repeat(MAX_STATEMENT + 1)).is_err());
    let long: String = (0..100_000).map(|index| format!("a{} = {index}\n", index % 7)).collect();
    assert_eq!(Program::parse(&long).unwrap().statements().len(), 100_000);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn a_bound_program_steps_without_new_memory() {
    let program = Program::parse("b=2\na = 2 * b\nout = a * in + 3 + out/2").unwrap();
    let (input, output) = (program.slot("in").unwrap(), program.slot("out").unwrap());
    assert_eq!(program.inputs(), [input, output]);
    let mut values = vec![0.0; program.variables().len()];
    let mut stack = Vec::with_capacity(program.stack());
    values[input] = 1.0;
    let results: Vec<f64> = (0..3).map(|_| program.evaluate(&mut values, &mut stack)).collect();
    assert_eq!(results, [7.0, 10.5, 12.25]);
    assert_eq!(values[output], 12.25);
    assert_eq!(stack.capacity(), program.stack());
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "[-+*/^<>&|=(),;.#ae01 \\n]{0,60}|\\PC{0,40}") {
        match Program::parse(&text) {
            Ok(program) => {
                let mut values = vec![0.5; program.variables().len()];
                let mut stack = Vec::with_capacity(program.stack());
                let capacity = stack.capacity();
                program.evaluate(&mut values, &mut stack);
                proptest::prop_assert_eq!(stack.capacity(), capacity);
            }
            Err(error) => proptest::prop_assert!(text.get(error.range).is_some()),
        }
    }
}
