//! Large circuits in compiled code: units that are alike, several at a time.
//!
//! A plant has many of the same machine. Its step as one straight piece of code would be too long for
//! a compiler; but units of a kind do the same with other numbers, and are done side by side in the
//! registers that hold several numbers, with the code of that kind. Numbers go from unit to unit
//! through memory, in which they lie so that they can be taken at once (module `bundle`).
//!
//! The arithmetic of each unit is that of the engine, in its order, so that results agree bit for bit.

use crate::bundle::{Class, Memory, Use, classes, put_in_order};
use crate::compiler::{self, Made, NotCompiled};
use crate::frame::{HEAD, of_lanes, step_times};
use crate::library::AlikeCode;
use crate::text::{self, Among, Language, Style};
use fluxline_core::circuit::Registry;
use fluxline_core::instructions::{Eight, Instructions};
use fluxline_core::monitor::{FigurePlaces, Figures, Tally, larger};
use fluxline_core::plan::Plan;
use fluxline_core::program::apart::Apart;
use fluxline_core::program::{Array, Layout, Obstacle, Part, get, set};
use fluxline_core::run::Stepper;
use fluxline_core::state::State;
use fluxline_core::variables::Variable;
use std::fmt::Write;

/// In the record of a bundle: where what is kept and the parameters begin, where the copies before and
/// after it begin and end, which lanes have a unit; then the component of each lane, then where each
/// number begins.
const HEADER: usize = 7;

/// The code of a circuit whose units are done side by side, before it is compiled.
#[derive(Debug)]
pub struct AlikeSource {
    /// C.
    pub code: String,
    /// Statements.
    pub statements: usize,
    /// Units, and how many there are at a time in the middle.
    units: usize,
    bundles: usize,
    layout: Layout,
    /// Everything that code looks up, see [`AlikeCode`].
    table: Vec<u64>,
    /// Memory as it is before numbers of a state come in: parameters and signs.
    memory: Vec<f64>,
    /// Numbers of the state, and where they are.
    places: Vec<(u32, u32)>,
    /// Those that change.
    changed: Vec<(u32, u32)>,
    /// Figures of the verdict, and where they are.
    figures: Vec<(u32, u32)>,
    once: Vec<(u32, u32)>,
}

/// Such a circuit's code, compiled.
#[derive(Debug)]
pub struct Alike {
    source: AlikeSource,
    code: AlikeCode,
    made: Made,
    memory: Vec<f64>,
    /// Numbers that are looked at after each stretch of steps, and where they are.
    looked_at: Vec<(u32, u32)>,
}

