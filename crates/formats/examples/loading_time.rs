//! How long it takes to load a circuit of so many components:
//! `cargo run --release -p fluxline-formats --example loading_time -- 10000`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fmt::Write;
use std::time::Instant;

fn main() {
    let most = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let registry = common::registry();
    println!("{:>10} {:>10} {:>10} {:>12}", "components", "KiB", "ms", "µs/component");
    let mut count = 1000;
    while count <= most.unwrap_or(100_000) {
        let text = chain(count);
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            let loaded = fluxline_formats::load_text("chain.toml", &text, ".", &registry, &[]);
            best = best.min(start.elapsed().as_secs_f64());
            assert_eq!(loaded.circuit.map(|circuit| circuit.components.len()), Some(count));
        }
        let per_component = best * 1e6 / count as f64;
        println!(
            "{count:>10} {:>10} {:>10.2} {per_component:>12.2}",
            text.len() / 1024,
            best * 1e3
        );
        count *= 10;
    }
}

/// Orifices in a row, with a line between each two.
fn chain(count: usize) -> String {
    let mut text = String::from("[parameters]\nscale = 2\n");
    for i in 0..count {
        let _ = writeln!(text, "[components.o{i}]\ntype = \"hydraulic.orifice\"");
        let _ = writeln!(text, "area = \"scale * {i} mm^2\"\ndischarge = 0.6");
    }
    for i in 1..count {
        let _ = writeln!(text, "[[connect]]\nfrom = \"o{}.b\"\nto = \"o{i}.a\"", i - 1);
        let _ = writeln!(text, "line = {{ length = \"1.5 m\", bore = \"12 mm\" }}");
    }
    text
}
