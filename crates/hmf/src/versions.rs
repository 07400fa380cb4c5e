//! Versions of the program that saved a file, and what has been renamed since.

use std::borrow::Cow;
use std::cmp::Ordering;

/// Whether version `a` is newer than version `b`.
///
/// Versions are `2.14.0`, `2.20.0.20200515.1608` or, in older files, `0.6.0`, `0.6.9b` and `0.7.x_r8493`. In the old
/// form `x` is newer than any number. With equal leading parts, the shorter one is the newer.
pub fn is_newer(a: &str, b: &str) -> bool {
    fn parts(version: &str) -> Vec<&str> {
        version.split('~').next().unwrap_or("").split('.').collect()
    }
    let (first, second) = (parts(a), parts(b));
    for (index, (left, right)) in first.iter().zip(&second).enumerate() {
        match (left.parse::<i64>(), right.parse::<i64>()) {
            (Ok(left), Ok(right)) => match left.cmp(&right) {
                Ordering::Equal if index == 0 && left == 0 => return old_form(a) > old_form(b),
                Ordering::Equal => {}
                unequal => return unequal == Ordering::Greater,
            },
            _ => return old_form(a) > old_form(b),
        }
    }
    first.len() < second.len()
}

/// Generation, major, minor (`x` above all numbers), letter of a hot fix, revision.
fn old_form(version: &str) -> (i64, i64, i64, u8, i64) {
    let mut parts = version.splitn(3, '.');
    let mut number = || leading(parts.next().unwrap_or(""));
    let (generation, major) = (number(), number());
    let rest = version.splitn(3, '.').nth(2).unwrap_or("");
    let (minor, revision) = rest.split_once("_r").unwrap_or((rest, ""));
    let letter = minor.trim_start_matches(|c: char| c.is_ascii_digit()).bytes().next().unwrap_or(0);
    let is_x = minor.starts_with('x');
    (
        generation,
        major,
        if is_x { i64::MAX } else { leading(minor) },
        if is_x { 0 } else { letter },
        if revision.is_empty() { -1 } else { leading(revision) },
    )
}

fn leading(text: &str) -> i64 {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text[..digits].parse().unwrap_or(0)
}

/// What has to be renamed in a file of a certain version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversions {
    /// Saved before the renaming of types, ports and parameters that came with 0.6.
    pub old_names: bool,
    /// Saved before 2.14, when a parameter of the same component could be named without `self.`.
    pub bare_self: bool,
    /// Saved before 0.6, which the command line program of origin refuses.
    pub refused_by_origin: bool,
}

/// Ports: type, old name, new name.
const PORTS: &[(&str, &str, &str)] = &[
    ("SignalConstant", "out", "y"),
    ("MechanicForceTransformer", "in", "F"),
    ("MechanicTranslationalMassWithCoulombFriction", "Pfs", "f_s"),
    ("MechanicTranslationalMassWithCoulombFriction", "Pfk", "f_k"),
    ("MechanicVelocityTransformer", "vin", "v"),
    ("MechanicVelocityTransformer", "xin", "x"),
    ("MechanicTorqueTransformer", "in", "T"),
    ("HydraulicVariableDisplacementMotorQ", "in", "eps"),
    ("HydraulicVariableDisplacementPump", "in", "eps"),
    ("HydraulicPressureSourceC", "In", "p"),
    ("HydraulicMultiPressureSourceC", "In", "p"),
    ("HydraulicPressureSourceQ", "in", "p"),
    ("HydraulicFlowSourceQ", "in", "q"),
    ("HydraulicVolumeMultiPort", "P2", "P1"),
    ("HydraulicVolumeMultiPort", "P3", "P1"),
];

/// Parameters: type, old name, new name.
const PARAMETERS: &[(&str, &str, &str)] = &[
    ("HydraulicVariableDisplacementMotorQ", "epsilon_m", "eps"),
    ("HydraulicVariableDisplacementPump", "epsilon_p", "eps"),
    ("HydraulicLaminarOrifice", "K_c", "Kc"),
];

/// Variables of nodes: old name, new name.
const VARIABLES: &[(&str, &str)] = &[
    ("Angular Velocity", "AngularVelocity"),
    ("Equivalent Inertia", "EquivalentInertia"),
    ("CharImp", "CharImpedance"),
];

impl Conversions {
    /// Those for a file saved by this version of the core; a missing version counts as `0`.
    pub fn of(version: &str) -> Self {
        let is_development = version.starts_with("0.6.x_r") && is_newer("0.6.x_r5500", version);
        Conversions {
            old_names: is_newer("0.6.0", version) || version.contains("0.6.x_r"),
            bare_self: is_newer("2.14.0", version),
            refused_by_origin: is_newer("0.6.0", version) || is_development,
        }
    }

