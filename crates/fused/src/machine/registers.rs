//! Which number is in which register, or in memory.
//!
//! Statements are gone through once. A number that is computed takes a register that nobody has; where
//! there is none, that number gives way which is used again last, and is written to the stack if it is
//! nowhere else. After a question both ways leave numbers in the same registers: in those where they
//! were before it.

use super::assembler::{Kind, Memory, Source, first_of, index_of};
use super::generator::Generator;
use fluxline_core::trace::Node;
use iced_x86::{Code, Register};

/// No node, or no register.
pub const NOBODY: Node = Node::MAX;
pub const NOWHERE: u8 = u8::MAX;

/// Statements within which a number is used again soon.
const SOON: u32 = 40;

/// Registers for masks: the first cannot choose, the last is nobody's for long.
const MASKS: std::ops::Range<u8> = 1..7;
pub const MASK_SCRATCH: Register = Register::K7;

/// Who is in which register.
#[derive(Clone, Debug)]
pub struct Holders {
    pub numbers: [Node; 32],
    pub masks: [Node; 8],
}

impl Default for Holders {
    fn default() -> Self {
        Self { numbers: [NOBODY; 32], masks: [NOBODY; 8] }
    }
}

impl Holders {
    fn each(&self) -> impl Iterator<Item = (Node, u8)> + '_ {
        let numbers = self.numbers.iter().zip(0..);
        numbers
            .chain(self.masks.iter().zip(0..))
            .map(|(&n, r)| (n, r))
            .filter(|&(n, _)| n != NOBODY)
    }
}

/// All that is known of where numbers are.
#[derive(Debug, Default)]
pub struct Places {
    pub holders: Holders,
    /// Register of each node.
    register: Vec<u8>,
    /// Place of each node on the stack, from 0; none where it has none.
    home: Vec<Option<i32>>,
    /// Whether the number is there.
    in_home: Vec<bool>,
    /// Nodes that were written to the stack, in order: what one way of a question has written, the
    /// other has not.
    written: Vec<Node>,
    free_homes: Vec<i32>,
    /// Free from the next statement on: this one may still read them.
    left_homes: Vec<i32>,
    /// Bytes of the stack in use.
    pub stack: i32,
    pinned: u32,
    pinned_masks: u8,
}

/// A question whose statements are being written.
#[derive(Debug)]
pub struct Branch {
    /// Where it ends.
    pub end: u32,
    before: Holders,
    /// How much was written to the stack before.
    written: usize,
    /// Who takes whose value where the branch ends.
    pub assigned: Vec<(Node, Node)>,
    /// Who is wanted on this way alone.
    pub declared: Vec<Node>,
    /// Where numbers are after it, once one way has been written.
    after: Option<After>,
}

/// A number of the state that goes from step to step in a register.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// What a step begins with.
    pub load: Node,
    /// What it ends with.
    pub end: Node,
    /// The register.
    pub register: u8,
    /// The number.
    pub slot: u32,
}

/// Where numbers are after a question.
#[derive(Debug)]
struct After {
    registers: Vec<(Node, u8)>,
    on_stack: Vec<Node>,
}

impl Places {
    pub fn new(nodes: usize, stack: i32) -> Self {
        Self {
            register: vec![NOWHERE; nodes],
            home: vec![None; nodes],
            in_home: vec![false; nodes],
            stack,
            ..Self::default()
        }
    }

    /// The register that holds a node.
    pub fn register(&self, node: Node) -> Option<u8> {
        Some(self.register[node as usize]).filter(|&r| r != NOWHERE)
    }

    /// Where a node is on the stack.
    pub fn on_stack(&self, node: Node) -> Option<i32> {
        self.home[node as usize].filter(|_| self.in_home[node as usize])
    }

    /// A statement ends.
    pub fn unpin(&mut self) {
        (self.pinned, self.pinned_masks) = (0, 0);
        self.free_homes.append(&mut self.left_homes);
    }
}