impl AlikeSource {
    /// Writes the code of a circuit in which at least so many units are done at a time, on average.
    pub fn of(
        plan: &Plan,
        registry: &Registry,
        start: &State<f64>,
        least: f64,
    ) -> Result<Self, Vec<Obstacle>> {
        let lanes = if Eight::all().is_empty() { 4 } else { 8 };
        let apart = Apart::of(plan, registry, start)?;
        let layout = apart.layout;
        let numbers = apart.numbers;
        let of_kinds: Vec<Use> = apart.kinds.iter().map(Use::of).collect();
        let mut classes = classes(&apart, &of_kinds, numbers);
        let order = put_in_order(&mut classes, &apart, &of_kinds, numbers);
        let bundles: usize = classes.iter().map(|class| class.members.len().div_ceil(lanes)).sum();
        if (apart.members.len() as f64) < least * bundles as f64 {
            return Err(vec![Obstacle { component: None, why: "few components are alike" }]);
        }

        // Constants in which the units of a class agree become part of its code.
        let mut programs = Vec::with_capacity(classes.len());
        for class in &classes {
            let first = &apart.members[class.members[0] as usize].constants;
            let mut differs = vec![false; first.len()];
            for &member in &class.members {
                let others = &apart.members[member as usize].constants;
                for (differs, (a, b)) in differs.iter_mut().zip(first.iter().zip(others)) {
                    *differs |= a.to_bits() != b.to_bits();
                }
            }
            let is_different = |index: u32| differs.get(index as usize) == Some(&true);
            let member = class.members[0] as usize;
            programs.push(apart.with_constants(plan, registry, start, member, &is_different)?);
        }
        let uses: Vec<Use> = programs.iter().map(Use::of).collect();
        let (mut is_read, mut is_written) = (vec![false; numbers], vec![false; numbers]);
        for (class, own) in classes.iter().zip(&uses) {
            for &member in &class.members {
                for (k, &slot) in apart.members[member as usize].slots.iter().enumerate() {
                    is_read[slot as usize] |= own.reads[k];
                    is_written[slot as usize] |= own.writes[k];
                }
            }
        }
        for &(to, from, _) in &apart.copies {
            is_read[from as usize] = true;
            is_written[to as usize] = true;
        }
        let is_fixed = |slot: u32| !is_written[slot as usize];

        let mut memory = Memory::new(lanes, &classes, &order, &apart, &of_kinds, numbers);
        let signs = memory.room(1);
        let mut filled: Vec<(u32, f64)> = vec![(signs, 1.0), (signs + 1, -1.0)];
        let mut writer = Writer { lanes, code: start_of(lanes), table: Vec::new(), statements: 0 };
        // Where the records of each class begin, and how many there are; then the copies.
        writer.table = vec![0; 2 * classes.len() + 2];
        for (at, ((class, program), own)) in classes.iter().zip(&programs).zip(&uses).enumerate() {
            let every = |k: u32, is: &dyn Fn(u32) -> bool| {
                class.members.iter().all(|&m| is(apart.members[m as usize].slots[k as usize]))
            };
            let among = Among {
                is_fixed: &|k| every(k, &is_fixed),
                is_read: &|k| !every(k, &|slot| !is_read[slot as usize]),
                component: "T",
            };
            let kept = writer.class(at, program, among);
            let mut records = Vec::new();
            for members in class.members.chunks(lanes) {
                let bundle = memory.bundle(members, &apart, own, &is_fixed);
                let kept = memory.room(kept);
                let parameters = memory.room(program.parameters.len());
                for (row, &index) in program.parameters.iter().enumerate() {
                    for lane in 0..lanes {
                        let member = members[lane.min(members.len() - 1)] as usize;
                        let place = parameters as usize + row * lanes + lane;
                        filled
                            .push((place as u32, apart.members[member].constants[index as usize]));
                    }
                }
                let before = writer.copies(&bundle.before);
                let after = writer.copies(&bundle.after);
                let mut record = vec![u64::from(kept), u64::from(parameters)];
                record.extend([before.0, before.1, after.0, after.1]);
                record.push((1_u64 << members.len()) - 1);
                record.extend((0..lanes).map(|lane| component(&apart, members, lane)));
                record.extend(bundle.at.iter().map(|&place| u64::from(place)));
                records.push(record);
            }
            writer.table[2 * at] = writer.table.len() as u64;
            writer.table[2 * at + 1] = records.len() as u64;
            writer.table.extend(records.into_iter().flatten());
        }
        let copies: Vec<u64> = apart
            .copies
            .iter()
            .flat_map(|&(to, from, sign)| {
                let by = if sign < 0.0 { signs + 1 } else { signs };
                [memory.of(to), memory.of(from), by].map(u64::from)
            })
            .collect();
        let begin = writer.table.len();
        (writer.table[2 * classes.len()], writer.table[2 * classes.len() + 1]) =
            (begin as u64, (begin + copies.len()) as u64);
        writer.table.extend(copies);
        writer.drive(plan, &classes);

        let mut numbers_in = vec![0.0; memory.len() + lanes];
        for (place, value) in filled {
            numbers_in[place as usize] = value;
        }
        let place = |(slot, place): (usize, &Option<u32>)| Some((slot as u32, (*place)?));
        let places: Vec<(u32, u32)> = memory.place.iter().enumerate().filter_map(place).collect();
        let first = layout.first(Array::Figures);
        let (places, figures): (Vec<_>, Vec<_>) = places.into_iter().partition(|at| at.0 < first);
        let figures = figures.into_iter().map(|(slot, place)| (slot - first, place)).collect();
        let changed =
            places.iter().copied().filter(|&(slot, _)| is_written[slot as usize]).collect();
        Ok(Self {
            code: writer.code,
            statements: writer.statements,
            units: apart.members.len(),
            bundles,
            layout,
            table: writer.table,
            memory: numbers_in,
            places,
            changed,
            figures,
            once: memory.once,
        })
    }

