//! Sources for those who embed a circuit elsewhere: a state, a step, names of inputs and outputs, and
//! a small program that runs it. They need no library but that of the language.

use crate::frame::IN_ANY_C;
use crate::text::{self, Language, Style, Text, letter, literal};
use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use fluxline_core::program::{
    Array, Layout, Leave, Obstacle, Part, Program, Unit, Wanted, program,
};
use fluxline_core::recorder::Sampling;
use fluxline_core::settings::Convention;
use fluxline_core::state::State;
use fluxline_core::trace::{Op, Width};
use fluxline_core::variables::{Location, Variable};
use std::fmt::Write;

/// Paths that are written out in each unit; beyond, both sides are computed and chosen from.
const PATHS: usize = 24;

/// Functions that a processor has instructions for: written out where the compiler is told to call
/// functions as they are, which gives the same bits.
const FUNCTIONS: &str = "\
#ifdef __GNUC__
#define ROOT(x) __builtin_sqrt(x)
#define SIZE(x) __builtin_fabs(x)
#define WHOLE(x) __builtin_floor(x)
#else
#define ROOT(x) sqrt(x)
#define SIZE(x) fabs(x)
#define WHOLE(x) floor(x)
#endif
";

/// Any compiler's C, of that for the compiler of the machine.
fn plain(text: &str) -> String {
    [
        ("__builtin_nan(\"\")", "NAN"),
        ("__builtin_inf()", "INFINITY"),
        ("__builtin_sqrt(", "ROOT("),
        ("__builtin_fabs(", "SIZE("),
        ("__builtin_floor(", "WHOLE("),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Prints a number as results are written.
const SHORTEST: &str = "\
// The shortest digits that read back as the same number; minus zero is zero.
static void print(double x) {
    char digits[40];
    int places = 0;
    x += 0.0;
    if (x - x != 0.0) {
        printf(\"%g\", x);
        return;
    }
    snprintf(digits, sizeof digits, \"%.14e\", x);
    if (strtod(digits, NULL) != x) places = 15;
    for (; places < 17; places++) {
        snprintf(digits, sizeof digits, \"%.*e\", places, x);
        if (strtod(digits, NULL) == x) break;
    }
    const char *const e = strchr(digits, 'e');
    const int exponent = atoi(e + 1);
    if (-5 <= exponent && exponent < 16)
        printf(\"%.*f\", places > exponent ? places - exponent : 0, x);
    else
        printf(\"%.*se%d\", (int)(e - digits), digits, exponent);
}
";

/// A circuit to be written.
pub struct Export<'a> {
    /// An [`identifier`]: what files, types and functions are named after.
    pub name: &'a str,
    /// The file that the circuit comes from.
    pub origin: &'a str,
    /// The plan.
    pub plan: &'a Plan,
    /// The component types.
    pub registry: &'a Registry,
    /// What the run begins with.
    pub start: &'a State<f64>,
    /// What is shown, in order.
    pub outputs: &'a [Variable],
    /// When it is shown by the small program, until this many steps.
    pub sampling: Sampling,
    /// Steps of the run.
    pub steps: u64,
}

/// A file and its text.
pub type File = (String, String);

/// A number of the state with a name.
struct Named {
    name: String,
    unit: &'static str,
    array: Array,
    at: u32,
    sign: f64,
}

/// What Rust has names for that a module cannot have, or that it would hide: words of the language, types
/// and crates that every file sees, and the program's own file. C needs no such list, since all its names
/// are longer than the circuit's.
const TAKEN: &[&str] = &[
    "abstract", "alloc", "as", "async", "await", "become", "bool", "box", "break", "char", "const",
    "continue", "core", "crate", "do", "dyn", "else", "enum", "extern", "f32", "f64", "false",
    "final", "fn", "for", "gen", "i128", "i16", "i32", "i64", "i8", "if", "impl", "in", "isize",
    "let", "loop", "macro", "main", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "std", "str", "struct", "super", "trait", "true", "try",
    "type", "typeof", "u128", "u16", "u32", "u64", "u8", "union", "unsafe", "unsized", "use",
    "usize", "virtual", "where", "while", "yield",
];

/// A name for files, modules and functions: letters, digits and underscores. What a language has taken
/// gets an ending.
pub fn identifier(name: &str) -> String {
    let mut out: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.insert_str(0, "circuit_");
    }
    if TAKEN.contains(&out.as_str()) {
        out.push_str("_circuit");
    }
    out
}

struct Parts {
    layout: Layout,
    text: Text,
    inputs: Vec<Named>,
    outputs: Vec<Named>,
    samples: Vec<u64>,
    start: [Vec<f64>; 4],
}

impl Export<'_> {
    fn parts(&self, language: Language) -> Result<Parts, Vec<Obstacle>> {
        let wanted =
            Wanted { watch: false, width: Width::One, leave: Leave::Nothing, paths: PATHS };
        let program = program(self.plan, self.registry, self.start, wanted, &|_| false)?;
        let comment = |unit: &Unit| match unit.part {
            Part::Component { component, .. } => {
                let entry = &self.plan.variables.entries[component as usize];
                Some(format!("{}: {}", one_line(&entry.name), entry.declaration.name))
            }
            Part::Gather(_) => Some("what several line ends push with together".to_owned()),
            Part::Scatter(_) => Some("what each of them gets".to_owned()),
            Part::Figure(_) => None,
        };
        let text = text::write(&program, &Style::of(language, &comment, &program));
        let mut samples = vec![self.sampling.next(0, self.steps)];
        while let Some(&last) = samples.last()
            && last < self.steps
        {
            samples.push(self.sampling.next(last + 1, self.steps));
        }
        let bonds = self
            .start
            .bonds
            .iter()
            .flat_map(|b| [b.flow, b.effort, b.wave, b.impedance, b.displacement, b.dry]);
        Ok(Parts {
            layout: program.layout,
            inputs: self.inputs(&program),
            outputs: self.outputs.iter().filter_map(named).collect(),
            text,
            samples,
            start: [
                bonds.collect(),
                self.start.signals.clone(),
                self.start.states.clone(),
                self.start.viscosity.clone(),
            ],
        })
    }

    /// Inputs of components that nothing drives: they may be set from outside.
    fn inputs(&self, program: &Program) -> Vec<Named> {
        let first = program.layout.bonds;
        let mut all = Vec::new();
        for entry in &self.plan.variables.entries {
            for ((_, parameter), &signal) in entry.declaration.inputs().zip(&entry.inputs) {
                let slot = first + signal;
                let end = program.finals[slot as usize];
                if program.ops[end as usize] == Op::Load(slot) {
                    all.push(Named {
                        name: format!("{}.{}", entry.name, parameter.name),
                        unit: parameter.unit,
                        array: Array::Signals,
                        at: signal,
                        sign: 1.0,
                    });
                }
            }
        }
        all
    }

    fn introduction(&self) -> String {
        format!(
            "// {}, written by Fluxline from {}.\n\
             // Components {}, time step {:?} s. All values are in SI units.\n",
            one_line(&self.plan.title),
            one_line(self.origin),
            self.plan.component_count(),
            self.plan.step
        )
    }

    /// C: a header, a source and a small program.
    pub fn c(&self) -> Result<Vec<File>, Vec<Obstacle>> {
        let Parts { layout, text, inputs, outputs, samples, start } = self.parts(Language::C)?;
        let (name, about) = (self.name, self.introduction());
        let upper = name.to_ascii_uppercase();
        let size = |n: u32| n.max(1);
        let kept = text.kept.max(1);
        let header = format!(
            "{about}//
// {name}_model model;
// {name}_start(&model);
// {name}_set(&model, 0, 1.5);          // an input that nothing drives, by its place in {name}_inputs
// {name}_steps(&model, 1000);
// double x = {name}_get(&model, 0);    // an output, by its place in {name}_outputs
#ifndef FLUXLINE_{upper}_H
#define FLUXLINE_{upper}_H

#ifdef __cplusplus
extern \"C\" {{
#endif

// Everything that changes, and what follows from inputs alone (K).
typedef struct {{
    double B[{}], S[{}], X[{}], V[{}], K[{kept}];
    double time;
    unsigned long long step;
    // Steps in which equations did not converge, and requests to stop.
    unsigned long long unconverged, stopped;
}} {name}_model;

typedef struct {{
    const char *name, *unit;
}} {name}_variable;

#define {upper}_INPUTS {}
#define {upper}_OUTPUTS {}
extern const {name}_variable {name}_inputs[], {name}_outputs[];

// Puts the start values in place.
void {name}_start({name}_model *model);
// Takes so many steps.
void {name}_steps({name}_model *model, unsigned long long steps);
// Sets an input; returns 0, or -1 when there is no such input.
int {name}_set({name}_model *model, unsigned input, double value);
// An output, or a NaN when there is no such output.
double {name}_get(const {name}_model *model, unsigned output);

#ifdef __cplusplus
}}
#endif
#endif
",
            size(layout.bonds),
            size(layout.signals),
            size(layout.states),
            size(layout.viscosity),
            inputs.len(),
            outputs.len(),
        );
        let mut source = format!(
            "{about}// Compile with -ffp-contract=off for the bits of Fluxline, and with -fno-builtin: for AVX-512, GCC 12\n\
             // copies tables of constants wrongly.\n\
             #include \"{name}.h\"\n#include <math.h>\n#include <string.h>\n\n{FUNCTIONS}{IN_ANY_C}\n"
        );
        for (array, values) in ['B', 'S', 'X', 'V'].into_iter().zip(&start) {
            let _ = writeln!(
                source,
                "static const double start_{array}[] = {{{}}};",
                list_or(values, "0.0", |&x| plain(&literal(Language::C, x)))
            );
        }
        for (kind, all) in [("inputs", &inputs), ("outputs", &outputs)] {
            let _ = writeln!(
                source,
                "const {name}_variable {name}_{kind}[] = {{{}}};",
                list_or(all, "{\"\", \"\"}", |v| format!("{{{:?}, {:?}}}", v.name, v.unit))
            );
        }
        let (begin, end) = crate::frame::step_times(self.plan);
        let _ = write!(
            source,
            "static const unsigned input_places[] = {{{}}};
static const struct {{ char array; unsigned place; double sign; }} output_places[] = {{{}}};

static void prepare({name}_model *model) {{
    const double *B = model->B, *S = model->S, *X = model->X, *V = model->V;
    double *K = model->K;
    (void)B, (void)S, (void)X, (void)V, (void)K;
{}}}

void {name}_start({name}_model *model) {{
    memset(model, 0, sizeof *model);
    memcpy(model->B, start_B, sizeof start_B);
    memcpy(model->S, start_S, sizeof start_S);
    memcpy(model->X, start_X, sizeof start_X);
    memcpy(model->V, start_V, sizeof start_V);
    model->time = {};
    model->step = {};
    prepare(model);
}}

int {name}_set({name}_model *model, unsigned input, double value) {{
    if (input >= {}) return -1;
    model->S[input_places[input]] = value;
    prepare(model);
    return 0;
}}

double {name}_get(const {name}_model *model, unsigned output) {{
    if (output >= {}) return NAN;
    const unsigned at = output_places[output].place;
    switch (output_places[output].array) {{
    case 'B': return output_places[output].sign * model->B[at];
    case 'S': return output_places[output].sign * model->S[at];
    default: return output_places[output].sign * model->X[at];
    }}
}}

#define unconverged(faults, component, tick, lanes) ((faults)->unconverged++)
#define stop(faults, component, tick, lanes) ((faults)->stopped++)

void {name}_steps({name}_model *model, unsigned long long steps) {{
    double *const B = model->B, *const S = model->S, *const X = model->X;
    const double *const V = model->V, *const K = model->K;
    {name}_model *const faults = model;
    (void)B, (void)S, (void)X, (void)V, (void)K, (void)faults;
    for (unsigned long long left = steps; left > 0; left--) {{
        const unsigned long long step = model->step, tick = step + {} + 1;
        const double time = model->time, begin = {begin}, end = {end};
        (void)tick, (void)time, (void)begin;
{}        model->step = step + 1;
        model->time = end;
    }}
}}
",
            list_or(&inputs, "0", |v| v.at.to_string()),
            list_or(&outputs, "{'S', 0, 1.0}", |v| format!(
                "{{'{}', {}, {:?}}}",
                letter(v.array),
                v.at,
                v.sign
            )),
            plain(&text.prepare),
            literal(Language::C, self.start.time),
            self.start.step,
            inputs.len(),
            outputs.len(),
            self.start.rest_steps,
            plain(&text.step),
        );
        let main = format!(
            "{about}// Runs the circuit and prints its outputs as CSV:
//   cc -O2 -ffp-contract=off -fno-builtin {name}.c {name}_main.c -lm -o {name} && ./{name} > {name}.csv
#include \"{name}.h\"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned long long samples[] = {{{}}};

{SHORTEST}
int main(void) {{
    static {name}_model model;
    {name}_start(&model);
    printf(\"time\");
    for (unsigned i = 0; i < {upper}_OUTPUTS; i++) printf(\",%s\", {name}_outputs[i].name);
    printf(\"\\n\");
    for (unsigned row = 0; row < sizeof samples / sizeof samples[0]; row++) {{
        {name}_steps(&model, samples[row] - model.step);
        print({start:?} + (double)model.step * {dt:?});
        for (unsigned i = 0; i < {upper}_OUTPUTS; i++) {{
            printf(\",\");
            print({name}_get(&model, i));
        }}
        printf(\"\\n\");
    }}
    return model.unconverged + model.stopped > 0;
}}
",
            list(&samples, u64::to_string),
            start = self.plan.start,
            dt = self.plan.step,
        );
        Ok(vec![
            (format!("{name}.h"), header),
            (format!("{name}.c"), source),
            (format!("{name}_main.c"), main),
        ])
    }

    /// Rust: a module and a small program.
    pub fn rust(&self) -> Result<Vec<File>, Vec<Obstacle>> {
        let Parts { layout, text, inputs, outputs, samples, start } = self.parts(Language::Rust)?;
        let (name, about) = (self.name, self.introduction());
        let about = about.replace("// ", "//! ");
        let (begin, end) = match self.plan.convention {
            Convention::Fluxline => (
                format!("{:?} + step as f64 * {:?}", self.plan.start, self.plan.step),
                format!("{:?} + (step + 1) as f64 * {:?}", self.plan.start, self.plan.step),
            ),
            Convention::Hopsan => ("time".into(), format!("time + {:?}", self.plan.step)),
        };
        let variables = |all: &[Named]| {
            list(all, |v| format!("Variable {{ name: {:?}, unit: {:?} }}", v.name, v.unit))
        };
        let places = |all: &[Named]| {
            list(all, |v| format!("('{}', {}, {:?})", letter(v.array), v.at, v.sign))
        };
        let numbers = |values: &[f64]| list(values, |&x| literal(Language::Rust, x));
        let module = format!(
            "{about}//!
//! ```
//! let mut model = {name}::Model::new();
//! model.set(0, 1.5);         // an input that nothing drives, by its place in INPUTS
//! model.steps(1000);
//! let x = model.get(0);      // an output, by its place in OUTPUTS
//! ```
#![allow(non_snake_case, unused_variables, unused_parens, unused_mut, dead_code, clippy::all)]

/// A number with a name.
pub struct Variable {{
    pub name: &'static str,
    pub unit: &'static str,
}}

/// Inputs that nothing drives.
pub static INPUTS: &[Variable] = &[{}];
/// Outputs.
pub static OUTPUTS: &[Variable] = &[{}];

static INPUT_PLACES: &[(char, usize, f64)] = &[{}];
static OUTPUT_PLACES: &[(char, usize, f64)] = &[{}];

/// Everything that changes, and what follows from inputs alone (K).
#[derive(Clone)]
pub struct Model {{
    B: [f64; {nb}],
    S: [f64; {ns}],
    X: [f64; {nx}],
    V: [f64; {nv}],
    K: [f64; {nk}],
    /// Time, s.
    pub time: f64,
    /// Steps taken.
    pub step: u64,
    /// Component steps whose equations did not converge.
    pub unconverged: u64,
    /// Requests to stop.
    pub stopped: u64,
}}

fn unconverged(count: &mut u64, _: u32, _: u64) {{
    *count += 1;
}}
fn stop(count: &mut u64, _: u32, _: u64) {{
    *count += 1;
}}

impl Model {{
    /// The start values.
    pub fn new() -> Self {{
        let mut model = Self {{
            B: [{}],
            S: [{}],
            X: [{}],
            V: [{}],
            K: [0.0; {nk}],
            time: {},
            step: {},
            unconverged: 0,
            stopped: 0,
        }};
        model.prepare();
        model
    }}

    /// Sets an input; false when there is no such input.
    pub fn set(&mut self, input: usize, value: f64) -> bool {{
        let Some(&(_, at, _)) = INPUT_PLACES.get(input) else {{ return false }};
        self.S[at] = value;
        self.prepare();
        true
    }}

    /// An output; `None` when there is no such output.
    pub fn get(&self, output: usize) -> Option<f64> {{
        let &(array, at, sign) = OUTPUT_PLACES.get(output)?;
        Some(sign * match array {{
            'B' => self.B[at],
            'S' => self.S[at],
            _ => self.X[at],
        }})
    }}

    fn prepare(&mut self) {{
        let Self {{ B, S, X, V, K, .. }} = self;
{}    }}

    /// Takes so many steps.
    pub fn steps(&mut self, steps: u64) {{
        for left in (1..=steps).rev() {{
            self.one(left);
        }}
    }}

    fn one(&mut self, left: u64) {{
        let (step, time) = (self.step, self.time);
        let tick = step + {} + 1;
        let begin: f64 = {begin};
        let end: f64 = {end};
        let Self {{ B, S, X, V, K, unconverged: faults, stopped, .. }} = self;
{}        self.step = step + 1;
        self.time = end;
    }}
}}
",
            variables(&inputs),
            variables(&outputs),
            places(&inputs),
            places(&outputs),
            numbers(&start[0]),
            numbers(&start[1]),
            numbers(&start[2]),
            numbers(&start[3]),
            literal(Language::Rust, self.start.time),
            self.start.step,
            text.prepare,
            self.start.rest_steps,
            text.step.replace("stop(faults,", "stop(stopped,"),
            nb = layout.bonds,
            ns = layout.signals,
            nx = layout.states,
            nv = layout.viscosity,
            nk = text.kept,
        );
        let main = format!(
            "{about}//! Runs the circuit and prints its outputs as CSV:
//!   rustc --edition 2021 -O main.rs -o {name} && ./{name} > {name}.csv
mod {name};

const SAMPLES: &[u64] = &[{}];

// The shortest digits that read back as the same number; minus zero is zero.
fn digits(x: f64) -> String {{
    let x = x + 0.0;
    match x == 0.0 || (1e-5..1e16).contains(&x.abs()) {{
        true => format!(\"{{x}}\"),
        false => format!(\"{{x:e}}\"),
    }}
}}

fn main() {{
    let mut model = {name}::Model::new();
    let names: String = {name}::OUTPUTS.iter().map(|one| format!(\",{{}}\", one.name)).collect();
    println!(\"time{{names}}\");
    for &sample in SAMPLES {{
        model.steps(sample - model.step);
        let time = digits({start:?} + model.step as f64 * {dt:?});
        let row: String = (0..{name}::OUTPUTS.len())
            .map(|i| format!(\",{{}}\", digits(model.get(i).unwrap_or(f64::NAN))))
            .collect();
        println!(\"{{time}}{{row}}\");
    }}
    if model.unconverged + model.stopped > 0 {{
        std::process::exit(1);
    }}
}}
",
            list(&samples, u64::to_string),
            start = self.plan.start,
            dt = self.plan.step,
        );
        Ok(vec![(format!("{name}.rs"), module), ("main.rs".to_owned(), main)])
    }
}

fn named(variable: &Variable) -> Option<Named> {
    use fluxline_core::domain::Role;
    let (array, at) = match variable.slot.at {
        Location::Bond(bond, role) => {
            let field = match role {
                Role::Flow => 0,
                Role::Effort => 1,
                Role::Wave => 2,
                Role::Impedance => 3,
                Role::Displacement => 4,
                Role::Dry => 5,
                // Circuits that carry it are not followed.
                Role::Temperature => return None,
            };
            (Array::Bonds, 6 * bond + field)
        }
        Location::Signal(signal) => (Array::Signals, signal),
        Location::State(state) => (Array::States, state),
    };
    let (name, sign) = (variable.name.clone(), variable.slot.sign);
    Some(Named { name, unit: variable.unit, array, at, sign })
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\\'], " ")
}

/// Values in lines that an editor can show.
fn list<T>(values: &[T], show: impl Fn(&T) -> String) -> String {
    let mut out = String::new();
    for (i, value) in values.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { "," });
        out.push_str(if i % 8 == 0 { "\n    " } else { " " });
        out.push_str(&show(value));
    }
    out
}

/// The same; what stands for an empty list, which C does not have.
fn list_or<T>(values: &[T], nothing: &str, show: impl Fn(&T) -> String) -> String {
    if values.is_empty() { nothing.to_owned() } else { list(values, show) }
}
