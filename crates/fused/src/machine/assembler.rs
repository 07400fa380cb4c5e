//! Instructions, and places to jump to.
//!
//! Which instruction adds, compares or chooses depends on how many numbers there are side by side:
//! one in XMM registers, four in YMM registers (both AVX), eight in ZMM registers (AVX-512, where masks
//! have registers of their own).

use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

/// How many numbers there are side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One run.
    One,
    /// Four variants.
    Four,
    /// Eight.
    Eight,
}

impl Kind {
    /// How many.
    pub fn lanes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// A register for numbers.
    pub fn register(self, index: u8) -> Register {
        let first = match self {
            Self::One => Register::XMM0,
            Self::Four => Register::YMM0,
            Self::Eight => Register::ZMM0,
        };
        first + u32::from(index)
    }
}

/// Where a number is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Register that holds where an array begins.
    pub base: Register,
    /// Bytes from there.
    pub at: i32,
    /// One number there stands for all lanes.
    pub is_one: bool,
}

impl Memory {
    fn operand(self) -> MemoryOperand {
        let none = Register::None;
        MemoryOperand::new(self.base, none, 1, i64::from(self.at), 1, self.is_one, none)
    }
}

/// A source of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register.
    Register(Register),
    /// A place in memory.
    Memory(Memory),
}

impl Source {
    /// The register, if it is one.
    fn register(self) -> Register {
        match self {
            Self::Register(register) => register,
            Self::Memory(_) => Register::None,
        }
    }
}

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// a + b.
    Add,
    /// a − b.
    Sub,
    /// a·b.
    Mul,
    /// a/b.
    Div,
    /// a < b ? a : b.
    Least,
    /// a > b ? a : b.
    Largest,
    /// The bits of both.
    And,
    /// The bits of either.
    Or,
    /// The bits of one alone.
    Xor,
}

impl Binary {
    fn codes(self) -> [Code; 4] {
        match self {
            Self::Add => [
                Code::VEX_Vaddsd_xmm_xmm_xmmm64,
                Code::EVEX_Vaddsd_xmm_k1z_xmm_xmmm64_er,
                Code::VEX_Vaddpd_ymm_ymm_ymmm256,
                Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
            ],
            Self::Sub => [
                Code::VEX_Vsubsd_xmm_xmm_xmmm64,
                Code::EVEX_Vsubsd_xmm_k1z_xmm_xmmm64_er,
                Code::VEX_Vsubpd_ymm_ymm_ymmm256,
                Code::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er,
            ],
            Self::Mul => [
                Code::VEX_Vmulsd_xmm_xmm_xmmm64,
                Code::EVEX_Vmulsd_xmm_k1z_xmm_xmmm64_er,
                Code::VEX_Vmulpd_ymm_ymm_ymmm256,
                Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
            ],
            Self::Div => [
                Code::VEX_Vdivsd_xmm_xmm_xmmm64,
                Code::EVEX_Vdivsd_xmm_k1z_xmm_xmmm64_er,
                Code::VEX_Vdivpd_ymm_ymm_ymmm256,
                Code::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
            ],
            Self::Least => [
                Code::VEX_Vminsd_xmm_xmm_xmmm64,
                Code::EVEX_Vminsd_xmm_k1z_xmm_xmmm64_sae,
                Code::VEX_Vminpd_ymm_ymm_ymmm256,
                Code::EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae,
            ],
            Self::Largest => [
                Code::VEX_Vmaxsd_xmm_xmm_xmmm64,
                Code::EVEX_Vmaxsd_xmm_k1z_xmm_xmmm64_sae,
                Code::VEX_Vmaxpd_ymm_ymm_ymmm256,
                Code::EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae,
            ],
            Self::And => [
                Code::VEX_Vandpd_xmm_xmm_xmmm128,
                Code::EVEX_Vandpd_xmm_k1z_xmm_xmmm128b64,
                Code::VEX_Vandpd_ymm_ymm_ymmm256,
                Code::EVEX_Vandpd_zmm_k1z_zmm_zmmm512b64,
            ],
            Self::Or => [
                Code::VEX_Vorpd_xmm_xmm_xmmm128,
                Code::EVEX_Vorpd_xmm_k1z_xmm_xmmm128b64,
                Code::VEX_Vorpd_ymm_ymm_ymmm256,
                Code::EVEX_Vorpd_zmm_k1z_zmm_zmmm512b64,
            ],
            Self::Xor => [
                Code::VEX_Vxorpd_xmm_xmm_xmmm128,
                Code::EVEX_Vxorpd_xmm_k1z_xmm_xmmm128b64,
                Code::VEX_Vxorpd_ymm_ymm_ymmm256,
                Code::EVEX_Vxorpd_zmm_k1z_zmm_zmmm512b64,
            ],
        }
    }
}

