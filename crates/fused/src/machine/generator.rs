//! From statements to instructions.
//!
//! Registers of the processor: RBX holds the [`Frame`] of the call, RBP the steps that are left, R12
//! constants, R13 the step, R14 the row, R15 the stack as it was; RDI to R11 hold where arrays begin,
//! and are loaded again after calls.

use super::Machine;
use super::assembler::{Assembler, Binary, Comparison, Kind, Label, Memory, Source, first_of};
use super::early;
use super::registers::{Branch, Carried, MASK_SCRATCH, Places};
use super::shims::Shims;
use super::uses::{Uses, by_jump};
use crate::library::Frame;
use crate::script::{Question, Script, Statement, tail};
use fluxline_core::program::{Array, Event, Moment, Program};
use fluxline_core::trace::{Function, Node, Op};
use iced_x86::{Code, Register};
use rustc_hash::FxHashMap as HashMap;
use std::mem::offset_of;

/// How time goes on.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Start, s.
    pub start: f64,
    /// Step, s.
    pub step: f64,
    /// Each step is added to the time so far; otherwise time is start + n·step.
    pub adds_up: bool,
}

/// What instructions are written for.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// How many numbers there are side by side.
    pub kind: Kind,
    /// Registers for numbers, but for one.
    pub registers: usize,
    /// The least of two numbers takes longer than a branch that is guessed.
    pub guesses_least: bool,
}

/// Bytes that a number of all lanes takes.
pub fn width(kind: Kind) -> i32 {
    8 * kind.lanes() as i32
}

/// On the stack: two numbers that functions are called with, then the time that has been reached.
const FIRST_ARGUMENT: i32 = 0;
const SECOND_ARGUMENT: i32 = 64;
const TIME: i32 = 128;
/// Times of moments and the step follow.
const MOMENTS: i32 = 192;

/// Bytes of the stack that code may take: threads have some two million, and code looks for no end of them.
const MOST_ON_STACK: i32 = 1 << 18;

/// Registers in which times are computed.
const TIMES: u8 = 4;
/// Of so many registers one holds a number that goes from step to step.
const CARRIED: usize = 2;

/// Constants of the code: those that bits are masked with, then numbers.
#[derive(Debug, Default)]
struct Pool {
    words: Vec<u64>,
    numbers: HashMap<u64, i32>,
    /// Words of each.
    each: usize,
}

/// Bits of all but the sign, of the sign, and all.
const SIZE: i32 = 0;
const SIGN: i32 = 1;
const EVERY: i32 = 2;

impl Pool {
    fn new(kind: Kind) -> Self {
        // AVX-512 takes one number for all lanes.
        let each = if kind == Kind::Four { 4 } else { 1 };
        let mut pool = Self { each, ..Self::default() };
        for bits in [!(1 << 63), 1 << 63, u64::MAX] {
            // Whoever masks one number reads two.
            pool.words.extend(std::iter::repeat_n(bits, each.max(2)));
        }
        pool
    }

    fn bits(&self, which: i32) -> i32 {
        8 * which * self.each.max(2) as i32
    }

    fn number(&mut self, bits: u64) -> i32 {
        let Self { words, numbers, each } = self;
        *numbers.entry(bits).or_insert_with(|| {
            let at = 8 * words.len() as i32;
            words.extend(std::iter::repeat_n(bits, *each));
            at
        })
    }
}

/// Writes instructions.
pub struct Generator<'a> {
    pub(super) program: &'a Program,
    pub(super) script: &'a Script,
    /// The statements of a step.
    step: &'a [Statement],
    times: Times,
    shims: &'a Shims,
    shims_of_one: Shims,
    pub(super) asm: Assembler,
    pool: Pool,
    pub(super) places: Places,
    pub(super) uses: Uses,
    /// The statement that is being written.
    pub(super) position: u32,
    by_jump: Vec<bool>,
    /// Masks that are the same in all lanes, and computed for the first alone.
    scalar_masks: Vec<bool>,
    kept: Vec<Option<i32>>,
    /// Where nodes that are constants lie.
    constants: Vec<i32>,
    in_step: bool,
    branches: Vec<(Branch, Label, Option<Label>)>,
    /// The least of two numbers takes longer than a branch that is guessed.
    guesses_least: bool,
    takes_root_by_product: bool,
    failure: Option<&'static str>,
}

/// How what is chosen is asked for.
#[derive(Clone, Copy)]
enum Condition {
    Mask(Node),
    /// The first is below the second.
    Below(Node, Node),
}

const BONDS: Register = Register::RDI;
const SIGNALS: Register = Register::RSI;
const STATES: Register = Register::RDX;
const VISCOSITY: Register = Register::RCX;
const FIGURES: Register = Register::R8;
const PARAMETERS: Register = Register::R9;
const KEPT: Register = Register::R10;
const SEEN: Register = Register::R11;
const FRAME: Register = Register::RBX;
const LEFT: Register = Register::RBP;
const CONSTANTS: Register = Register::R12;
const STEP: Register = Register::R13;
const ROW: Register = Register::R14;
const STACK: Register = Register::R15;

/// What is saved, in the order in which it is pushed.
const SAVED: [Register; 6] = [FRAME, LEFT, CONSTANTS, STEP, ROW, STACK];

fn frame(offset: usize) -> Memory {
    Memory { base: FRAME, at: offset as i32, is_one: false }
}

fn stack(at: i32) -> Memory {
    Memory { base: Register::RSP, at, is_one: false }
}

/// Numbers that go from step to step in registers, beside memory: those at which the longest ways begin,
/// for which the way through memory would be part of the chain that a step waits for.
fn carried(program: &Program, script: &Script, kind: Kind, registers: usize) -> Vec<Carried> {
    let calls = script.step.iter().any(|statement| match *statement {
        Statement::Engine { .. } => true,
        Statement::Define { node, .. } => match program.ops[node as usize] {
            Op::Power(..) | Op::Angle(..) => true,
            Op::Call(function, _) => {
                !matches!(function, Function::Sqrt | Function::Abs | Function::Floor)
            }
            _ => false,
        },
        _ => false,
    });
    // Whoever calls empties all registers; in lanes others wait for units and not for numbers.
    if calls || kind != Kind::One {
        return Vec::new();
    }
    let mut found: Vec<(u32, Carried)> = Vec::new();
    for (load, &op) in (0..).zip(&program.ops) {
        if let Op::Load(slot) = op
            && let Some(&end) = program.finals.get(slot as usize)
            && end != load
            && script.shared.get(slot as usize) != Some(&true)
        {
            let carried = Carried { load, end, register: 0, slot };
            found.push((script.urgency[load as usize], carried));
        }
    }
    found.sort_by_key(|&(urgency, Carried { load, .. })| (std::cmp::Reverse(urgency), load));
    // Times are computed in the first registers.
    let registers = TIMES..registers as u8;
    let most = registers.len() / CARRIED;
    let some = found.into_iter().take(most).zip(registers.rev());
    some.map(|((_, carried), register)| Carried { register, ..carried }).collect()
}

