//! Expressions of imported models: any text becomes a program that needs no more stack than it says,
//! or is refused with a place in the text.
#![no_main]

use fluxline_hmf::numhop::Program;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Program::parse(text) {
        Ok(program) => {
            let mut values = vec![0.5; program.variables().len()];
            let mut stack = Vec::with_capacity(program.stack());
            let capacity = stack.capacity();
            let first = program.evaluate(&mut values, &mut stack);
            assert_eq!(stack.capacity(), capacity);
            if program.inputs().is_empty() {
                let again = program.evaluate(&mut values, &mut stack);
                assert_eq!(first.to_bits(), again.to_bits());
            }
        }
        Err(error) => assert!(text.get(error.range).is_some()),
    }
});