    /// How many units are done at a time, on average.
    pub fn at_a_time(&self) -> f64 {
        self.units as f64 / self.bundles.max(1) as f64
    }

    /// Compiles it while `go_on` says so, or finds what it became before.
    pub fn compile(self, go_on: &mut dyn FnMut() -> bool) -> Result<Alike, NotCompiled> {
        let (made, code) = compiler::make(&self.code, go_on, AlikeCode::open)?;
        let memory = self.memory.clone();
        Ok(Alike { source: self, code, made, memory, looked_at: Vec::new() })
    }
}

/// The component in a lane of a bundle.
fn component(apart: &Apart, members: &[u32], lane: usize) -> u64 {
    let member = members[lane.min(members.len() - 1)] as usize;
    match apart.members[member].part {
        Part::Component { component, .. } => u64::from(component),
        _ => 0,
    }
}

fn start_of(lanes: usize) -> String {
    format!(
        "{HEAD}{}
#define FIRST {}
#define AT_B(i) (M + T[FIRST + (i)])
#define AT_K(i) (K + LANES * (i))
#define AT_P(i) (P + LANES * (i))
#define GET(A, i) LOAD(AT_##A(i))
#define SET(A, i, x) STORE(AT_##A(i), x)

static void unconverged(struct faults *faults, const count *T, count tick, count lanes) {{
    for (int i = 0; i < LANES; i++) {{
        if (!(lanes & T[6] & ((count)1 << i))) continue;
        faults->unconverged_lanes = 1;
        if (faults->unconverged == 0) {{
            faults->first_component = T[7 + i] + 1;
            faults->first_step = tick;
        }}
        faults->unconverged++;
    }}
}}
static void stop(struct faults *faults, const count *T, count tick, count lanes) {{
    for (int i = 0; i < LANES; i++) {{
        if (!(lanes & T[6] & ((count)1 << i))) continue;
        faults->stopped_lanes = 1;
        if (faults->stop_requested == 0) faults->stop_requested = T[7 + i] + 1;
    }}
}}
",
        of_lanes(lanes),
        HEADER + lanes
    )
}

struct Writer {
    lanes: usize,
    code: String,
    table: Vec<u64>,
    statements: usize,
}

impl Writer {
    /// Writes the two functions of a class; tells how many numbers it keeps.
    fn class(
        &mut self,
        at: usize,
        program: &fluxline_core::program::Program,
        among: Among<'_>,
    ) -> usize {
        let style = Style::of(Language::Lanes, &text::no_comment, program);
        let style = Style { among: Some(among), ..style };
        let text = text::write(program, &style);
        self.statements += text.statements;
        let record = HEADER + self.lanes + program.finals.len();
        let _ = write!(
            self.code,
            "
static void prepare_{at}(double *M, const count *T, count bundles) {{
    for (; bundles > 0; bundles--, T += {record}) {{
        double *const K = M + T[0];
        const double *const P = M + T[1];
{}    }}
}}
static void step_{at}(double *M, const count *U, const count *T, count bundles, const double begin,
                      const double end, const count step, const count tick, const count left,
                      struct faults *faults) {{
    for (; bundles > 0; bundles--, T += {record}) {{
        const double *const K = M + T[0];
        const double *const P = M + T[1];
        for (const count *c = U + T[2]; c < U + T[3]; c += 2) M[c[0]] = M[c[1]];
{}        for (const count *c = U + T[4]; c < U + T[5]; c += 2) M[c[0]] = M[c[1]];
    }}
}}
",
            text.prepare, text.step
        );
        text.kept
    }

    /// Adds copies to the table: where they begin and end.
    fn copies(&mut self, pairs: &[(u32, u32)]) -> (u64, u64) {
        let begin = self.table.len() as u64;
        self.table.extend(pairs.iter().flat_map(|&(to, from)| [to, from].map(u64::from)));
        (begin, self.table.len() as u64)
    }