/// Masks that are the same in all lanes, but for those that others which are not are computed from.
fn scalar_masks(program: &Program, script: &Script, kind: Kind) -> Vec<bool> {
    let is_one = |node: usize| kind != Kind::One && script.is_mask[node] && script.is_common[node];
    let mut scalar: Vec<bool> = (0..program.ops.len()).map(is_one).collect();
    for node in (0..program.ops.len()).rev() {
        if let op @ (Op::And(..) | Op::Or(..) | Op::Not(_)) = program.ops[node]
            && !scalar[node]
        {
            op.sources().for_each(|source| scalar[source as usize] = false);
        }
    }
    scalar
}

/// Writes the instructions of a program.
pub fn generate(
    program: &Program,
    script: &Script,
    Target { kind, registers, guesses_least }: Target,
    (times, seen): (Times, usize),
    shims: &Shims,
) -> Result<Machine, String> {
    let by_jump = by_jump(program, &|mask| kind == Kind::One || script.is_common[mask]);
    let mut kept = vec![None; program.ops.len()];
    for (&node, &place) in &script.kept {
        kept[node as usize] = Some(place as i32 * width(kind));
    }
    let mut carried = carried(program, script, kind, registers);
    let is_carried = |slot: u32| carried.iter().any(|one| one.slot == slot);
    let step = early::stores(program, script, &by_jump, &is_carried);
    let uses = Uses::new(program, &step, &by_jump);
    carried.retain(|one| uses.count(one.load) > 0);
    let mut pool = Pool::new(kind);
    let constants = program.ops.iter().map(|&op| match op {
        Op::Constant(bits) => pool.number(bits),
        _ => 0,
    });
    let constants = constants.collect();
    let mut generator = Generator {
        program,
        script,
        step: &step,
        times,
        shims,
        shims_of_one: Shims::of(1),
        asm: Assembler::new(kind, registers),
        pool,
        places: Places::new(program.ops.len(), 0),
        uses: Uses::new(program, &script.prepare, &by_jump),
        position: 0,
        by_jump,
        scalar_masks: scalar_masks(program, script, kind),
        kept,
        constants,
        in_step: false,
        branches: Vec::new(),
        guesses_least: guesses_least && kind == Kind::One,
        takes_root_by_product: kind == Kind::Eight && crate::roots::are_exact(),
        failure: None,
    };
    generator.prepare();
    let steps = generator.asm.at();
    generator.in_step = true;
    generator.uses = uses;
    generator.steps(seen, &carried);
    if let Some(why) = generator.failure {
        return Err(why.into());
    }
    let code = generator.asm.finish().map_err(|error| error.to_string())?;
    Ok(Machine { code, constants: generator.pool.words, steps })
}

