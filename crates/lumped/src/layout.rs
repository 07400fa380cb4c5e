//! Where each number of each component stands in the flat frame.

use fluxline_core::plan::Plan;
use fluxline_core::variables::Entry;

/// A place in the frame.
pub type Place = u32;

/// The block of one component: efforts, flows, displacements, inputs, outputs, states, rates, memory,
/// viscosities, in this order.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// First number.
    pub begin: u32,
    /// Bonds at its ports.
    pub ports: u32,
    /// Inputs.
    pub inputs: u32,
    /// Outputs.
    pub outputs: u32,
    /// States.
    pub states: u32,
    /// Remembered values.
    pub memory: u32,
    /// Its first state among all states.
    pub first_state: u32,
}

impl Block {
    /// Effort at a port.
    pub fn effort(&self, port: usize) -> Place {
        self.begin + port as u32
    }
    /// Flow at a port.
    pub fn flow(&self, port: usize) -> Place {
        self.begin + self.ports + port as u32
    }
    /// Displacement at a port.
    pub fn displacement(&self, port: usize) -> Place {
        self.begin + 2 * self.ports + port as u32
    }
    /// An input.
    pub fn input(&self, index: usize) -> Place {
        self.begin + 3 * self.ports + index as u32
    }
    /// An output.
    pub fn output(&self, index: usize) -> Place {
        self.input(0) + self.inputs + index as u32
    }
    /// A state.
    pub fn state(&self, index: usize) -> Place {
        self.output(0) + self.outputs + index as u32
    }
    /// The rate of a state.
    pub fn rate(&self, index: usize) -> Place {
        self.state(0) + self.states + index as u32
    }
    /// A remembered value.
    pub fn memory(&self, index: usize) -> Place {
        self.rate(0) + self.states + index as u32
    }
    /// Viscosity at a port.
    pub fn viscosity(&self, port: usize) -> Place {
        self.memory(0) + self.memory + port as u32
    }
    /// All of it.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.begin as usize..self.viscosity(self.ports as usize) as usize
    }
}

/// Blocks of all components.
#[derive(Clone, Debug)]
pub struct Layout {
    /// One per component.
    pub blocks: Vec<Block>,
    /// Component and index of every state.
    pub states: Vec<(u32, u32)>,
    /// Numbers in all blocks.
    pub size: u32,
}

impl Layout {
    /// Lays out the components of a plan.
    pub fn of(plan: &Plan) -> Self {
        let (mut blocks, mut states, mut size) = (Vec::new(), Vec::new(), 0);
        for (component, entry) in plan.variables.entries.iter().enumerate() {
            let block = block(entry, size, states.len() as u32);
            size = block.range().end as u32;
            states.extend((0..block.states).map(|index| (component as u32, index)));
            blocks.push(block);
        }
        Self { blocks, states, size }
    }
}

fn block(entry: &Entry, begin: u32, first_state: u32) -> Block {
    let declaration = entry.declaration;
    Block {
        begin,
        ports: entry.bonds.len() as u32,
        inputs: entry.inputs.len() as u32,
        outputs: declaration.outputs.len() as u32,
        states: declaration.states.len() as u32,
        memory: declaration.memory.len() as u32,
        first_state,
    }
}