/// What two numbers are compared for. All say no where one is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// a < b.
    Less,
    /// a ≤ b.
    NotAbove,
    /// a = b.
    Equal,
    /// a < b or b < a.
    Apart,
    /// a > b.
    Above,
}

impl Comparison {
    fn number(self) -> u32 {
        match self {
            Self::Less => 0x11,
            Self::NotAbove => 0x12,
            Self::Equal => 0x00,
            Self::Apart => 0x0c,
            Self::Above => 0x1e,
        }
    }
}

/// How many numbers a register for numbers holds as instructions name it.
fn kind_of(register: Register) -> Kind {
    if register.is_zmm() {
        Kind::Eight
    } else if register.is_ymm() {
        Kind::Four
    } else {
        Kind::One
    }
}

/// The number of a register for numbers, however many it is used for.
pub fn index_of(register: Register) -> u32 {
    let first = match kind_of(register) {
        Kind::One => Register::XMM0,
        Kind::Four => Register::YMM0,
        Kind::Eight => Register::ZMM0,
    };
    register as u32 - first as u32
}

/// The same register for its first number alone.
pub fn first_of(register: Register) -> Register {
    Kind::One.register(index_of(register) as u8)
}

/// Whether a register is one of those that AVX-512 has added.
fn is_added(register: Register) -> bool {
    (Register::XMM16..=Register::XMM31).contains(&register)
}

/// A place to jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// What is written so far.
pub struct Assembler {
    /// How many numbers instructions are for.
    pub kind: Kind,
    /// Registers for numbers, but for the last, which is nobody's for long.
    pub registers: usize,
    encoder: Encoder,
    at: usize,
    /// Where labels are, once they are placed.
    labels: Vec<Option<usize>>,
    /// Ends of jumps, and where they go.
    jumps: Vec<(usize, Label)>,
    /// Ends of instructions whose number is not known when they are written, and that number.
    patches: Vec<(usize, i32)>,
    wrong: Option<IcedError>,
}

