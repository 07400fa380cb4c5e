//! Components that run a script file in every step: the script becomes a parameter.

use super::Writer;
use crate::model::Component;
use crate::numhop::{Program, Unusable};
use crate::xml::read_bytes;
use fluxline_diagnostics::{Code, Diagnostic};
use std::path::Path;

impl Writer<'_> {
    /// The script of a file, beside the model or where the name says, as a component takes it.
    pub(super) fn program(
        &mut self,
        component: &Component,
        file: &str,
        folder: &Path,
    ) -> Option<String> {
        let beside = folder.join(file);
        let path = if beside.is_file() { &beside } else { Path::new(file) };
        let result = read_bytes(path).and_then(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            let wrong =
                |code, what: String| Diagnostic::error(code, format!("the script `{file}` {what}"));
            let program = Program::parse(&text).map_err(|error| {
                let line = 1 + text[..error.range.start.min(text.len())].matches('\n').count();
                wrong(Code::BadExpression, format!("has an error in line {line}: {error}"))
            })?;
            program.reverse_polish().map_err(|error| match error {
                Unusable::Unknown(name) => wrong(
                    Code::UnknownNameInExpression,
                    format!("uses `{name}`, which has no value there"),
                )
                .help("a script knows `in`, `out` and what it has set itself"),
                Unusable::AssignedInput => {
                    wrong(Code::BadExpression, "assigns to `in`, its input".to_owned())
                        .help("use a variable of another name")
                }
            })
        });
        match result {
            Ok(program) => Some(program),
            Err(problem) => {
                let place = format!("`{}` runs this script", component.name);
                self.problems.push(problem.at(component.span, place));
                None
            }
        }
    }
}
