//! Other values for a plan that is there: most of a plan is layout, which variants of a circuit share.

use super::{Plan, prepare, start_value};
use crate::circuit::{Circuit, StartValue};
use crate::component::{Group, Prepared};
use crate::declare::Value;
use crate::step::Phase;

/// A component with its new values, and where it is stepped: rate, phase (S, C, Q), group, member.
struct Renewed {
    ready: Box<dyn Prepared>,
    at: [usize; 4],
}

impl Plan {
    /// Gives components other values of their parameters: the plan becomes what it would be if made
    /// of `circuit`, which must differ from the circuit it was made of in these values alone.
    ///
    /// False, and nothing is changed, where the values contradict each other or ask for another
    /// layout, such as a pipe with a longer delay. Then a plan is to be made anew, which tells why.
    pub fn revalue(&mut self, circuit: &Circuit, components: &[usize]) -> bool {
        let renewed: Option<Vec<Renewed>> =
            components.iter().map(|&component| self.renew(circuit, component)).collect();
        let Some(renewed) = renewed else { return false };
        for Renewed { mut ready, at: [rate, phase, group, member] } in renewed {
            self.phase_mut(rate, phase).change(|groups| {
                ready.replace(groups[group].as_mut(), member);
            });
        }
        for &component in components {
            self.restart(circuit, component);
        }
        self.initial = crate::start::start(self);
        if let Some(thermal) = &mut self.thermal {
            thermal.measure(&self.rates[0].c, &mut self.initial);
        }
        true
    }

    fn renew(&self, circuit: &Circuit, component: usize) -> Option<Renewed> {
        let instance = circuit.components.get(component)?;
        let at = self.place_of(component)?;
        let [rate, phase, group, member] = at;
        let mut driven = vec![false; instance.declaration().inputs().count()];
        for drive in circuit.drives.iter().filter(|drive| drive.component == component) {
            driven[drive.input] = true;
        }
        let places = &self.variables.entries[component].places;
        let ready = prepare(circuit, instance, self.step, rate, places, &driven).ok()?;
        let old = &self.phase(rate, phase)[group];
        ready.is_laid_out_as(old.as_ref(), member).then_some(Renewed { ready, at })
    }

    /// Where a component is stepped; nowhere when it is left out.
    fn place_of(&self, component: usize) -> Option<[usize; 4]> {
        let member_of = |group: &dyn Group<f64>| {
            (0..group.len()).find(|&i| group.wiring(i).component() as usize == component)
        };
        (0..self.rates.len()).flat_map(|rate| (0..3).map(move |phase| (rate, phase))).find_map(
            |(rate, phase)| {
                let groups = self.phase(rate, phase).iter().enumerate();
                let mut members =
                    groups.filter_map(|(g, group)| Some((g, member_of(group.as_ref())?)));
                members.next().map(|(group, member)| [rate, phase, group, member])
            },
        )
    }

    fn phase(&self, rate: usize, phase: usize) -> &Phase<f64> {
        let rate = &self.rates[rate];
        [&rate.s, &rate.c, &rate.q][phase]
    }

    fn phase_mut(&mut self, rate: usize, phase: usize) -> &mut Phase<f64> {
        let rate = &mut self.rates[rate];
        match phase {
            0 => &mut rate.s,
            1 => &mut rate.c,
            _ => &mut rate.q,
        }
    }

    /// What a component's inputs, outputs and states start with, as the plan was laid out.
    fn restart(&mut self, circuit: &Circuit, component: usize) {
        let instance = &circuit.components[component];
        let (declaration, entry) = (instance.declaration(), &self.variables.entries[component]);
        let (signals, states) = (&mut self.blank.signals, &mut self.blank.states);
        // Inputs have a place each before the outputs, whether driven or not.
        let outputs = entry.outputs as usize;
        let first = outputs - declaration.inputs().count();
        for (place, (parameter, _)) in declaration.inputs().enumerate() {
            signals[first + place] = match instance.values[parameter] {
                Value::Number(x) => x,
                _ => 0.0,
            };
        }
        for (place, output) in declaration.outputs.iter().enumerate() {
            signals[outputs + place] = start_value(instance, output.start);
        }
        for start in &instance.starts {
            if let StartValue::Output { output, value } = *start {
                signals[outputs + output] = value;
                signals[entry.written as usize + output] = value;
            }
        }
        let begin = entry.states as usize;
        let own = declaration.states.iter().map(|state| state.start);
        for (place, start) in own.enumerate() {
            states[begin + place] = start_value(instance, start);
        }
        let begin = begin + 2 * declaration.states.len();
        for (place, memory) in declaration.memory.iter().enumerate() {
            states[begin + place] = start_value(instance, memory.start);
        }
    }
}