impl Assembler {
    /// Nothing yet.
    pub fn new(kind: Kind, registers: usize) -> Self {
        let (labels, jumps, patches) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            kind,
            registers,
            encoder: Encoder::new(64),
            at: 0,
            labels,
            jumps,
            patches,
            wrong: None,
        }
    }

    /// The register that is nobody's for long.
    pub fn scratch(&self) -> Register {
        self.kind.register(self.registers as u8)
    }

    /// Whether masks have registers of their own.
    pub fn has_mask_registers(&self) -> bool {
        self.registers > 16
    }

    /// The code of an instruction: for one number, for one in registers that AVX-512 has added, for four
    /// and for eight.
    fn of(codes: [Code; 4], registers: &[Register]) -> Code {
        let [one, added, four, eight] = codes;
        match kind_of(registers[0]) {
            Kind::One if registers.iter().any(|&register| is_added(register)) => added,
            Kind::One => one,
            Kind::Four => four,
            Kind::Eight => eight,
        }
    }

    /// How long it is.
    pub fn at(&self) -> usize {
        self.at
    }

    fn put(&mut self, instruction: Result<Instruction, IcedError>) {
        let written = instruction.and_then(|i| self.encoder.encode(&i, self.at as u64));
        match written {
            Ok(length) => self.at += length,
            Err(error) => self.wrong = Some(self.wrong.take().unwrap_or(error)),
        }
    }

    /// All bytes, with jumps that know where they go.
    pub fn finish(mut self) -> Result<Vec<u8>, IcedError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let mut bytes = self.encoder.take_buffer();
        for (end, Label(label)) in self.jumps {
            let to = self.labels[label].unwrap_or(end);
            let distance = (to as i64 - end as i64) as i32;
            bytes[end - 4..end].copy_from_slice(&distance.to_le_bytes());
        }
        for (end, number) in self.patches {
            bytes[end - 4..end].copy_from_slice(&number.to_le_bytes());
        }
        Ok(bytes)
    }

    /// The instruction that ends here has this number of four bytes.
    pub fn patch(&mut self, end: usize, number: i32) {
        self.patches.push((end, number));
    }

    /// A label that is placed later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Here it is.
    pub fn place(&mut self, Label(label): Label) {
        self.labels[label] = Some(self.at);
    }

    /// Jumps by a near jump of some kind.
    pub fn jump(&mut self, code: Code, to: Label) {
        self.put(Instruction::with_branch(code, self.at as u64));
        self.jumps.push((self.at, to));
    }

    /// An instruction without operands.
    pub fn bare(&mut self, code: Code) {
        self.put(Ok(Instruction::with(code)));
    }

    /// An instruction on one register.
    pub fn one(&mut self, code: Code, register: Register) {
        self.put(Instruction::with1(code, register));
    }

    /// An instruction on a register and another.
    pub fn two(&mut self, code: Code, to: Register, from: Register) {
        self.put(Instruction::with2(code, to, from));
    }

    /// A register and a number that is part of the instruction.
    pub fn immediate(&mut self, code: Code, to: Register, number: i32) {
        self.put(Instruction::with2(code, to, number));
    }

    /// A register takes an address.
    pub fn address_of(&mut self, to: Register, address: u64) {
        self.put(Instruction::with2(Code::Mov_r64_imm64, to, address));
    }

    /// A register and what is in memory.
    pub fn read(&mut self, code: Code, to: Register, from: Memory) {
        self.put(Instruction::with2(code, to, from.operand()));
    }

    /// What is in memory and a register.
    pub fn write(&mut self, code: Code, to: Memory, from: Register) {
        self.put(Instruction::with2(code, to.operand(), from));
    }

    /// What is in memory and a number that is part of the instruction.
    pub fn compare_memory(&mut self, code: Code, memory: Memory, number: i32) {
        self.put(Instruction::with2(code, memory.operand(), number));
    }

    /// Whether the first bit in memory is set.
    pub fn test_memory(&mut self, memory: Memory) {
        self.put(Instruction::with2(Code::Test_rm8_imm8, memory.operand(), 1));
    }

    /// An array of words: the word at an index.
    pub fn word_at(&mut self, code: Code, to: Register, base: Register, index: Register) {
        let place = MemoryOperand::with_base_index_scale(base, index, 8);
        self.put(Instruction::with2(code, to, place));
    }

    /// Whether the word at an index is 0.
    pub fn compare_word_at(&mut self, base: Register, index: Register) {
        let place = MemoryOperand::with_base_index_scale(base, index, 8);
        self.put(Instruction::with2(Code::Cmp_rm64_imm8, place, 0));
    }

    /// A register, another and a number.
    pub fn multiple(&mut self, to: Register, from: Register, factor: i32) {
        self.put(Instruction::with3(Code::Imul_r64_rm64_imm32, to, from, factor));
    }

    /// An instruction on three: two registers and a source.
    pub fn three(&mut self, code: Code, to: Register, a: Register, b: Source) {
        self.put(match b {
            Source::Register(b) => Instruction::with3(code, to, a, b),
            Source::Memory(b) => Instruction::with3(code, to, a, b.operand()),
        });
    }

    /// Something done with two numbers.
    pub fn binary(&mut self, what: Binary, to: Register, a: Register, b: Source) {
        let code = Self::of(what.codes(), &[to, a, b.register()]);
        self.three(code, to, a, b);
    }

    /// √a.
    pub fn root(&mut self, to: Register, a: Source) {
        match (kind_of(to), a) {
            // The upper half comes from the register that is overwritten, and nobody looks at it.
            (Kind::One, Source::Register(register)) => {
                let code = match is_added(to) || is_added(register) {
                    true => Code::EVEX_Vsqrtsd_xmm_k1z_xmm_xmmm64_er,
                    false => Code::VEX_Vsqrtsd_xmm_xmm_xmmm64,
                };
                self.three(code, to, register, a);
            }
            (Kind::One, Source::Memory(_)) => {
                self.load(to, a);
                self.root(to, Source::Register(to));
            }
            (Kind::Four, _) => self.unary(Code::VEX_Vsqrtpd_ymm_ymmm256, to, a),
            (Kind::Eight, _) => self.unary(Code::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er, to, a),
        }
    }

    /// An instruction with one source.
    pub fn unary(&mut self, code: Code, to: Register, a: Source) {
        self.put(match a {
            Source::Register(a) => Instruction::with2(code, to, a),
            Source::Memory(a) => Instruction::with2(code, to, a.operand()),
        });
    }

    /// The largest whole number not above a register.
    pub fn floor(&mut self, to: Register, a: Register) {
        const DOWN: u32 = 0x09;
        self.put(match kind_of(to) {
            Kind::One if is_added(to) || is_added(a) => {
                let code = Code::EVEX_Vrndscalesd_xmm_k1z_xmm_xmmm64_imm8_sae;
                Instruction::with4(code, to, a, a, DOWN)
            }
            Kind::One => Instruction::with4(Code::VEX_Vroundsd_xmm_xmm_xmmm64_imm8, to, a, a, DOWN),
            Kind::Four => Instruction::with3(Code::VEX_Vroundpd_ymm_ymmm256_imm8, to, a, DOWN),
            Kind::Eight => {
                let code = Code::EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae;
                Instruction::with3(code, to, a, DOWN)
            }
        });
    }

    /// A mask: in a register for masks where there are such, else in one for numbers.
    pub fn compare(&mut self, what: Comparison, to: Register, a: Register, b: Source) {
        let code = match (kind_of(a), self.has_mask_registers()) {
            (Kind::One, true) => Code::EVEX_Vcmpsd_kr_k1_xmm_xmmm64_imm8_sae,
            (Kind::One, false) => Code::VEX_Vcmpsd_xmm_xmm_xmmm64_imm8,
            (Kind::Four, _) => Code::VEX_Vcmppd_ymm_ymm_ymmm256_imm8,
            (Kind::Eight, _) => Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae,
        };
        self.put(match b {
            Source::Register(b) => Instruction::with4(code, to, a, b, what.number()),
            Source::Memory(b) => Instruction::with4(code, to, a, b.operand(), what.number()),
        });
    }

    /// Sets flags by comparing one number with another.
    pub fn set_flags(&mut self, a: Register, b: Source) {
        let code = match is_added(a) || is_added(b.register()) {
            true => Code::EVEX_Vucomisd_xmm_xmmm64_sae,
            false => Code::VEX_Vucomisd_xmm_xmmm64,
        };
        self.unary(code, a, b);
    }

    /// In lanes: takes `yes` where the mask holds, else `no`.
    pub fn choose(&mut self, to: Register, mask: Register, yes: Source, no: Register) {
        match kind_of(to) {
            Kind::Eight => {
                let code = Code::EVEX_Vblendmpd_zmm_k1z_zmm_zmmm512b64;
                let instruction = match yes {
                    Source::Register(yes) => Instruction::with3(code, to, no, yes),
                    Source::Memory(yes) => Instruction::with3(code, to, no, yes.operand()),
                };
                self.put(instruction.map(|mut instruction| {
                    instruction.set_op_mask(mask);
                    instruction
                }));
            }
            Kind::One | Kind::Four => {
                let code = Code::VEX_Vblendvpd_ymm_ymm_ymmm256_ymm;
                self.put(match yes {
                    Source::Register(yes) => Instruction::with4(code, to, no, yes, mask),
                    Source::Memory(yes) => Instruction::with4(code, to, no, yes.operand(), mask),
                });
            }
        }
    }

    /// A register takes a number: of one that is used for more numbers the first, or one for all lanes.
    pub fn load(&mut self, to: Register, from: Source) {
        let from = match from {
            Source::Register(from) if kind_of(to) == Kind::One => Source::Register(first_of(from)),
            Source::Register(from) if kind_of(from) == Kind::One => return self.spread(to, from),
            from => from,
        };
        let is_added = is_added(to) || is_added(from.register());
        let code = match (from, kind_of(to)) {
            (Source::Register(from), _) if from == to => return,
            (Source::Register(_), Kind::One) if is_added => Code::EVEX_Vmovapd_xmm_k1z_xmmm128,
            (Source::Register(_), Kind::One) => Code::VEX_Vmovapd_xmm_xmmm128,
            (Source::Register(_), Kind::Four) => Code::VEX_Vmovapd_ymm_ymmm256,
            (Source::Register(_), Kind::Eight) => Code::EVEX_Vmovapd_zmm_k1z_zmmm512,
            (Source::Memory(_), Kind::One) if is_added => Code::EVEX_Vmovsd_xmm_k1z_m64,
            (Source::Memory(_), Kind::One) => Code::VEX_Vmovsd_xmm_m64,
            (Source::Memory(Memory { is_one: true, .. }), Kind::Four) => {
                Code::VEX_Vbroadcastsd_ymm_m64
            }
            (Source::Memory(_), Kind::Four) => Code::VEX_Vmovupd_ymm_ymmm256,
            (Source::Memory(Memory { is_one: true, .. }), Kind::Eight) => {
                Code::EVEX_Vbroadcastsd_zmm_k1z_xmmm64
            }
            (Source::Memory(_), Kind::Eight) => Code::EVEX_Vmovupd_zmm_k1z_zmmm512,
        };
        // One number for all lanes is what the instruction itself is for.
        let from = match from {
            Source::Memory(memory) => Source::Memory(Memory { is_one: false, ..memory }),
            register => register,
        };
        self.unary(code, to, from);
    }

    /// Memory takes a number.
    pub fn store(&mut self, to: Memory, from: Register) {
        let codes = [
            Code::VEX_Vmovsd_m64_xmm,
            Code::EVEX_Vmovsd_m64_k1_xmm,
            Code::VEX_Vmovupd_ymmm256_ymm,
            Code::EVEX_Vmovupd_zmmm512_k1z_zmm,
        ];
        let code = Self::of(codes, &[from]);
        self.write(code, to, from);
    }

    /// A number of one run in all lanes.
    pub fn spread(&mut self, to: Register, from: Register) {
        match kind_of(to) {
            Kind::One => self.load(to, Source::Register(from)),
            Kind::Four => self.two(Code::VEX_Vbroadcastsd_ymm_xmm, to, from),
            Kind::Eight => self.two(Code::EVEX_Vbroadcastsd_zmm_k1z_xmmm64, to, from),
        }
    }

    /// The number of the step, or of one ahead of it.
    pub fn step_number(&mut self, to: Register, step: Register, ahead: i32) {
        let place = MemoryOperand::with_base_displ(step, i64::from(ahead));
        self.put(Instruction::with2(Code::Lea_r64_m, Register::RAX, place));
        self.three(Code::VEX_Vxorpd_xmm_xmm_xmmm128, to, to, Source::Register(to));
        let word = Source::Register(Register::RAX);
        self.three(Code::VEX_Vcvtsi2sd_xmm_xmm_rm64, to, to, word);
    }

    /// Where the bits of eight numbers are below others, as whole numbers without sign.
    pub fn below(&mut self, to: Register, a: Register, b: Source) {
        let code = Code::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8;
        self.put(match b {
            Source::Register(b) => Instruction::with4(code, to, a, b, 1),
            Source::Memory(b) => Instruction::with4(code, to, a, b.operand(), 1),
        });
    }

    /// Both masks, or either, of registers for masks.
    pub fn masks(&mut self, code: Code, to: Register, a: Register, b: Register) {
        self.put(Instruction::with3(code, to, a, b));
    }
}