    /// The present name of a component type.
    pub fn type_name(self, name: &str) -> &str {
        match name {
            "MechanicRotationalInertiaWithCoulumbFriction" => {
                "MechanicRotationalInertiaWithCoulombFriction"
            }
            "MechanicTranslationalMassWithCoulumbFriction" if self.old_names => {
                "MechanicTranslationalMassWithCoulombFriction"
            }
            "SignalSource" if self.old_names => "SignalConstant",
            // Three ports of their own; the one that takes many does the same.
            "HydraulicVolume3" if self.old_names => "HydraulicVolumeMultiPort",
            other => other,
        }
    }

    /// The present name of a port; the type by its present name.
    pub fn port<'a>(self, typename: &str, port: &'a str) -> &'a str {
        let known = PORTS.iter().find(|entry| entry.0 == typename && entry.1 == port);
        known.filter(|_| self.old_names).map_or(port, |entry| entry.2)
    }

    /// The present name of a parameter; the type by its present name.
    pub fn parameter<'a>(self, typename: &str, name: &'a str) -> Cow<'a, str> {
        if !self.old_names {
            return Cow::Borrowed(name);
        }
        let name = match name.contains("::") {
            true => Cow::Owned(name.replace("::", "#")),
            false => Cow::Borrowed(name),
        };
        if let Some((port, variable)) = name.split_once('#') {
            let known = VARIABLES.iter().find(|entry| entry.0 == variable);
            let variable = known.map_or(variable, |entry| entry.1);
            return Cow::Owned(plain(&format!("{}#{variable}", self.port(typename, port))));
        }
        if name == "sigma^2" {
            return Cow::Borrowed("std_dev");
        }
        match PARAMETERS.iter().find(|entry| entry.0 == typename && entry.1 == name) {
            Some(entry) => Cow::Borrowed(entry.2),
            None if name.contains([',', '.', ' ']) => Cow::Owned(plain(&name)),
            None => name,
        }
    }
}

fn plain(name: &str) -> String {
    name.replace([',', '.'], "").replace(' ', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_part_by_part() {
        for (newer, older) in [
            ("2.14.0", "2.8.0.20170713.1009"),
            ("2.14.0", "0.8.x_r9223"),
            ("2.20.0.20200515.1608", "2.14.0"),
            ("2.14.0", "2.14.0.20200101.1200"),
            ("0.6.0", "0.5.12"),
            ("0.6.0", "0"),
            ("0.6.x_r7219", "0.6.12"),
            ("0.6.x_r7219", "0.6.x_r5500"),
            ("0.6.9b", "0.6.9"),
            ("0.7.x_r7937", "0.6.x_r9999"),
            ("2.16", "2.15.9"),
        ] {
            assert!(is_newer(newer, older), "{newer} > {older}");
            assert!(!is_newer(older, newer), "not {older} > {newer}");
        }
        assert!(!is_newer("2.14.0", "2.14.0"));
        assert!(!is_newer("", ""));
    }

    #[test]
    fn a_version_says_what_to_convert() {
        let flags = |version| {
            let conversions = Conversions::of(version);
            (conversions.old_names, conversions.bare_self, conversions.refused_by_origin)
        };
        assert_eq!(flags("0"), (true, true, true));
        assert_eq!(flags("0.5.7"), (true, true, true));
        assert_eq!(flags("0.6.x_r5000"), (true, true, true));
        assert_eq!(flags("0.6.x_r7219"), (true, true, false));
        assert_eq!(flags("0.6.0"), (false, true, false));
        assert_eq!(flags("0.7.x_r8493"), (false, true, false));
        assert_eq!(flags("2.20.0.20200515.1608"), (false, false, false));
    }

    #[test]
    fn old_names_of_types_ports_and_parameters_become_the_present_ones() {
        let old = Conversions::of("0.5.0");
        let new = Conversions::of("2.20.0");
        let inertia = "MechanicRotationalInertiaWithCoulumbFriction";
        assert_eq!(new.type_name(inertia), "MechanicRotationalInertiaWithCoulombFriction");
        assert_eq!(old.type_name("SignalSource"), "SignalConstant");
        assert_eq!(new.type_name("SignalSource"), "SignalSource");
        let mass = "MechanicTranslationalMassWithCoulumbFriction";
        assert_eq!(old.type_name(mass), "MechanicTranslationalMassWithCoulombFriction");
        for &(typename, before, after) in PORTS {
            assert_eq!(old.port(typename, before), after);
            assert_eq!(new.port(typename, before), before);
            assert_eq!(
                old.parameter(typename, &format!("{before}#Value")),
                format!("{after}#Value")
            );
        }
        for &(typename, before, after) in PARAMETERS {
            assert_eq!(old.parameter(typename, before), after);
            assert_eq!(new.parameter(typename, before), before);
        }
        assert_eq!(old.parameter("X", "P1::Angular Velocity"), "P1#AngularVelocity");
        assert_eq!(old.parameter("X", "P1#Equivalent Inertia"), "P1#EquivalentInertia");
        assert_eq!(old.parameter("X", "P1::CharImp"), "P1#CharImpedance");
        assert_eq!(old.parameter("X", "sigma^2"), "std_dev");
        assert_eq!(old.parameter("X", "a, b.c"), "a_bc");
        assert_eq!(new.parameter("X", "a, b.c"), "a, b.c");
    }
}
