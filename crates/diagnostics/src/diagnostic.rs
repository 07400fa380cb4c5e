//! One problem: what is wrong, where, why, and what to try.

use std::fmt;

use crate::{Code, Severity, Span, list_names, nearest};

/// A remark on a place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What to say about it; may be empty.
    pub text: String,
}

/// A place in the model, for problems without a line in a file: circuits built by code, failures during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Path of the component, as `boom.cylinder`.
    pub component: Option<String>,
    /// Port of that component.
    pub port: Option<String>,
    /// Parameter, variable or setting; of the component if there is one, of the circuit otherwise.
    pub parameter: Option<String>,
}

impl Place {
    /// A component, by its path.
    pub fn component(path: impl Into<String>) -> Self {
        Place { component: Some(path.into()), ..Place::default() }
    }

    /// A parameter or setting of the circuit itself, as `run.step`.
    pub fn setting(name: impl Into<String>) -> Self {
        Place { parameter: Some(name.into()), ..Place::default() }
    }

    /// Narrows the place to a port.
    pub fn port(mut self, name: impl Into<String>) -> Self {
        self.port = Some(name.into());
        self
    }

    /// Narrows the place to a parameter or variable.
    pub fn parameter(mut self, name: impl Into<String>) -> Self {
        self.parameter = Some(name.into());
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = if self.component.is_some() { "parameter" } else { "setting" };
        let parts = [("component", &self.component), ("port", &self.port), (own, &self.parameter)];
        let mut separator = "";
        for (kind, name) in parts {
            if let Some(name) = name {
                write!(f, "{separator}{kind} `{name}`")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

/// One problem, built step by step:
///
/// ```
/// # use fluxline_diagnostics::{Code, Diagnostic, SourceMap};
/// # let mut sources = SourceMap::new();
/// # let file = sources.add("a.toml", "from = \"pump.outlet\"\nfrom = \"pump.outlet\"");
/// # let (first, second) = (sources.span(file, 7..20), sources.span(file, 28..41));
/// Diagnostic::error(Code::PortConnectedTwice, "`pump.outlet` is connected twice")
///     .at(second, "connected again here")
///     .also(first, "first connected here")
///     .help("name both partners in one connection: to = [\"relief.inlet\", \"valve.p\"]");
/// ```
///
/// It is one pointer wide, so it is a cheap error type for a `Result`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Parts {
    code: Code,
    severity: Severity,
    message: String,
    primary: Option<Label>,
    secondary: Vec<Label>,
    notes: Vec<String>,
    helps: Vec<String>,
    place: Option<Place>,
}

impl Diagnostic {
    /// A problem with the severity that is usual for its code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Diagnostic(Box::new(Parts {
            code,
            severity: code.info().severity,
            message: message.into(),
            primary: None,
            secondary: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
            place: None,
        }))
    }

    /// An error: what was asked for cannot be done.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, message).with_severity(Severity::Error)
    }

    /// A warning: it can be done, but perhaps not as meant.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, message).with_severity(Severity::Warning)
    }

    /// A mere remark. (The name `note` is taken by the line that explains an error.)
    pub fn remark(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, message).with_severity(Severity::Note)
    }

    /// Changes the severity, for example to turn warnings into errors.
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.0.severity = severity;
        self
    }

    /// Points at the culprit. A second call replaces the first.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.0.primary = Some(Label { span, text: text.into() });
        self
    }

    /// Like [`at`](Self::at) where the span may be unknown, as for circuits built by code.
    pub fn at_if(self, span: Option<Span>, text: impl Into<String>) -> Self {
        match span {
            Some(span) => self.at(span, text),
            None => self,
        }
    }

    /// Points at another place that has to do with it.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.0.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Names the component, port or parameter. Shown where no file can be; scripts always get it.
    pub fn on(mut self, place: Place) -> Self {
        self.0.place = Some(place);
        self
    }

    /// Says why.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.0.notes.push(text.into());
        self
    }

    /// Says what to try.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.0.helps.push(text.into());
        self
    }

    /// Adds the help for an unknown name: the nearest valid ones, else all of them if they are few.
    pub fn suggest<'a>(self, name: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        const FEW: usize = 12;
        let valid: Vec<&str> = valid.into_iter().collect();
        let near = nearest(name, valid.iter().copied());
        match (near.is_empty(), valid.len()) {
            (false, _) => self.help(format!("did you mean {}?", list_names(near))),
            (true, 1..=FEW) => self.help(format!("valid here: {}", list_names(valid))),
            _ => self,
        }
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.0.severity
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.0.severity == Severity::Error
    }

    /// What is wrong, in one sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where the culprit is.
    pub fn primary(&self) -> Option<&Label> {
        self.0.primary.as_ref()
    }

    /// Other places that have to do with it.
    pub fn secondary(&self) -> &[Label] {
        &self.0.secondary
    }

    /// Why it is wrong.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// What to try.
    pub fn helps(&self) -> &[String] {
        &self.0.helps
    }

    /// The place in the model.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// Whether the other one tells the user the same thing about the same place.
    pub(crate) fn repeats(&self, other: &Diagnostic) -> bool {
        let span = |diagnostic: &Diagnostic| diagnostic.primary().map(|label| label.span);
        let same_place = span(self) == span(other) && self.place() == other.place();
        same_place
            && (self.code(), self.severity(), self.message())
                == (other.code(), other.severity(), other.message())
    }
}

/// One line, without the place in the file: `error[F0302]: …`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity(), self.code(), self.message())
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_severity_is_the_code_s_unless_said_otherwise() {
        assert_eq!(Diagnostic::new(Code::UnknownKey, "").severity(), Severity::Error);
        assert_eq!(Diagnostic::new(Code::Cavitation, "").severity(), Severity::Warning);
        assert!(Diagnostic::error(Code::Cavitation, "").is_error());
        assert_eq!(Diagnostic::remark(Code::Cavitation, "").severity(), Severity::Note);
    }

    #[test]
    fn a_place_reads_from_the_component_inwards() {
        let place = Place::component("boom.pump").port("outlet").parameter("pressure");
        assert_eq!(place.to_string(), "component `boom.pump`, port `outlet`, parameter `pressure`");
        assert_eq!(Place::setting("run.step").to_string(), "setting `run.step`");
    }

    #[test]
    fn an_unknown_name_lists_the_near_ones_or_the_few() {
        let unknown = |name| Diagnostic::new(Code::UnknownKey, "").suggest(name, ["bore", "rod"]);
        assert_eq!(unknown("bor").helps(), ["did you mean `bore`?"]);
        assert_eq!(unknown("viscosity").helps(), ["valid here: `bore` or `rod`"]);
        let many: Vec<String> = (0..99).map(|i| format!("{i}{i}{i}{i}")).collect();
        let unknown = Diagnostic::new(Code::UnknownKey, "")
            .suggest("viscosity", many.iter().map(String::as_str));
        assert!(unknown.helps().is_empty());
    }

    #[test]
    fn a_diagnostic_is_a_small_error_type() {
        assert_eq!(size_of::<Result<(), Diagnostic>>(), size_of::<usize>());
        let error: Box<dyn std::error::Error> =
            Diagnostic::error(Code::WrongDimension, "no pressure").into();
        assert_eq!(error.to_string(), "error[F0302]: no pressure");
    }
}
