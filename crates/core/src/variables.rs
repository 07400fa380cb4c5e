//! Names of everything that can be recorded: `component.port.variable` and `component.variable`.

use crate::circuit::port_name;
use crate::declare::{ANY_UNIT, Causality, Declaration, Side};
use crate::domain::{Domain, Role};
use crate::number::Num;
use crate::settings::Convention;
use crate::state::State;
use std::collections::HashMap;

/// Where a variable is found in the state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// Which array, and where in it.
    pub at: Location,
    /// +1 or −1: from the engine's sign to the user's.
    pub sign: f64,
}

/// A place in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// A number of a bond.
    Bond(u32, Role),
    /// A signal.
    Signal(u32),
    /// A state of a component.
    State(u32),
}

impl Slot {
    /// The variable's value.
    #[inline]
    pub fn read<T: Num>(&self, state: &State<T>) -> T {
        self.read_plain(state) * self.sign
    }

    /// The number in the state that the variable is, whatever its sign.
    #[inline]
    pub fn read_plain<T: Num>(&self, state: &State<T>) -> T {
        match self.at {
            Location::Bond(bond, role) => {
                let b = &state.bonds[bond as usize];
                match role {
                    Role::Effort => b.effort,
                    Role::Flow => b.flow,
                    Role::Displacement => b.displacement,
                    Role::Wave => b.wave,
                    Role::Impedance => b.impedance,
                    Role::Dry => b.dry,
                    Role::Temperature => state
                        .line_temperature
                        .get(bond as usize)
                        .copied()
                        .unwrap_or(T::of(f64::NAN)),
                }
            }
            Location::Signal(signal) => state.signals[signal as usize],
            Location::State(index) => state.states[index as usize],
        }
    }
}

/// A recordable variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Full name.
    pub name: String,
    /// SI unit.
    pub unit: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Where it is.
    pub slot: Slot,
    /// Recorded when the file does not say what to record.
    pub by_default: bool,
}

/// What the table of variables knows of a component.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Full name.
    pub name: String,
    /// Declaration.
    pub declaration: &'static Declaration,
    /// Bond of each connection, in wiring order.
    pub bonds: Box<[u32]>,
    /// How many of them each declared port has.
    pub places: Box<[usize]>,
    /// Signal of each input.
    pub inputs: Box<[u32]>,
    /// Where its outputs are visible to others.
    pub outputs: u32,
    /// Where its outputs are written: the same for signals; others see those of C- and Q-components
    /// one step later, but what is recorded is of the present step.
    pub written: u32,
    /// Where its states begin.
    pub states: u32,
    /// Size of its block of states, rates, memory and history.
    pub block: u32,
    /// An inserted line: not recorded unless asked for.
    pub inserted: bool,
}

impl Entry {
    /// Declared port and place of a bond, in wiring order.
    pub fn port_of(&self, bond: usize) -> (usize, u32) {
        let mut place = bond;
        for (port, &count) in self.places.iter().enumerate() {
            if place < count {
                return (port, place as u32 + 1);
            }
            place -= count;
        }
        (self.places.len() - 1, 1)
    }

    /// The first bond of a port, in wiring order.
    pub fn first_bond(&self, port: usize) -> usize {
        self.places[..port].iter().sum()
    }

    /// The sign that turns a bond's flow and displacement into what users see at a port.
    pub fn flow_sign(&self, port: usize) -> f64 {
        let declared = &self.declaration.ports[port];
        let is_c = self.declaration.causality == Causality::C;
        match (declared.domain.is_mechanical(), is_c, declared.side) {
            // along the axis: out of a body's front end, into a spring's rear end
            (true, false, Side::B) | (true, true, Side::A) => 1.0,
            (true, false, Side::A) | (true, true, Side::B) => -1.0,
            // into the component
            (false, true, _) => 1.0,
            (false, false, _) => -1.0,
        }
    }

    /// All its variables under Hopsan's names and with its signs: `component#port#variable`, with
    /// `$` behind the names of sub-systems. A signal's variable is called `Value`.
    fn hopsan_variables(&self) -> Vec<Variable> {
        let mut all = Vec::new();
        let name = self.name.replace('.', "$");
        for bond in 0..self.bonds.len() {
            let (port, place) = self.port_of(bond);
            let declared = &self.declaration.ports[port];
            let number = if declared.many { format!("_{place}") } else { String::new() };
            for variable in declared.domain.hopsan_variables() {
                let at = Location::Bond(self.bonds[bond], variable.role);
                all.push(Variable {
                    name: format!("{name}#{}{number}#{}", declared.name, variable.name),
                    unit: variable.unit,
                    meaning: declared.meaning,
                    slot: Slot { at, sign: 1.0 },
                    // All that a node holds, as Hopsan logs it; oil's temperature never changes.
                    by_default: declared.domain != Domain::Hydraulic
                        || !matches!(variable.role, Role::Displacement | Role::Dry),
                });
            }
        }
        let mut push = |variable: &str, unit, meaning, at, by_default: bool| {
            all.push(Variable {
                name: format!("{name}#{variable}#Value"),
                unit: if unit == ANY_UNIT { "1" } else { unit },
                meaning,
                slot: Slot { at, sign: 1.0 },
                by_default,
            });
        };
        for (i, o) in self.declaration.outputs.iter().enumerate() {
            push(o.name, o.unit, o.meaning, Location::Signal(self.written + i as u32), true);
        }
        for (i, (_, p)) in self.declaration.inputs().enumerate() {
            // An input that nothing drives has a place of its own before the outputs.
            let own = (self.outputs + i as u32).wrapping_sub(self.inputs.len() as u32);
            let is_driven = self.inputs[i] != own;
            push(p.name, p.unit, p.meaning, Location::Signal(self.inputs[i]), is_driven);
        }
        all
    }