impl Generator<'_> {
    /// Whether a node is a mask in a register for masks.
    pub fn is_in_mask_register(&self, node: Node) -> bool {
        self.asm.has_mask_registers() && self.script.is_mask[node as usize]
    }

    fn name(&self, node: Node, register: u8) -> Register {
        match self.is_in_mask_register(node) {
            true => Register::K0 + u32::from(register),
            false if self.is_scalar(node) || self.is_scalar_mask(node) => {
                Kind::One.register(register)
            }
            false => self.kind().register(register),
        }
    }

    /// The register of a node as an instruction on one number takes it, or on those of all lanes.
    pub fn first(&mut self, node: Node, scalar: bool) -> Register {
        if self.is_scalar(node) == scalar {
            return self.in_register(node);
        }
        match (self.source(node), scalar) {
            (Source::Register(register), true) => first_of(register),
            (from, true) => {
                let to = first_of(self.spare());
                self.asm.load(to, from);
                to
            }
            (from, false) => {
                let to = self.spare();
                self.asm.load(to, from);
                to
            }
        }
    }

    /// Where a node is, as the last source of an instruction on one number, or on those of all lanes.
    pub fn second(&mut self, node: Node, scalar: bool) -> Source {
        if !scalar && self.is_scalar(node) {
            return match self.source(node) {
                from @ Source::Memory(_) if self.kind() == Kind::Eight => from,
                from => {
                    let to = self.spare();
                    self.asm.load(to, from);
                    Source::Register(to)
                }
            };
        }
        let source = match scalar && !self.is_scalar(node) {
            true => self.source(node),
            false => self.operand(node),
        };
        match source {
            Source::Register(register) if scalar => Source::Register(first_of(register)),
            Source::Memory(memory) if scalar => Source::Memory(Memory { is_one: false, ..memory }),
            source => source,
        }
    }

    fn pin(&mut self, node: Node, register: u8) {
        match self.is_in_mask_register(node) {
            true => self.places.pinned_masks |= 1 << register,
            false => self.places.pinned |= 1 << register,
        }
    }

    fn holder(&mut self, node: Node, register: u8) -> &mut Node {
        match self.is_in_mask_register(node) {
            true => &mut self.places.holders.masks[register as usize],
            false => &mut self.places.holders.numbers[register as usize],
        }
    }

    fn put_into(&mut self, node: Node, register: u8) {
        *self.holder(node, register) = node;
        self.places.register[node as usize] = register;
    }

    fn take_out(&mut self, node: Node) {
        if let Some(register) = self.places.register(node) {
            *self.holder(node, register) = NOBODY;
            self.places.register[node as usize] = NOWHERE;
        }
    }

    /// A register that nobody holds, where there is one without asking anybody to leave.
    pub fn has_free(&self) -> bool {
        let count = self.asm.registers;
        self.places.holders.numbers[..count].contains(&NOBODY)
    }

    /// A register for a node, which it does not hold yet.
    fn find_register(&mut self, node: Node) -> u8 {
        self.find(self.is_in_mask_register(node))
    }

    fn find(&mut self, is_mask: bool) -> u8 {
        let (range, pinned) = match is_mask {
            true => (MASKS, u32::from(self.places.pinned_masks)),
            false => (0..self.asm.registers as u8, self.places.pinned),
        };
        let holders = &self.places.holders;
        let held: &[Node] = if is_mask { &holders.masks } else { &holders.numbers };
        let mut best = None;
        for register in range.filter(|&r| pinned & 1 << r == 0) {
            let holder = held[register as usize];
            if holder == NOBODY {
                return register;
            }
            // Who is in memory already gives way more easily.
            let next = self.uses.next(holder, self.position).unwrap_or(u32::MAX);
            let distance = u64::from(next.saturating_sub(self.position));
            let is_there = self.memory(holder).is_some();
            let ease = if is_there { 3 * distance } else { 2 * distance };
            if best.is_none_or(|(most, _)| ease > most) {
                best = Some((ease, register));
            }
        }
        let Some((_, register)) = best else {
            self.fail("all registers are in use at once");
            return 0;
        };
        self.evict(held_by(&self.places.holders, is_mask, register));
        register
    }

    /// A node leaves its register, and is in memory afterwards if anybody wants it.
    fn evict(&mut self, node: Node) {
        // Also by the statement that is being written.
        if self.uses.next(node, self.position).is_some() && self.memory(node).is_none() {
            let to = self.home(node);
            match self.source_of(node) {
                Some(Source::Register(from)) => self.write_home(to, from, node),
                _ => self.miss(),
            }
            self.places.in_home[node as usize] = true;
            self.places.written.push(node);
        }
        self.take_out(node);
    }

    fn write_home(&mut self, to: Memory, from: Register, node: Node) {
        match self.is_in_mask_register(node) {
            true => self.asm.write(Code::VEX_Kmovb_m8_kr, to, from),
            false => self.asm.store(to, from),
        }
    }

    fn home(&mut self, node: Node) -> Memory {
        let places = &mut self.places;
        let at = *places.home[node as usize].get_or_insert_with(|| {
            places.free_homes.pop().unwrap_or_else(|| {
                places.stack += super::generator::width(self.asm.kind);
                places.stack - super::generator::width(self.asm.kind)
            })
        });
        Memory { base: Register::RSP, at, is_one: false }
    }

    /// Where a node is: in its register, else in memory.
    pub fn source_of(&self, node: Node) -> Option<Source> {
        match self.places.register(node) {
            Some(register) => Some(Source::Register(self.name(node, register))),
            None => self.memory(node).map(Source::Memory),
        }
    }

    /// Where a node is, as the source of an instruction; in a register where it is wanted again soon and
    /// there is one.
    pub fn operand(&mut self, node: Node) -> Source {
        let soon = self.position + 1..self.position + SOON;
        let is_near = self.uses.next(node, soon.start).is_some_and(|next| next < soon.end);
        if is_near && self.places.register(node).is_none() && self.has_free() {
            return Source::Register(self.in_register(node));
        }
        self.source(node)
    }

    /// Where a node is, as the source of an instruction.
    pub fn source(&mut self, node: Node) -> Source {
        if let Some(register) = self.places.register(node) {
            self.pin(node, register);
        }
        match self.source_of(node) {
            Some(source) => source,
            None => {
                self.miss();
                Source::Register(self.asm.scratch())
            }
        }
    }

    /// The register of a node, which is brought there if it is in memory.
    pub fn in_register(&mut self, node: Node) -> Register {
        if self.places.register(node).is_none() {
            let from = self.source(node);
            let register = self.find_register(node);
            let name = self.name(node, register);
            match (self.is_in_mask_register(node), from) {
                (true, Source::Memory(from)) => {
                    self.asm.read(Code::VEX_Kmovb_kr_km8, name, from);
                }
                (_, from) => self.asm.load(name, from),
            }
            self.put_into(node, register);
        }
        match self.source(node) {
            Source::Register(register) => register,
            Source::Memory(_) => self.asm.scratch(),
        }
    }

    /// The register for the number that an instruction computes from these, which is the last to
    /// look at those that nobody wants afterwards.
    pub fn result_of(&mut self, node: Node, sources: &[Node]) -> Register {
        for &source in sources {
            self.release(source);
        }
        self.result(node)
    }

    /// The register for a node that is computed now.
    pub fn result(&mut self, node: Node) -> Register {
        self.take_out(node);
        let register = self.find_register(node);
        self.put_into(node, register);
        self.pin(node, register);
        self.forget_home(node);
        self.name(node, register)
    }

    /// A register for numbers until the end of the statement.
    pub fn spare(&mut self) -> Register {
        let register = self.find(false);
        self.places.pinned |= 1 << register;
        self.asm.kind.register(register)
    }

    /// A node takes the register of another, which nobody wants afterwards.
    pub fn take_over(&mut self, node: Node, from: Node) -> Option<Register> {
        let register = self.places.register(from)?;
        self.take_out(from);
        self.put_into(node, register);
        self.pin(node, register);
        self.forget_home(node);
        Some(self.name(node, register))
    }

    /// What is on the stack is of an earlier time that the node was computed.
    fn forget_home(&mut self, node: Node) {
        self.places.in_home[node as usize] = false;
    }

    /// Frees what nobody wants after this statement.
    pub fn release(&mut self, node: Node) {
        if self.uses.is_used_after(node, self.position) {
            return;
        }
        if let Some(register) = self.places.register(node) {
            match self.is_in_mask_register(node) {
                true => self.places.pinned_masks &= !(1 << register),
                false => self.places.pinned &= !(1 << register),
            }
            self.take_out(node);
        }
        if let Some(home) = self.places.home[node as usize].take() {
            self.places.in_home[node as usize] = false;
            self.places.left_homes.push(home);
        }
    }

    /// Empties all registers, as before a call.
    pub fn evict_all(&mut self) {
        let all: Vec<Node> = self.places.holders.each().map(|(node, _)| node).collect();
        for node in all {
            self.evict(node);
        }
    }

    /// What follows is done on one way only.
    pub fn begin_branch(&mut self, end: u32) -> Branch {
        Branch {
            end,
            before: self.places.holders.clone(),
            written: self.places.written.len(),
            assigned: Vec::new(),
            declared: Vec::new(),
            after: None,
        }
    }

    /// One way ends: numbers go to where they are on all ways.
    pub fn end_way(&mut self, branch: &mut Branch) {
        let after = match branch.after.take() {
            Some(after) => after,
            None => self.settle(branch),
        };
        self.move_to(branch, &after);
        branch.after = Some(after);
    }

    /// The other way begins as the first did.
    pub fn begin_other_way(&mut self, branch: &mut Branch) {
        self.forget_written(branch.written);
        self.set_holders(&branch.before.each().collect::<Vec<_>>());
        branch.assigned.clear();
        branch.declared.clear();
        let dead: Vec<Node> = self.places.holders.each().map(|(node, _)| node).collect();
        for node in dead {
            if !self.uses.is_used_after(node, self.position) {
                self.take_out(node);
            }
        }
    }

    /// All ways have come together.
    pub fn end_branch(&mut self, branch: &mut Branch) {
        self.forget_written(branch.written);
        let Some(After { registers, on_stack }) = branch.after.take() else { return };
        self.set_holders(&registers);
        for node in on_stack {
            self.places.in_home[node as usize] = true;
            self.places.written.push(node);
        }
    }

    fn forget_written(&mut self, from: usize) {
        for node in self.places.written.drain(from..) {
            self.places.in_home[node as usize] = false;
        }
    }

    fn set_holders(&mut self, all: &[(Node, u8)]) {
        let holders = std::mem::take(&mut self.places.holders);
        for (node, _) in holders.each() {
            self.places.register[node as usize] = NOWHERE;
        }
        for &(node, register) in all {
            self.put_into(node, register);
        }
    }

    /// Decides where numbers are after a question, when its first way ends.
    fn settle(&mut self, branch: &Branch) -> After {
        let mut registers: Vec<(Node, u8)> = Vec::new();
        let written = &self.places.written[branch.written..];
        for (node, register) in branch.before.each() {
            if !self.uses.is_used_after(node, branch.end) {
                continue;
            }
            // Who is in memory on all ways need not come back.
            let is_elsewhere = self.memory(node).is_some() && !written.contains(&node);
            if self.places.register(node) == Some(register) || !is_elsewhere {
                registers.push((node, register));
            }
        }
        let mut taken: u32 = 0;
        for &(node, register) in &registers {
            if !self.is_in_mask_register(node) {
                taken |= 1 << register;
            }
        }
        let mut on_stack = Vec::new();
        for &(to, value) in &branch.assigned {
            if !self.uses.is_used_after(to, branch.end) {
                continue;
            }
            let is_free = |&r: &u8| taken & 1 << r == 0;
            let register = self
                .places
                .register(value)
                .filter(is_free)
                .or_else(|| (0..self.asm.registers as u8).find(is_free));
            match register {
                Some(register) => {
                    taken |= 1 << register;
                    registers.push((to, register));
                }
                None => on_stack.push(to),
            }
        }
        After { registers, on_stack }
    }

    /// Numbers that the next step begins with go to the registers in which it finds them; from where
    /// they are, or else from memory.
    pub fn carry_over(&mut self, carried: &[Carried]) {
        let mut moves = Vec::new();
        let mut loads = Vec::new();
        for &Carried { load, end, register, slot } in carried {
            let to = self.name(load, register);
            match self.places.register(end) {
                Some(from) => moves.push((to, self.name(end, from))),
                None => loads.push((load, to, self.slot(slot))),
            }
        }
        self.move_all(moves, &loads);
    }

    /// A step begins with these in registers.
    pub fn begin_with(&mut self, carried: &[Carried]) {
        let all: Vec<(Node, u8)> = carried.iter().map(|c| (c.load, c.register)).collect();
        self.set_holders(&all);
    }

    /// Brings numbers to where they are after a question.
    fn move_to(&mut self, branch: &Branch, after: &After) {
        let value_of = |node: Node| {
            let assigned = branch.assigned.iter().find(|&&(to, _)| to == node);
            assigned.map_or(node, |&(_, value)| value)
        };
        // Registers are read before they are written: first what goes to the stack, then what goes
        // from register to register, then what comes from memory.
        for &node in &after.on_stack {
            let to = self.home(node);
            let Some(from) = self.source_of(value_of(node)) else {
                self.miss();
                return;
            };
            if from == Source::Memory(to) {
                continue;
            }
            let scratch = match self.is_scalar(node) {
                true => first_of(self.asm.scratch()),
                false => self.asm.scratch(),
            };
            self.asm.load(scratch, from);
            self.asm.store(to, scratch);
        }
        let mut moves: Vec<(Register, Register)> = Vec::new();
        let mut loads: Vec<(Node, Register, Memory)> = Vec::new();
        for &(node, register) in &after.registers {
            let to = self.name(node, register);
            match self.source_of(value_of(node)) {
                Some(Source::Register(from)) => moves.push((to, from)),
                Some(Source::Memory(from)) => loads.push((node, to, from)),
                None => self.miss(),
            }
        }
        self.move_all(moves, &loads);
    }

    /// Moves between registers, whoever is in the way of whom; then loads.
    fn move_all(&mut self, moves: Vec<(Register, Register)>, loads: &[(Node, Register, Memory)]) {
        let place = |register: Register| match register.is_k() {
            true => register as u32,
            false => index_of(register),
        };
        // To all lanes of a register from its first: whoever else reads that finds it there.
        let (here, mut moves): (Vec<_>, Vec<_>) =
            moves.into_iter().partition(|&(to, from)| place(to) == place(from));
        for (to, from) in here {
            self.copy(to, from);
        }
        while !moves.is_empty() {
            let is_free = |&(to, _): &(Register, Register)| {
                moves.iter().all(|&(_, from)| place(from) != place(to))
            };
            match moves.iter().position(is_free) {
                Some(at) => {
                    let (to, from) = moves.swap_remove(at);
                    self.copy(to, from);
                }
                None => {
                    // Around in a circle: one steps aside, with all that it holds.
                    let (_, from) = moves[0];
                    let aside = match from.is_k() {
                        true => MASK_SCRATCH,
                        false => self.asm.scratch(),
                    };
                    let whole = match from.is_k() {
                        true => from,
                        false => self.kind().register(index_of(from) as u8),
                    };
                    self.copy(aside, whole);
                    for other in moves.iter_mut().filter(|other| place(other.1) == place(from)) {
                        other.1 = match other.1 == whole {
                            true => aside,
                            false => first_of(aside),
                        };
                    }
                }
            }
        }
        for &(node, to, from) in loads {
            match self.is_in_mask_register(node) {
                true => self.asm.read(Code::VEX_Kmovb_kr_km8, to, from),
                false => self.asm.load(to, Source::Memory(from)),
            }
        }
    }

    fn copy(&mut self, to: Register, from: Register) {
        match from.is_k() {
            true => self.asm.two(Code::VEX_Kmovb_kr_km8, to, from),
            false => self.asm.load(to, Source::Register(from)),
        }
    }
}

fn held_by(holders: &Holders, is_mask: bool, register: u8) -> Node {
    match is_mask {
        true => holders.masks[register as usize],
        false => holders.numbers[register as usize],
    }
}
