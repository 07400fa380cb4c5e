//! Studies with known answers.

pub(super) mod identification_rig;
pub(super) mod sensitivity_rig;
pub(super) mod servo_tuning;

use fluxline_core::circuit::{Circuit, Registry};
use fluxline_diagnostics::{Diagnostics, SourceMap};
use fluxline_formats::Override;
use fluxline_study::ensemble::{Model, Parameter, Refused};
use fluxline_study::file::{Kind, StudyFile, parse};
use std::path::Path;

/// A circuit that is part of the program.
struct Text<'r> {
    registry: &'r Registry,
    name: &'static str,
    text: &'static str,
    set: Vec<Override>,
}

impl Model for Text<'_> {
    fn registry(&self) -> &Registry {
        self.registry
    }

    fn load(&self, overrides: &[Override]) -> Result<Circuit, Refused> {
        let all: Vec<Override> = self.set.iter().chain(overrides).cloned().collect();
        let loaded = fluxline_formats::load_text(self.name, self.text, "", self.registry, &all);
        match loaded.circuit {
            Some(circuit) => Ok(circuit),
            None => Err(Refused { problems: loaded.diagnostics, sources: loaded.sources }),
        }
    }
}

/// A study that is part of the program.
fn study(text: &str, kind: Kind) -> Result<StudyFile, Diagnostics> {
    let mut sources = SourceMap::new();
    let source = sources.add("study", text);
    let (study, problems) = parse(text, source, Path::new(""), kind);
    study.ok_or(problems)
}

fn parameters(study: &StudyFile) -> Vec<Parameter> {
    let parameter =
        |one: &fluxline_study::file::Varied| Parameter::number(&one.name, one.dimension);
    study.variables.iter().map(parameter).collect()
}