    /// All its variables.
    pub fn variables(&self, of: &Variables) -> Vec<Variable> {
        if of.convention == Convention::Hopsan {
            return self.hopsan_variables();
        }
        let carries_temperature = of.carries_temperature;
        let mut all = Vec::new();
        let name = &self.name;
        for bond in 0..self.bonds.len() {
            let (port, place) = self.port_of(bond);
            let declared = &self.declaration.ports[port];
            if declared.observes {
                continue;
            }
            for variable in declared.domain.variables() {
                let sign = match variable.role {
                    Role::Flow | Role::Displacement => self.flow_sign(port),
                    _ => 1.0,
                };
                let by_default = match variable.role {
                    Role::Effort | Role::Flow | Role::Displacement => true,
                    Role::Temperature => carries_temperature,
                    Role::Wave | Role::Impedance | Role::Dry => false,
                };
                if variable.role == Role::Temperature && !carries_temperature {
                    continue;
                }
                all.push(Variable {
                    name: format!("{name}.{}.{}", port_name(declared, place), variable.name),
                    unit: variable.unit,
                    meaning: declared.meaning,
                    slot: Slot { at: Location::Bond(self.bonds[bond], variable.role), sign },
                    by_default: by_default && !self.inserted,
                });
            }
        }
        let mut push = |variable: &str, unit, meaning, at, by_default: bool| {
            all.push(Variable {
                name: format!("{name}.{variable}"),
                unit: if unit == ANY_UNIT { "1" } else { unit },
                meaning,
                slot: Slot { at, sign: 1.0 },
                by_default: by_default && !self.inserted,
            });
        };
        for (i, s) in self.declaration.states.iter().enumerate() {
            push(s.name, s.unit, s.meaning, Location::State(self.states + i as u32), true);
        }
        for (i, o) in self.declaration.outputs.iter().enumerate() {
            push(o.name, o.unit, o.meaning, Location::Signal(self.written + i as u32), true);
        }
        for (i, (_, p)) in self.declaration.inputs().enumerate() {
            push(p.name, p.unit, p.meaning, Location::Signal(self.inputs[i]), false);
        }
        all
    }
}

/// Everything that can be recorded. Names are made when asked for: a large circuit has millions.
#[derive(Debug)]
pub struct Variables {
    /// One entry per component.
    pub entries: Vec<Entry>,
    /// Components by name.
    pub by_name: HashMap<String, usize>,
    /// Oil carries its temperature.
    pub carries_temperature: bool,
    /// Whose names and signs.
    pub convention: Convention,
    /// What sub-circuits offer: the name, the component, and what it is there.
    pub offers: HashMap<String, (usize, &'static str)>,
}

impl Variables {
    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = Variable> + '_ {
        self.entries.iter().flat_map(|e| e.variables(self))
    }

    /// One variable by its full name. `component.out.value` is accepted for `component.out`.
    pub fn find(&self, name: &str) -> Option<Variable> {
        if self.convention == Convention::Hopsan {
            return self.find_as_hopsan(name);
        }
        let name = name.strip_suffix(".value").unwrap_or(name);
        name.rmatch_indices('.').find_map(|(dot, _)| {
            let entry = &self.entries[*self.by_name.get(&name[..dot])?];
            entry.variables(self).into_iter().find(|v| v.name == name)
        })
    }

    /// `component#port#variable`, also where the component is a sub-system.
    fn find_as_hopsan(&self, name: &str) -> Option<Variable> {
        let (component, rest) = name.split_once('#')?;
        let component = component.replace('$', ".");
        if let Some(&index) = self.by_name.get(&component) {
            return self.entries[index].variables(self).into_iter().find(|v| v.name == name);
        }
        let (port, variable) = rest.split_once('#')?;
        let &(index, part) = self.offers.get(&format!("{component}.{port}"))?;
        let inner = self.entries[index].name.replace('.', "$");
        // Of a port that takes many, the first.
        let wanted = [format!("{inner}#{part}#{variable}"), format!("{inner}#{part}_1#{variable}")];
        let all = self.entries[index].variables(self);
        let found = all.into_iter().find(|v| wanted.contains(&v.name))?;
        Some(Variable { name: name.to_owned(), ..found })
    }

    /// The first effort variable of a domain is what "pressure" of a component without a port
    /// means to most users: names close to an unknown one.
    pub fn suggestions(&self, name: &str) -> Vec<String> {
        // Models of Hopsan too are asked for in the spelling of circuits.
        let dotted = || {
            let dots = name.rmatch_indices('.').map(|(dot, _)| &name[..dot]);
            dots.chain([name]).find_map(|component| self.by_name.get(component).copied())
        };
        let component = match self.convention {
            Convention::Fluxline => dotted(),
            Convention::Hopsan => {
                let component = name.split('#').next().unwrap_or(name).replace('$', ".");
                self.by_name.get(&component).copied().or_else(dotted)
            }
        };
        match component {
            Some(index) => {
                self.entries[index].variables(self).into_iter().map(|v| v.name).take(12).collect()
            }
            None => {
                let first = name.split(['.', '#']).next().unwrap_or(name);
                fluxline_diagnostics::nearest(first, self.by_name.keys().map(String::as_str))
                    .into_iter()
                    .map(str::to_owned)
                    .collect()
            }
        }
    }
}

/// Unit of an effort, for messages about a bond.
pub fn effort_unit(domain: Domain) -> &'static str {
    domain.variables()[0].unit
}