impl Generator<'_> {
    pub(super) fn kind(&self) -> Kind {
        self.asm.kind
    }

    pub(super) fn fail(&mut self, why: &'static str) {
        self.failure.get_or_insert(why);
    }

    /// A number that should be somewhere is not.
    pub(super) fn miss(&mut self) {
        self.fail("a number is nowhere");
    }

    /// Whether a node is the same in all lanes and computed once for all of them.
    pub(super) fn is_scalar(&self, node: Node) -> bool {
        self.kind() != Kind::One
            && self.script.is_common[node as usize]
            && !self.script.is_mask[node as usize]
            && !(self.in_step && self.kept[node as usize].is_some())
            && !matches!(
                self.op(node),
                Op::Constant(_)
                    | Op::Load(_)
                    | Op::Parameter(_)
                    | Op::Time(_)
                    | Op::Stamp
                    | Op::Result(_)
            )
    }

    /// Whether a mask is computed for the first lane alone.
    pub(super) fn is_scalar_mask(&self, mask: Node) -> bool {
        self.scalar_masks[mask as usize]
    }

    /// Whether a mask is asked for as in a single run.
    fn is_asked_once(&self, mask: Node) -> bool {
        let mask = mask as usize;
        self.kind() == Kind::One || self.by_jump[mask] || self.scalar_masks[mask]
    }

    fn op(&self, node: Node) -> Op {
        self.program.ops[node as usize]
    }

    /// Where a number of the state is.
    pub(super) fn slot(&self, slot: u32) -> Memory {
        let (array, at) = self.program.layout.place(slot);
        let base = match array {
            Array::Bonds => BONDS,
            Array::Signals => SIGNALS,
            Array::States => STATES,
            Array::Viscosity => VISCOSITY,
            Array::Figures => FIGURES,
        };
        Memory { base, at: at as i32 * width(self.kind()), is_one: false }
    }

    fn is_shared(&self, slot: u32) -> bool {
        self.in_step && self.script.shared.get(slot as usize) == Some(&true)
    }

    fn constant(&mut self, bits: u64) -> Memory {
        let at = self.pool.number(bits);
        self.constant_at(at)
    }

    fn constant_at(&self, at: i32) -> Memory {
        Memory { base: CONSTANTS, at, is_one: self.kind() == Kind::Eight }
    }

    fn bits(&self, which: i32) -> Source {
        Source::Memory(self.constant_at(self.pool.bits(which)))
    }

    /// Times of moments, and the number of the step behind them.
    fn moment(&self, moment: usize) -> Memory {
        let each = width(self.kind());
        Memory { base: Register::RSP, at: MOMENTS + moment as i32 * each, is_one: false }
    }

    /// Where a node is in memory, and stays as long as it is wanted.
    pub(super) fn memory(&self, node: Node) -> Option<Memory> {
        if self.in_step
            && let Some(at) = self.kept[node as usize]
        {
            // Masks are kept as numbers.
            let is_mask = self.script.is_mask[node as usize];
            return (!is_mask).then_some(Memory { base: KEPT, at, is_one: false });
        }
        match self.op(node) {
            Op::Constant(_) => Some(self.constant_at(self.constants[node as usize])),
            Op::Load(slot) if !self.is_shared(slot) => Some(self.slot(slot)),
            Op::Parameter(index) => {
                let at = index as i32 * width(self.kind());
                Some(Memory { base: PARAMETERS, at, is_one: false })
            }
            Op::Time(moment) => Some(self.moment(moment as usize)),
            Op::Stamp => Some(self.moment(self.program.moments.len())),
            _ => {
                let at = self.places.on_stack(node)?;
                Some(Memory { is_one: self.is_scalar(node), ..stack(at) })
            }
        }
    }

    // ---- Around the statements ------------------------------------------------------------------

    /// Saves registers and makes room on the stack; where the amount of room is written.
    fn enter(&mut self) -> usize {
        for register in SAVED {
            self.asm.one(Code::Push_r64, register);
        }
        self.asm.two(Code::Mov_r64_rm64, FRAME, Register::RDI);
        self.asm.two(Code::Mov_r64_rm64, STACK, Register::RSP);
        self.asm.immediate(Code::Sub_rm64_imm32, Register::RSP, 0);
        let room = self.asm.at();
        self.asm.immediate(Code::And_rm64_imm8, Register::RSP, -64);
        self.load_bases();
        self.asm.read(Code::Mov_r64_rm64, CONSTANTS, frame(offset_of!(Frame, constants)));
        let moments = self.program.moments.len() as i32 + 1;
        let nodes = self.program.ops.len();
        self.places = Places::new(nodes, MOMENTS + moments * width(self.kind()));
        // So that what is on the stack lies as it is loaded.
        self.places.stack = (self.places.stack + 63) & -64;
        room
    }

    fn leave(&mut self, room: usize) {
        self.asm.bare(Code::VEX_Vzeroupper);
        self.asm.two(Code::Mov_r64_rm64, Register::RSP, STACK);
        for register in SAVED.into_iter().rev() {
            self.asm.one(Code::Pop_r64, register);
        }
        self.asm.bare(Code::Retnq);
        if self.places.stack > MOST_ON_STACK {
            self.fail("its numbers take too much of the stack");
        }
        self.asm.patch(room, self.places.stack + 64);
    }

    fn load_bases(&mut self) {
        for (register, offset) in [
            (BONDS, offset_of!(Frame, bonds)),
            (SIGNALS, offset_of!(Frame, signals)),
            (STATES, offset_of!(Frame, states)),
            (VISCOSITY, offset_of!(Frame, viscosity)),
            (FIGURES, offset_of!(Frame, figures)),
            (PARAMETERS, offset_of!(Frame, parameters)),
            (KEPT, offset_of!(Frame, kept)),
            (SEEN, offset_of!(Frame, seen)),
        ] {
            self.asm.read(Code::Mov_r64_rm64, register, frame(offset));
        }
    }

    fn prepare(&mut self) {
        let room = self.enter();
        let script = self.script;
        for (position, statement) in script.prepare.iter().enumerate() {
            self.statement(position, statement);
        }
        self.leave(room);
    }

    fn steps(&mut self, seen: usize, carried: &[Carried]) {
        let room = self.enter();
        let scratch = Register::XMM0;
        let clock = Memory { base: Register::RAX, at: 0, is_one: false };
        self.asm.read(Code::Mov_r64_rm64, Register::RAX, frame(offset_of!(Frame, clock)));
        self.asm.read(Code::VEX_Vmovsd_xmm_m64, scratch, clock);
        self.asm.write(Code::VEX_Vmovsd_m64_xmm, stack(TIME), scratch);
        self.asm.read(Code::Mov_r64_rm64, STEP, Memory { at: 8, ..clock });
        self.asm.two(Code::Xor_r32_rm32, Register::R14D, Register::R14D);
        for &Carried { register, slot, .. } in carried {
            self.asm.load(self.kind().register(register), Source::Memory(self.slot(slot)));
        }

        let [each_row, each_step, row_done] = [(); 3].map(|()| self.asm.label());
        self.asm.place(each_row);
        let stretches = frame(offset_of!(Frame, stretches));
        self.asm.read(Code::Mov_r64_rm64, Register::RAX, stretches);
        self.asm.word_at(Code::Mov_r64_rm64, LEFT, Register::RAX, ROW);
        self.asm.two(Code::Test_rm64_r64, LEFT, LEFT);
        self.asm.jump(Code::Je_rel32_64, row_done);
        self.asm.place(each_step);
        self.begin_step();
        self.begin_with(carried);
        self.step();
        self.carry_over(carried);
        if seen > 0 {
            self.asm.immediate(Code::Add_rm64_imm32, SEEN, seen as i32 * width(self.kind()));
            self.asm.write(Code::Mov_rm64_r64, frame(offset_of!(Frame, seen)), SEEN);
        }
        self.asm.immediate(Code::Add_rm64_imm8, STEP, 1);
        self.asm.immediate(Code::Sub_rm64_imm8, LEFT, 1);
        self.asm.jump(Code::Jne_rel32_64, each_step);
        self.asm.place(row_done);
        self.asm.immediate(Code::Add_rm64_imm8, ROW, 1);
        self.asm.read(Code::Cmp_r64_rm64, ROW, frame(offset_of!(Frame, rows)));
        self.asm.jump(Code::Jbe_rel32_64, each_row);

        self.asm.read(Code::Mov_r64_rm64, Register::RAX, frame(offset_of!(Frame, clock)));
        self.asm.read(Code::VEX_Vmovsd_xmm_m64, scratch, stack(TIME));
        self.asm.write(Code::VEX_Vmovsd_m64_xmm, clock, scratch);
        self.asm.write(Code::Mov_rm64_r64, Memory { at: 8, ..clock }, STEP);
        self.leave(room);
    }

    /// The times of this step. No number but those that are carried is in a register yet.
    fn begin_step(&mut self) {
        let Times { start, step, adds_up } = self.times;
        let [begin, end, other] = [Register::XMM0, Register::XMM1, Register::XMM2];
        let [start, step] = [start, step].map(|x| self.one_constant(x));
        let add = Code::VEX_Vaddsd_xmm_xmm_xmmm64;
        let mul = Code::VEX_Vmulsd_xmm_xmm_xmmm64;
        if adds_up {
            self.asm.read(Code::VEX_Vmovsd_xmm_m64, begin, stack(TIME));
            self.asm.three(add, end, begin, Source::Memory(step));
        } else {
            for (to, ahead) in [(begin, 0), (end, 1)] {
                self.asm.step_number(to, STEP, ahead);
                self.asm.three(mul, to, to, Source::Memory(step));
                self.asm.three(add, to, to, Source::Memory(start));
            }
        }
        self.asm.write(Code::VEX_Vmovsd_m64_xmm, stack(TIME), end);
        let program = self.program;
        for (index, moment) in program.moments.iter().enumerate() {
            if !self.is_time_used(index) {
                continue;
            }
            let time = match is_end(moment) {
                true => end,
                false => {
                    let ahead = self.one_constant(f64::from(moment.sub + 1) * moment.dt);
                    self.asm.three(add, other, begin, Source::Memory(ahead));
                    other
                }
            };
            self.put_moment(index, time);
        }
        if self.is_used(Op::Stamp) {
            self.asm.step_number(other, STEP, 1);
            self.put_moment(program.moments.len(), other);
        }
    }

    fn is_time_used(&self, moment: usize) -> bool {
        let is_asked = |unit: &fluxline_core::program::Unit| {
            unit.moment as usize == moment && !unit.tree.is_closed()
        };
        self.is_used(Op::Time(moment as u32)) || self.program.units.iter().any(is_asked)
    }

    fn is_used(&self, op: Op) -> bool {
        let place = self.program.ops.iter().position(|&other| other == op);
        place.is_some_and(|node| self.uses.count(node as Node) > 0)
    }

    fn put_moment(&mut self, index: usize, time: Register) {
        let to = self.kind().register(3);
        self.asm.spread(to, time);
        self.asm.store(self.moment(index), to);
    }

    /// A constant of one number, whatever the number of lanes.
    fn one_constant(&mut self, x: f64) -> Memory {
        Memory { is_one: false, ..self.constant(x.to_bits()) }
    }

    fn step(&mut self) {
        let step = self.step;
        let tail = tail(step);
        for (position, statement) in step[..tail].iter().enumerate() {
            self.statement(position, statement);
        }
        // What is handed out may be what a number was before it is overwritten.
        self.position = (tail as u32).saturating_sub(1);
        let mut stores = Vec::new();
        for statement in &step[tail..] {
            match *statement {
                Statement::See { at, node } => self.see(at, node),
                Statement::Store { slot, node } => stores.push((slot, node)),
                _ => {}
            }
        }
        self.store_all(&stores);
    }

    /// Stores numbers of the state, of which some may be what others were.
    fn store_all(&mut self, stores: &[(u32, Node)]) {
        // Who still reads a number of the state where it lies.
        let mut readers: HashMap<u32, usize> = HashMap::default();
        let reads = |generator: &Self, node: Node| match generator.op(node) {
            Op::Load(slot) if generator.places.register(node).is_none() => {
                (!generator.is_shared(slot)).then_some(slot)
            }
            _ => None,
        };
        let mut of_slot: HashMap<u32, usize> = HashMap::default();
        for (index, &(slot, node)) in stores.iter().enumerate() {
            of_slot.insert(slot, index);
            if let Some(read) = reads(self, node) {
                *readers.entry(read).or_default() += 1;
            }
        }
        let is_read = |readers: &HashMap<u32, usize>, slot: u32| {
            readers.get(&slot).is_some_and(|&count| count > 0)
        };
        let mut ready: Vec<usize> =
            (0..stores.len()).filter(|&i| !is_read(&readers, stores[i].0)).rev().collect();
        let mut done = vec![false; stores.len()];
        let mut left = 0;
        loop {
            while let Some(index) = ready.pop() {
                let (slot, node) = stores[index];
                if std::mem::replace(&mut done[index], true) {
                    continue;
                }
                let read = reads(self, node);
                self.store(self.slot(slot), node);
                self.places.unpin();
                if let Some(count) = read.and_then(|read| readers.get_mut(&read)) {
                    *count -= 1;
                    if *count == 0
                        && let Some(&next) = read.and_then(|read| of_slot.get(&read))
                    {
                        ready.push(next);
                    }
                }
            }
            // Around in a circle: the number that one reads is taken to a register.
            let Some(next) = (left..stores.len()).find(|&i| !done[i]) else { return };
            left = next;
            let node = stores[next].1;
            let Some(read) = reads(self, node) else {
                self.fail("numbers that wait for each other");
                return;
            };
            self.in_register(node);
            self.places.unpin();
            readers.remove(&read);
            ready.extend(of_slot.get(&read));
        }
    }

    /// Memory takes the value of a node.
    fn store(&mut self, to: Memory, node: Node) {
        let from = match self.source(node) {
            Source::Register(register) if !self.is_scalar(node) => register,
            from => {
                self.asm.load(self.asm.scratch(), from);
                self.asm.scratch()
            }
        };
        self.asm.store(to, from);
    }

    /// Hands out the value of a node.
    fn see(&mut self, at: usize, node: Node) {
        let at = at as i32 * width(self.kind());
        self.store(Memory { base: SEEN, at, is_one: false }, node);
    }

    /// Memory takes the value of a node that is the same in all lanes.
    fn store_one(&mut self, to: Memory, node: Node) {
        let from = match self.source(node) {
            Source::Register(register) => first_of(register),
            memory => {
                self.asm.load(first_of(self.asm.scratch()), memory);
                first_of(self.asm.scratch())
            }
        };
        self.asm.store(to, from);
    }

    // ---- Statements -----------------------------------------------------------------------------

    fn statement(&mut self, position: usize, statement: &Statement) {
        self.position = position as u32;
        match *statement {
            Statement::Comment(_) => {}
            Statement::Declare(ref nodes) => {
                if let Some((branch, ..)) = self.branches.last_mut() {
                    branch.declared.extend(nodes);
                }
            }
            Statement::Define { node, by_product } => self.define(node, by_product),
            Statement::Assign { to, value } => match self.branches.last_mut() {
                Some((branch, ..)) => branch.assigned.push((to, value)),
                None => self.copy_of(to, value),
            },
            Statement::Choose { to, mask, yes, no } => {
                self.choose(to, mask, yes, no);
                self.assigned(to);
            }
            Statement::If(question) => self.ask(question),
            Statement::Else => {
                if let Some((mut branch, otherwise, _)) = self.branches.pop() {
                    self.end_way(&mut branch);
                    let end = self.asm.label();
                    self.asm.jump(Code::Jmp_rel32_64, end);
                    self.asm.place(otherwise);
                    self.begin_other_way(&mut branch);
                    self.branches.push((branch, otherwise, Some(end)));
                }
            }
            Statement::End => self.end(),
            Statement::Store { slot, node } => {
                self.store(self.slot(slot), node);
                self.release(node);
            }
            Statement::Fetch { result, slot } => {
                let to = self.result(result);
                self.asm.load(to, Source::Memory(self.slot(slot)));
                self.assigned(result);
            }
            Statement::Report { event, component, moment, mask } => {
                self.report(event, component, moment, mask);
            }
            Statement::Engine { unit, moment } => self.engine(unit, moment),
            Statement::Keep { place, node } => self.keep(place, node),
            Statement::See { at, node } => self.see(at, node),
            Statement::InRow { at, node, negative } => {
                let to = Memory { base: Register::RAX, at: 8 * at as i32, is_one: false };
                if negative {
                    let scratch = self.asm.scratch();
                    let from = self.source(node);
                    self.asm.load(scratch, from);
                    self.asm.binary(Binary::Xor, scratch, scratch, self.bits(SIGN));
                    self.asm.store(to, scratch);
                } else {
                    self.store(to, node);
                }
                self.release(node);
            }
        }
        self.places.unpin();
    }

    /// A node has the value that it has on this way.
    fn assigned(&mut self, node: Node) {
        if let Some((branch, ..)) = self.branches.last_mut()
            && !branch.declared.contains(&node)
        {
            branch.assigned.push((node, node));
        }
    }

    fn copy_of(&mut self, to: Node, value: Node) {
        let from = self.source(value);
        let register = self.result(to);
        self.asm.load(register, from);
        self.release(value);
    }

    fn end(&mut self) {
        let Some((mut branch, otherwise, end)) = self.branches.pop() else { return };
        self.end_way(&mut branch);
        self.asm.place(end.unwrap_or(otherwise));
        let assigned = std::mem::take(&mut branch.assigned);
        self.end_branch(&mut branch);
        for (to, _) in assigned {
            self.assigned(to);
        }
    }

    fn ask(&mut self, question: Question) {
        let otherwise = self.asm.label();
        match question {
            Question::Holds(mask) if self.is_asked_once(mask) => {
                self.branch(mask, false, otherwise);
            }
            // What holds in all lanes or in none.
            Question::Holds(mask) | Question::Any(mask) => {
                self.ask_lanes(mask, otherwise, [Code::Je_rel32_64; 2], 0)
            }
            Question::All(mask) => {
                self.ask_lanes(mask, otherwise, [Code::Jne_rel32_64, Code::Jae_rel32_64], 15);
            }
            Question::NotAll(mask) => {
                self.ask_lanes(mask, otherwise, [Code::Je_rel32_64, Code::Jb_rel32_64], 15);
            }
            Question::LastStep => {
                self.asm.immediate(Code::Cmp_rm64_imm8, LEFT, 1);
                self.asm.jump(Code::Jne_rel32_64, otherwise);
            }
            Question::Row => {
                self.asm.read(Code::Cmp_r64_rm64, ROW, frame(offset_of!(Frame, rows)));
                self.asm.jump(Code::Jae_rel32_64, otherwise);
                // Time stands before the values.
                let bytes = 8 * (self.script.in_row as i32 + 1);
                self.asm.multiple(Register::RAX, ROW, bytes);
                self.asm.two(Code::Add_r64_rm64, Register::RAX, SEEN);
            }
            Question::Seen => {
                let yes = self.asm.label();
                let rows = frame(offset_of!(Frame, rows));
                self.asm.read(Code::Mov_r64_rm64, Register::RAX, rows);
                self.asm.two(Code::Sub_r64_rm64, Register::RAX, ROW);
                self.asm.jump(Code::Je_rel32_64, yes);
                self.asm.immediate(Code::Cmp_rm64_imm8, Register::RAX, 1);
                self.asm.jump(Code::Jne_rel32_64, otherwise);
                self.asm.read(Code::Mov_r64_rm64, Register::RAX, rows);
                let stretches = frame(offset_of!(Frame, stretches));
                self.asm.read(Code::Mov_r64_rm64, SEEN, stretches);
                self.asm.compare_word_at(SEEN, Register::RAX);
                // Leaves flags as they are.
                self.asm.read(Code::Mov_r64_rm64, SEEN, frame(offset_of!(Frame, seen)));
                self.asm.jump(Code::Jne_rel32_64, otherwise);
                self.asm.place(yes);
            }
        }
        if let Question::Holds(mask)
        | Question::Any(mask)
        | Question::All(mask)
        | Question::NotAll(mask) = question
        {
            self.release_mask(mask);
        }
        let branch = self.begin_branch(self.uses.ends[self.position as usize]);
        self.branches.push((branch, otherwise, None));
    }

    /// Jumps by one code or the other where lanes do not say what is asked: their bits compared with a
    /// number, or none of them and all of them.
    fn ask_lanes(&mut self, mask: Node, to: Label, codes: [Code; 2], bits: i32) {
        match self.kind() {
            Kind::Eight => {
                let mask = self.mask(mask);
                self.asm.two(Code::VEX_Kortestb_kr_kr, mask, mask);
                self.asm.jump(codes[1], to);
            }
            _ => {
                self.mask_bits(mask);
                self.asm.immediate(Code::Cmp_rm32_imm8, Register::EAX, bits);
                self.asm.jump(codes[0], to);
            }
        }
    }

    /// The bits of a mask's lanes, in EAX.
    fn mask_bits(&mut self, mask: Node) {
        let mask = self.mask(mask);
        let code = match self.kind() {
            Kind::Eight => Code::VEX_Kmovb_r32_kr,
            _ => Code::VEX_Vmovmskpd_r32_ymm,
        };
        self.asm.two(code, Register::EAX, mask);
    }

    /// The register of a mask: one of its own, or that which is nobody's for long.
    fn mask(&mut self, node: Node) -> Register {
        let scratch = self.asm.scratch();
        let has_registers = self.asm.has_mask_registers();
        if self.in_step
            && let Some(at) = self.kept[node as usize]
        {
            let kept = Memory { base: KEPT, at, is_one: false };
            self.asm.load(scratch, Source::Memory(kept));
            let to = if has_registers { MASK_SCRATCH } else { scratch };
            let zero = Source::Memory(self.constant(0));
            self.asm.compare(Comparison::Above, to, scratch, zero);
            return to;
        }
        match (self.op(node), has_registers) {
            (Op::Truth(true), true) => {
                self.asm.masks(Code::VEX_Kxnorb_kr_kr_kr, MASK_SCRATCH, MASK_SCRATCH, MASK_SCRATCH);
                MASK_SCRATCH
            }
            (Op::Truth(false), true) => {
                self.asm.masks(Code::VEX_Kxorb_kr_kr_kr, MASK_SCRATCH, MASK_SCRATCH, MASK_SCRATCH);
                MASK_SCRATCH
            }
            (Op::Truth(holds), false) => {
                let from = match holds {
                    true => self.bits(EVERY),
                    false => Source::Memory(self.constant(0)),
                };
                self.asm.load(scratch, from);
                scratch
            }
            _ => self.in_register(node),
        }
    }

    /// Jumps where a mask of a single run, or of all lanes, holds, or where it does not. No number changes its
    /// place.
    fn branch(&mut self, mask: Node, when: bool, to: Label) {
        let pick = |yes: Code, no: Code| if when { yes } else { no };
        if self.in_step
            && let Some(at) = self.kept[mask as usize]
        {
            // 1 or 0: the upper half tells.
            let upper = Memory { base: KEPT, at: at + 4, is_one: false };
            self.asm.compare_memory(Code::Cmp_rm32_imm8, upper, 0);
            return self.asm.jump(pick(Code::Jne_rel32_64, Code::Je_rel32_64), to);
        }
        if !self.by_jump[mask as usize] {
            match self.source(mask) {
                Source::Register(register) => {
                    let code = match self.asm.has_mask_registers() {
                        true => Code::VEX_Kmovb_r32_kr,
                        false => Code::VEX_Vmovmskpd_r32_xmm,
                    };
                    let register = match register.is_k() {
                        true => register,
                        false => first_of(register),
                    };
                    self.asm.two(code, Register::EAX, register);
                    self.asm.immediate(Code::And_rm32_imm8, Register::EAX, 1);
                }
                Source::Memory(memory) => {
                    self.asm.test_memory(memory);
                }
            }
            return self.asm.jump(pick(Code::Jne_rel32_64, Code::Je_rel32_64), to);
        }
        match self.op(mask) {
            Op::Truth(holds) => {
                if holds == when {
                    self.asm.jump(Code::Jmp_rel32_64, to);
                }
            }
            Op::Less(a, b) => {
                self.flags(b, a);
                self.asm.jump(pick(Code::Ja_rel32_64, Code::Jbe_rel32_64), to);
            }
            Op::LessEqual(a, b) => {
                self.flags(b, a);
                self.asm.jump(pick(Code::Jae_rel32_64, Code::Jb_rel32_64), to);
            }
            Op::Equal(a, b) => {
                self.flags(a, b);
                if when {
                    let skip = self.asm.label();
                    self.asm.jump(Code::Jp_rel32_64, skip);
                    self.asm.jump(Code::Je_rel32_64, to);
                    self.asm.place(skip);
                } else {
                    self.asm.jump(Code::Jne_rel32_64, to);
                    self.asm.jump(Code::Jp_rel32_64, to);
                }
            }
            Op::Apart(a, b) => {
                self.flags(a, b);
                self.asm.jump(pick(Code::Jne_rel32_64, Code::Je_rel32_64), to);
            }
            Op::Not(a) => self.branch(a, !when, to),
            _ => self.fail("a mask that is none"),
        }
    }

    /// Sets flags by comparing two numbers, wherever they are.
    fn flags(&mut self, a: Node, b: Node) {
        let (Some(a), Some(b)) = (self.source_of(a), self.source_of(b)) else {
            return self.miss();
        };
        let a = match a {
            Source::Register(register) => first_of(register),
            memory => {
                self.asm.load(first_of(self.asm.scratch()), memory);
                first_of(self.asm.scratch())
            }
        };
        let b = match b {
            Source::Register(register) => Source::Register(first_of(register)),
            Source::Memory(memory) => Source::Memory(Memory { is_one: false, ..memory }),
        };
        self.asm.set_flags(a, b);
    }

    fn define(&mut self, node: Node, by_product: bool) {
        let op = self.op(node);
        let scalar = self.is_scalar(node);
        match op {
            Op::Constant(_) | Op::Truth(_) | Op::Result(_) => {}
            Op::Load(slot) => {
                if self.is_shared(slot) {
                    let to = self.result(node);
                    self.asm.load(to, Source::Memory(self.slot(slot)));
                } else if !self.script.is_common[node as usize]
                    && self.uses.count(node) > 1
                    && self.has_free()
                {
                    self.in_register(node);
                }
            }
            Op::Parameter(_) | Op::Time(_) | Op::Stamp => {}
            Op::Add(a, b) => self.binary(node, Binary::Add, a, b, true),
            Op::Sub(a, b) => self.binary(node, Binary::Sub, a, b, false),
            Op::Mul(a, b) => self.binary(node, Binary::Mul, a, b, true),
            Op::Div(a, b) => self.binary(node, Binary::Div, a, b, false),
            Op::Least(a, b) if self.guesses_least => {
                self.either(node, Condition::Below(a, b), a, b);
            }
            Op::Largest(a, b) if self.guesses_least => {
                self.either(node, Condition::Below(b, a), a, b);
            }
            Op::Least(a, b) => self.binary(node, Binary::Least, a, b, false),
            Op::Largest(a, b) => self.binary(node, Binary::Largest, a, b, false),
            Op::Neg(a) => self.masked(node, Binary::Xor, a, SIGN),
            Op::Call(Function::Abs, a) => self.masked(node, Binary::And, a, SIZE),
            Op::Call(Function::Sqrt, a) if by_product && self.takes_root_by_product && !scalar => {
                self.root_by_product(node, a);
            }
            Op::Call(Function::Sqrt, a) => {
                let from = self.second(a, scalar);
                let to = self.result_of(node, &[a]);
                self.asm.root(to, from);
            }
            Op::Call(Function::Floor, a) => {
                let from = self.first(a, scalar);
                let to = self.result_of(node, &[a]);
                self.asm.floor(to, from);
            }
            Op::Call(function, a) => {
                let address = self.shims_for(scalar).function(function);
                self.call(node, address, &[a]);
            }
            Op::Power(a, b) => self.call(node, self.shims_for(scalar).power, &[a, b]),
            Op::Angle(a, b) => self.call(node, self.shims_for(scalar).angle, &[a, b]),
            Op::Where(_, yes, _) => self.copy_of(node, yes),
            Op::Select(mask, yes, no) if scalar || self.is_asked_once(mask) => {
                self.either(node, Condition::Mask(mask), yes, no);
            }
            Op::Select(mask, yes, no) => self.choose(node, mask, yes, no),
            _ if self.by_jump[node as usize] => {}
            Op::Less(a, b) => self.compare(node, Comparison::Less, a, b),
            Op::LessEqual(a, b) => self.compare(node, Comparison::NotAbove, a, b),
            Op::Equal(a, b) => self.compare(node, Comparison::Equal, a, b),
            Op::Apart(a, b) => self.compare(node, Comparison::Apart, a, b),
            Op::And(a, b) => self.both(node, Code::VEX_Kandb_kr_kr_kr, Binary::And, a, b),
            Op::Or(a, b) => self.both(node, Code::VEX_Korb_kr_kr_kr, Binary::Or, a, b),
            Op::Not(a) => {
                let from = match self.mask(a) {
                    mask if self.scalar_masks[node as usize] && !mask.is_k() => first_of(mask),
                    mask => mask,
                };
                let to = self.result_of(node, &[a]);
                match self.asm.has_mask_registers() {
                    true => self.asm.two(Code::VEX_Knotb_kr_kr, to, from),
                    false => self.asm.binary(Binary::Xor, to, from, self.bits(EVERY)),
                }
            }
        }
        // Nobody may want it here.
        if !matches!(op, Op::Load(_)) {
            self.release(node);
        }
    }

    fn binary(&mut self, node: Node, what: Binary, a: Node, b: Node, commutes: bool) {
        let is_there = |generator: &Self, node: Node| generator.places.register(node).is_some();
        let swap = commutes && !is_there(self, a) && is_there(self, b);
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let scalar = self.is_scalar(node);
        let first = self.first(a, scalar);
        let second = self.second(b, scalar);
        let to = self.result_of(node, &[a, b]);
        self.asm.binary(what, to, first, second);
    }

    /// A number with bits of it masked.
    fn masked(&mut self, node: Node, what: Binary, a: Node, bits: i32) {
        let scalar = self.is_scalar(node);
        let from = self.first(a, scalar);
        let to = self.result_of(node, &[a]);
        let bits = match self.bits(bits) {
            Source::Memory(bits) if scalar => Source::Memory(Memory { is_one: false, ..bits }),
            bits => bits,
        };
        self.asm.binary(what, to, from, bits);
    }

    fn compare(&mut self, node: Node, what: Comparison, a: Node, b: Node) {
        let scalar = self.scalar_masks[node as usize];
        let first = self.first(a, scalar);
        let second = self.second(b, scalar);
        let to = self.result_of(node, &[a, b]);
        self.asm.compare(what, to, first, second);
    }

    /// Two masks in one.
    fn both(&mut self, node: Node, code: Code, what: Binary, a: Node, b: Node) {
        // Only one of them can be in the register that is nobody's for long.
        let (first, second) = (self.mask(a), self.mask(b));
        if first == second && a != b {
            return self.fail("two masks in one register");
        }
        let one = |mask: Register| match self.scalar_masks[node as usize] && !mask.is_k() {
            true => first_of(mask),
            false => mask,
        };
        let (first, second) = (one(first), one(second));
        let to = self.result_of(node, &[a, b]);
        match self.asm.has_mask_registers() {
            true => self.asm.masks(code, to, first, second),
            false => self.asm.binary(what, to, first, Source::Register(second)),
        }
    }

    /// In lanes: one of two numbers.
    fn choose(&mut self, node: Node, mask: Node, yes: Node, no: Node) {
        let by = self.mask(mask);
        let (second, first) = (self.second(yes, false), self.first(no, false));
        let to = self.result_of(node, &[mask, yes, no]);
        self.asm.choose(to, by, second, first);
    }

    /// One of two numbers by a mask of a single run, or of all lanes: by a branch that the processor guesses.
    fn either(&mut self, node: Node, condition: Condition, yes: Node, no: Node) {
        let label = self.asm.label();
        let is_scalar = self.is_scalar(node);
        let dies = |generator: &Self, node: Node| {
            generator.places.register(node).is_some()
                && generator.is_scalar(node) == is_scalar
                && !generator.uses.is_used_after(node, generator.position)
        };
        let when = !dies(self, no) && dies(self, yes);
        let (first, other) = if when { (yes, no) } else { (no, yes) };
        let is_taken_over = dies(self, first);
        if is_taken_over {
            // It is asked before it is overwritten.
            self.jump_by(condition, when, label);
            let from = self.source(other);
            let Some(to) = self.take_over(node, first) else { return };
            self.asm.load(to, from);
        } else {
            let to = self.result(node);
            match self.source_of(first) {
                Some(from) => self.asm.load(to, from),
                None => self.miss(),
            }
            self.jump_by(condition, when, label);
            match self.source_of(other) {
                Some(from) => self.asm.load(to, from),
                None => self.miss(),
            }
        }
        self.asm.place(label);
        self.release(yes);
        self.release(no);
        match condition {
            Condition::Mask(mask) => self.release_mask(mask),
            Condition::Below(..) => {}
        }
    }

    /// Frees what a mask compares, where nobody wants it any more.
    fn release_mask(&mut self, mask: Node) {
        match self.by_jump[mask as usize] {
            false => self.release(mask),
            true => {
                let op = self.op(mask);
                for source in op.sources() {
                    self.release_mask(source);
                }
            }
        }
    }

    fn jump_by(&mut self, condition: Condition, when: bool, to: Label) {
        match condition {
            Condition::Mask(mask) => self.branch(mask, when, to),
            Condition::Below(a, b) => {
                self.flags(b, a);
                self.asm.jump(if when { Code::Ja_rel32_64 } else { Code::Jbe_rel32_64 }, to);
            }
        }
    }

    /// √a of eight lanes by multiplication, step by step as in [`crate::roots`].
    fn root_by_product(&mut self, node: Node, a: Node) {
        let x = self.first(a, false);
        let g = self.result(node);
        let [h, r] = [self.spare(), self.spare()];
        let half = Source::Memory(self.constant(0.5_f64.to_bits()));
        let multiply_add = Code::EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er;
        let add_multiple = Code::EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er;
        let take_multiple = Code::EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er;
        let asm = &mut self.asm;
        asm.unary(Code::EVEX_Vrsqrt14pd_zmm_k1z_zmmm512b64, h, Source::Register(x));
        asm.binary(Binary::Mul, g, x, Source::Register(h));
        asm.binary(Binary::Mul, h, h, half);
        for _ in 0..2 {
            asm.load(r, half);
            asm.three(take_multiple, r, g, Source::Register(h));
            asm.three(multiply_add, g, r, Source::Register(g));
            asm.three(multiply_add, h, r, Source::Register(h));
        }
        asm.load(r, Source::Register(x));
        asm.three(take_multiple, r, g, Source::Register(g));
        asm.three(add_multiple, g, r, Source::Register(h));
        // Where x is too small, too large, negative or no number.
        let [low, high] = [0x0800_0000_0000_0000, 0x6000_0000_0000_0000]
            .map(|bits| Source::Memory(self.constant(bits)));
        let zero = Source::Memory(self.constant(0));
        let asm = &mut self.asm;
        let [by_divider, done] = [(); 2].map(|()| asm.label());
        asm.three(Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, h, x, low);
        asm.below(MASK_SCRATCH, h, high);
        asm.two(Code::VEX_Kortestb_kr_kr, MASK_SCRATCH, MASK_SCRATCH);
        asm.jump(Code::Jb_rel32_64, done);
        asm.compare(Comparison::Equal, Register::K0, x, zero);
        asm.masks(Code::VEX_Korb_kr_kr_kr, Register::K0, Register::K0, MASK_SCRATCH);
        asm.two(Code::VEX_Kortestb_kr_kr, Register::K0, Register::K0);
        asm.jump(Code::Jae_rel32_64, by_divider);
        asm.choose(g, MASK_SCRATCH, Source::Register(g), x);
        asm.jump(Code::Jmp_rel32_64, done);
        asm.place(by_divider);
        asm.root(g, Source::Register(x));
        asm.place(done);
        self.release(a);
    }

    // ---- Calls ----------------------------------------------------------------------------------

    /// Functions for one number, or for those of all lanes.
    fn shims_for(&self, scalar: bool) -> &Shims {
        if scalar { &self.shims_of_one } else { self.shims }
    }

    /// A function of one or two numbers, which it finds and leaves on the stack.
    fn call(&mut self, node: Node, address: u64, arguments: &[Node]) {
        for (&argument, at) in arguments.iter().zip([FIRST_ARGUMENT, SECOND_ARGUMENT]) {
            match self.is_scalar(node) {
                true => self.store_one(stack(at), argument),
                false => self.store(stack(at), argument),
            }
        }
        self.places.unpin();
        for &argument in arguments {
            self.release(argument);
        }
        self.evict_all();
        self.asm.two(Code::Mov_r64_rm64, Register::RDI, Register::RSP);
        self.call_address(address);
        let to = self.result(node);
        self.asm.load(to, Source::Memory(stack(FIRST_ARGUMENT)));
    }

    fn call_address(&mut self, address: u64) {
        self.asm.bare(Code::VEX_Vzeroupper);
        self.asm.address_of(Register::RAX, address);
        self.asm.one(Code::Call_rm64, Register::RAX);
        self.load_bases();
    }

    /// The number of the main step, from 1, goes to a register.
    fn tick(&mut self, to: Register) {
        self.asm.read(Code::Mov_r64_rm64, to, frame(offset_of!(Frame, clock)));
        self.asm.read(Code::Mov_r64_rm64, to, Memory { base: to, at: 16, is_one: false });
        self.asm.two(Code::Add_r64_rm64, to, STEP);
        self.asm.immediate(Code::Add_rm64_imm8, to, 1);
    }

    fn engine(&mut self, unit: usize, moment: u32) {
        self.evict_all();
        self.tick(Register::RDX);
        let time = self.moment(moment as usize);
        self.asm.read(Code::VEX_Vmovsd_xmm_m64, Register::XMM0, time);
        self.asm.immediate(Code::Mov_r32_imm32, Register::ESI, unit as i32);
        self.asm.read(Code::Mov_r64_rm64, Register::RDI, frame(offset_of!(Frame, context)));
        self.asm.bare(Code::VEX_Vzeroupper);
        self.asm.read(Code::Mov_r64_rm64, Register::RAX, frame(offset_of!(Frame, engine)));
        self.asm.one(Code::Call_rm64, Register::RAX);
        self.load_bases();
    }

    fn report(&mut self, event: Event, component: u32, moment: u32, mask: Node) {
        let skip = self.asm.label();
        match self.is_asked_once(mask) {
            true => {
                self.branch(mask, false, skip);
                let all = (1 << self.kind().lanes()) - 1;
                self.asm.immediate(Code::Mov_r32_imm32, Register::EAX, all);
            }
            false => {
                self.mask_bits(mask);
                self.asm.two(Code::Test_rm32_r32, Register::EAX, Register::EAX);
                self.asm.jump(Code::Je_rel32_64, skip);
            }
        }
        self.release_mask(mask);
        self.places.unpin();
        let mut branch = self.begin_branch(self.position);
        self.asm.write(Code::Mov_rm64_r64, stack(FIRST_ARGUMENT), Register::RAX);
        self.evict_all();
        self.tick(Register::RDX);
        let Moment { sub, of, .. } = self.program.moments[moment as usize];
        if of != 1 {
            self.asm.immediate(Code::Sub_rm64_imm8, Register::RDX, 1);
            self.asm.multiple(Register::RDX, Register::RDX, of as i32);
            self.asm.immediate(Code::Add_rm64_imm32, Register::RDX, sub as i32 + 1);
        }
        self.asm.read(Code::Mov_r64_rm64, Register::RCX, stack(FIRST_ARGUMENT));
        self.asm.immediate(Code::Mov_r32_imm32, Register::ESI, component as i32);
        self.asm.read(Code::Mov_r64_rm64, Register::RDI, frame(offset_of!(Frame, faults)));
        self.call_address(match event {
            Event::Unconverged => self.shims.unconverged,
            Event::Stop => self.shims.stop,
        });
        self.end_way(&mut branch);
        self.asm.place(skip);
        self.end_branch(&mut branch);
    }

    /// Masks are kept as 1 or 0.
    fn keep(&mut self, place: usize, node: Node) {
        let at = place as i32 * width(self.kind());
        let to = Memory { base: KEPT, at, is_one: false };
        if !self.script.is_mask[node as usize] {
            self.store(to, node);
            return self.release(node);
        }
        let [one, none] = [1.0_f64, 0.0].map(|x| Source::Memory(self.constant(x.to_bits())));
        let scratch = self.asm.scratch();
        if self.is_asked_once(node) {
            let [no, done] = [(); 2].map(|()| self.asm.label());
            self.branch(node, false, no);
            self.asm.load(scratch, one);
            self.asm.jump(Code::Jmp_rel32_64, done);
            self.asm.place(no);
            self.asm.load(scratch, none);
            self.asm.place(done);
        } else {
            let mask = self.mask(node);
            self.asm.load(scratch, none);
            self.asm.choose(scratch, mask, one, scratch);
        }
        self.asm.store(to, scratch);
        self.release_mask(node);
    }
}

/// Whether a moment is the end of the main step.
fn is_end(moment: &Moment) -> bool {
    moment.of == 1 && moment.rate == 0
}
