//! From nothing to a first plot.

use crate::bench::Bench;

#[test]
fn a_new_circuit_is_sound_and_runs() {
    let bench = Bench::new();
    let said = bench.fluxline(&["new", "servo"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        said.out.contains("fluxline check servo.toml")
            && said.out.contains("fluxline run servo.toml")
    );
    let said = bench.fluxline(&["check", "servo.toml"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let said = bench.fluxline(&["run", "servo.toml"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains('┤'), "a plot: {}", said.out);
}

#[test]
fn nothing_is_overwritten_unasked() {
    let bench = Bench::with("servo.toml", "mine");
    let said = bench.fluxline(&["new", "servo"]);
    assert_eq!(said.code, 3);
    assert!(said.err.contains("--force"), "{}", said.err);
    assert_eq!(bench.read("servo.toml"), "mine");
    assert_eq!(bench.fluxline(&["new", "servo.toml", "--force"]).code, 0);
    assert!(bench.read("servo.toml").len() > 100);
    let said = bench.fluxline(&["new", "x", "--template", "servoo"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("`servo`"), "{}", said.err);
}
