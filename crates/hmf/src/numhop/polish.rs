//! A program in the words that a component takes.

use super::{ONE, Program, Step, TWO};

/// Why a script cannot run in every step of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable<'a> {
    /// A name that is read before it has a value.
    Unknown(&'a str),
    /// The input is assigned.
    AssignedInput,
}

impl Program {
    /// The program in reverse Polish order, as the component `hopsan.SignalNumHopSISO` takes it: `in` and `out` are
    /// its signals, all other variables become `$0`, `$1` and so on.
    pub fn reverse_polish(&self) -> Result<String, Unusable<'_>> {
        let name = |slot: usize| self.variables[slot].as_str();
        let is_signal = |slot: usize| matches!(name(slot), "in" | "out");
        if let Some(unknown) = self.inputs().into_iter().find(|&slot| !is_signal(slot)) {
            return Err(Unusable::Unknown(name(unknown)));
        }
        let mut writes = self.statements.iter().flat_map(|statement| &statement.writes);
        if writes.any(|&slot| name(slot) == "in") {
            return Err(Unusable::AssignedInput);
        }
        let numbers: Vec<usize> = (0..self.variables.len())
            .scan(0, |next, slot| {
                let number = *next;
                *next += usize::from(!is_signal(slot));
                Some(number)
            })
            .collect();
        let word = |slot: u32| match slot as usize {
            slot if is_signal(slot) => name(slot).to_owned(),
            slot => format!("${}", numbers[slot]),
        };
        let mut words = Vec::new();
        // What a statement leaves on the stack is not needed: one that assigns nothing does nothing.
        for statement in self.statements.iter().filter(|statement| !statement.writes.is_empty()) {
            let last = statement.steps.end - 1;
            for index in statement.steps.clone() {
                match self.steps[index] {
                    Step::Constant(value) => words.push(format!("{value:?}")),
                    Step::Load(slot) => words.push(word(slot)),
                    Step::Store(slot) => {
                        words.push(format!("={}", word(slot)));
                        if index != last {
                            words.push(word(slot));
                        }
                    }
                    step => words.push(operation(step).to_owned()),
                }
            }
        }
        Ok(words.join(" "))
    }
}

fn operation(step: Step) -> &'static str {
    match step {
        Step::Add => "+",
        Step::Subtract => "-",
        Step::Or => "|",
        Step::Multiply => "*",
        Step::Divide => "/",
        Step::And => "&",
        Step::Power => "^",
        Step::Less => "<",
        Step::Greater => ">",
        Step::One(function) => ONE[usize::from(function)].0,
        Step::Two(function) => TWO[usize::from(function)].0,
        // The others move values and never come here.
        Step::Negate | Step::Constant(_) | Step::Load(_) | Step::Store(_) => "neg",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(script: &str) -> Result<String, String> {
        let program = Program::parse(script).map_err(|error| error.message)?;
        program.reverse_polish().map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn script_becomes_words_for_a_stack() {
        assert_eq!(
            words("b=2\na = 2 * b # twice\nout = a * in +3").as_deref(),
            Ok("2.0 =$0 2.0 $0 * =$1 $1 in * 3.0 + =out")
        );
        assert_eq!(
            words("in; out = max(in,0.5)^2 - abs(out) < 1 | (-in)").as_deref(),
            Ok("in 0.5 max 2.0 ^ out abs 1.0 < - in neg | =out")
        );
    }

    #[test]
    fn names_without_a_value_and_an_assigned_input_are_found() {
        assert_eq!(words("out = in + gain"), Err("Unknown(\"gain\")".to_owned()));
        assert_eq!(words("in = 3"), Err("AssignedInput".to_owned()));
    }
}