    /// Writes what is called.
    fn drive(&mut self, plan: &Plan, classes: &[Class]) {
        let (begin, end) = step_times(plan);
        let all = 0..classes.len();
        let each = |text: &dyn Fn(usize) -> String| all.clone().map(text).collect::<String>();
        let prepare =
            each(&|c| format!("    prepare_{c}(M, U + U[{}], U[{}]);\n", 2 * c, 2 * c + 1));
        let steps = each(&|c| {
            let (at, count) = (2 * c, 2 * c + 1);
            format!(
                "        step_{c}(M, U, U + U[{at}], U[{count}], begin, end, step, tick, left, faults);\n"
            )
        });
        let (first, last) = (2 * classes.len(), 2 * classes.len() + 1);
        let _ = write!(
            self.code,
            "
void fluxline_prepare(double *M, const count *U) {{
{prepare}}}

void fluxline_steps(double *M, const count *U, struct clock *clock, struct faults *faults,
                    count steps) {{
    double time = clock->time;
    count step = clock->step;
    for (count left = steps; left > 0; left--) {{
        const count tick = step + clock->rest + 1;
        const double begin = {begin};
        const double end = {end};
        for (const count *c = U + U[{first}]; c < U + U[{last}]; c += 3) M[c[0]] = M[c[1]] * M[c[2]];
{steps}        step += 1;
        time = end;
    }}
    clock->time = time;
    clock->step = step;
}}
"
        );
    }
}

impl Alike {
    /// What the compiler took; nothing when the code was there.
    pub fn made(&self) -> &Made {
        &self.made
    }

    /// What it was compiled from.
    pub fn source(&self) -> &AlikeSource {
        &self.source
    }
}

impl Stepper for Alike {
    fn look_at(&mut self, variables: &[Variable]) {
        let AlikeSource { layout, changed, .. } = &self.source;
        let mut wanted: Vec<u32> =
            variables.iter().filter_map(|variable| layout.number_of(variable.slot.at)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let is_wanted = |&(slot, _): &(u32, u32)| wanted.binary_search(&slot).is_ok();
        self.looked_at = changed.iter().copied().filter(is_wanted).collect();
    }

    fn settle(&mut self, state: &mut State<f64>) {
        for &(slot, place) in &self.source.changed {
            set(state, self.source.layout, slot, self.memory[place as usize]);
        }
    }

    fn begin(&mut self, plan: &Plan, state: &State<f64>, tally: &Tally) {
        let AlikeSource { layout, places, figures, once, memory, table, .. } = &self.source;
        self.memory.copy_from_slice(memory);
        if tally.enabled {
            let mut numbers = Vec::new();
            tally.figures(plan).each(|number| numbers.push(*number));
            for &(number, place) in figures {
                let value = numbers.get(number as usize);
                self.memory[place as usize] = value.copied().unwrap_or(0.0);
            }
        }
        for &(slot, place) in places {
            self.memory[place as usize] = get(state, *layout, slot);
        }
        for &(to, from) in once {
            self.memory[to as usize] = self.memory[from as usize];
        }
        self.code.prepare(&mut self.memory, table);
    }

    fn advance(&mut self, _: &Plan, state: &mut State<f64>, _: &mut Tally, steps: u64) {
        self.code.advance(&mut self.memory, &self.source.table, state, steps);
        for &(slot, place) in &self.looked_at {
            set(state, self.source.layout, slot, self.memory[place as usize]);
        }
    }

    fn end(&mut self, plan: &Plan, tally: &mut Tally) {
        if !tally.enabled || self.source.figures.is_empty() {
            return;
        }
        let places = FigurePlaces::of(plan);
        let mut numbers = vec![0.0; places.count() as usize];
        for &(number, place) in &self.source.figures {
            numbers[number as usize] = self.memory[place as usize];
        }
        let mut figures: Figures<f64> = Figures::of(plan);
        let mut at = 0;
        figures.each(|number| {
            *number = numbers[at];
            at += 1;
        });
        let parasitic = places.parasitic().map(|at| numbers[at as usize]);
        figures.last_parasitic = parasitic.fold(0.0, larger);
        tally.take(&figures);
    }
}
