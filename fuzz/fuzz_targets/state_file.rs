//! State files: any bytes are read as a state of the circuit, which writes the same bytes again, or
//! refused. The checksum is made right half of the time, so that what is behind it is reached.
#![no_main]

use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use fluxline_formats::state_file::{read_state, write_state};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

const CIRCUIT: &str = r#"
[components.pump]
type = "hydraulic.flow_source"
[components.orifice]
type = "hydraulic.turbulent_orifice"
[components.tank]
type = "hydraulic.tank"
[[connect]]
from = "pump.outlet"
to = "orifice.inlet"
[[connect]]
from = "orifice.outlet"
to = "tank.port"
"#;

static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    let registry: Registry = fluxline_library::registry();
    let loaded = fluxline_formats::load_text("fuzz.toml", CIRCUIT, "", &registry, &[]);
    let planned = Plan::of(&loaded.circuit.expect("a sound circuit"), &registry);
    planned.plan.expect("a sound circuit")
});

/// FNV-1a, as the format has it.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fuzz_target!(|data: (bool, Vec<u8>)| {
    let (repair, mut bytes) = data;
    if repair && bytes.len() >= 8 {
        let content = bytes.len() - 8;
        let sum = checksum(&bytes[..content]).to_le_bytes();
        bytes[content..].copy_from_slice(&sum);
    }
    if let Ok(state) = read_state(&bytes, "fuzz.state", &PLAN) {
        let mut again = Vec::new();
        write_state(&mut again, &PLAN, &state).expect("writes to memory");
        assert_eq!(again, bytes);
    }
});
