//! Models of other programs.

use crate::session::Failure;
use fluxline_core::circuit::Registry;
use fluxline_diagnostics::Diagnostics;
use fluxline_formats::{Loaded, Override};
use fluxline_hmf::convert::{Converted, Import};
use std::path::Path;

/// Whether a file is a model of Hopsan, by its name.
pub fn is_model(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("hmf"))
}

/// A model as a circuit file, with the files and warnings on the way.
pub fn convert(
    path: &Path,
    registry: &Registry,
    overrides: &[Override],
) -> Result<(Converted, Import), Failure> {
    let mut settings = Vec::new();
    let mut wrong = Diagnostics::new();
    for one in overrides.iter().filter(|one| is_of_model(one)) {
        settings.extend(wrong.take(fluxline_hmf::Override::parse(one.text())));
    }
    let mut import = fluxline_hmf::convert::import(path, registry, &settings);
    import.diagnostics.absorb(wrong);
    match import.converted.take() {
        Some(converted) if !import.diagnostics.has_errors() => Ok((converted, import)),
        _ => Err(Failure { problems: import.diagnostics, sources: import.sources }),
    }
}

/// A model as a circuit.
pub fn load(path: &Path, registry: &Registry, overrides: &[Override]) -> Result<Loaded, Failure> {
    let (converted, import) = convert(path, registry, overrides)?;
    let others: Vec<Override> = overrides.iter().filter(|one| !is_of_model(one)).cloned().collect();
    let name = format!("{} (as a circuit file)", path.display());
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut loaded = fluxline_formats::load_converted(
        import.sources,
        &name,
        &converted.text,
        folder,
        registry,
        &others,
    );
    let mut found = import.diagnostics;
    found.absorb(loaded.diagnostics);
    loaded.diagnostics = found;
    Ok(loaded)
}

/// Whether a setting has a name of the model's own: `Valve#in#Value=0.01`.
fn is_of_model(setting: &Override) -> bool {
    setting.text().split('=').next().is_some_and(|name| name.contains('#'))
}
