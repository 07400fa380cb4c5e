//! What the tests share: a few types, and short ways to a value.
#![allow(dead_code, reason = "each test program uses a part of it")]

use fluxline_diagnostics::{Code, Diagnostics};
use fluxline_hmf::{
    Evaluated, Kind, Loaded, ObjectValues, Override, SystemValues, Types, Value, Values, evaluate,
    load_bytes, load_file, load_text,
};
use std::path::{Path, PathBuf};

pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

/// A handful of types.
pub struct Few;

/// Name, kind and default.
type Known = (&'static str, Kind, &'static str);

const FEW: &[(&str, &[Known])] = &[
    ("SignalGain", &[("k#Value", Kind::Double, "1"), ("in#Value", Kind::Double, "0")]),
    ("SignalConstant", &[("y#Value", Kind::Double, "1")]),
    ("SignalSink", &[]),
    (
        "MechanicForceTransformer",
        &[("F#Value", Kind::Double, "0"), ("P1#CharImpedance", Kind::Double, "0")],
    ),
    ("HydraulicLaminarOrifice", &[("Kc#Value", Kind::Double, "1")]),
    (
        "Kinds",
        &[
            ("d", Kind::Double, "1.5"),
            ("e", Kind::Double, "2.5"),
            ("P1#Pressure", Kind::Double, "1e5"),
            ("i", Kind::Integer, "1"),
            ("b", Kind::Bool, "false"),
            ("s", Kind::Text, ""),
            ("f", Kind::FilePath, ""),
            ("c", Kind::Conditional(3), "0"),
        ],
    ),
];

fn few(typename: &str) -> Option<&'static [Known]> {
    FEW.iter().find(|entry| entry.0 == typename).map(|entry| entry.1)
}

impl Types for Few {
    fn knows(&self, typename: &str) -> bool {
        few(typename).is_some()
    }
    fn kind(&self, typename: &str, parameter: &str) -> Option<Kind> {
        few(typename)?.iter().find(|entry| entry.0 == parameter).map(|entry| entry.1)
    }
    fn default(&self, typename: &str, parameter: &str) -> Option<String> {
        few(typename)?.iter().find(|entry| entry.0 == parameter).map(|entry| entry.2.to_owned())
    }
    fn names(&self, typename: &str) -> Vec<String> {
        few(typename).into_iter().flatten().map(|entry| entry.0.to_owned()).collect()
    }
}

/// A model with its values.
pub struct Run {
    pub loaded: Loaded,
    pub values: Values,
}

impl Run {
    fn of(mut loaded: Loaded, overrides: &[Override]) -> Run {
        let values = match &loaded.model {
            Some(model) => evaluate(model, &Few, overrides, &mut loaded.diagnostics),
            None => Values::default(),
        };
        Run { loaded, values }
    }

    pub fn of_file(name: &str, overrides: &[Override]) -> Run {
        Run::of(load_file(&file(name)), overrides)
    }

    pub fn of_text(text: &str, overrides: &[Override]) -> Run {
        Run::of(load_text("test.hmf", text), overrides)
    }

    pub fn of_bytes(bytes: &[u8]) -> Run {
        Run::of(load_bytes("test.hmf", bytes.to_vec(), Path::new("")), &[])
    }

    /// The parameter `Sub$Component#name` or `self#name`.
    pub fn get(&self, path: &str) -> Option<&Evaluated> {
        let (path, name) = path.split_once('#').unwrap();
        let mut system = &self.loaded.model.as_ref()?.root;
        let mut values: &SystemValues = &self.values.root;
        for part in path.split('$') {
            if part == "self" {
                let all = values.parameters.iter().chain(&values.start_values);
                return { all }.find(|value| value.name == name);
            }
            let index = system.find(part).unwrap_or_else(|| panic!("no {part}"));
            match (&system.objects[index], &values.objects[index]) {
                (fluxline_hmf::Object::System(inner), ObjectValues::System(inside)) => {
                    (system, values) = (inner, inside);
                }
                (_, ObjectValues::Component(parameters)) => {
                    return parameters.iter().find(|value| value.name == name);
                }
                _ => panic!("{part} has no parameters"),
            }
        }
        None
    }

    pub fn number(&self, path: &str) -> f64 {
        match self.get(path).map(|found| &found.value) {
            Some(Value::Number(value)) => *value,
            other => panic!("{path} is {other:?}\n{}", self.shown()),
        }
    }

    pub fn shown(&self) -> String {
        self.loaded.diagnostics.render(&self.loaded.sources, false, 100)
    }

    pub fn codes(&self) -> Vec<Code> {
        codes(&self.loaded.diagnostics)
    }

    /// Checks that there is one diagnostic of this code and that all the parts are in what is shown.
    #[track_caller]
    pub fn tells(&self, code: Code, parts: &[&str]) {
        let shown = self.shown();
        assert!(self.codes().contains(&code), "no {code} in:\n{shown}");
        for part in parts {
            assert!(shown.contains(part), "no {part:?} in:\n{shown}");
        }
    }
}

pub fn codes(found: &Diagnostics) -> Vec<Code> {
    found.iter().map(|diagnostic| diagnostic.code()).collect()
}

/// A model with system parameters and one component `C` of type `Kinds`.
pub fn kinds(version: &str, system: &[(&str, &str, &str)], component: &[(&str, &str)]) -> String {
    let escape = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('"', "&quot;")
            .replace('\n', "&#10;")
    };
    let system: String = system
        .iter()
        .map(|(name, kind, value)| {
            format!("<parameter name=\"{name}\" type=\"{kind}\" value=\"{}\"/>", escape(value))
        })
        .collect();
    let component: String = component
        .iter()
        .map(|(name, value)| format!("<parameter name=\"{name}\" value=\"{}\"/>\n", escape(value)))
        .collect();
    format!(
        "<hopsanmodelfile hopsancoreversion=\"{version}\"><system typename=\"Subsystem\" name=\"M\">\n\
         <parameters>{system}</parameters>\n<objects><component typename=\"Kinds\" name=\"C\">\n\
         <parameters>{component}</parameters></component></objects></system></hopsanmodelfile>"
    )
}
