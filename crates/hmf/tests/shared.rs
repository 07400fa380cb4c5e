//! All models of the shared collection are read, and all their parameters have values.
//!
//! The collection is looked for in `shared/hopsan` next to the repository, or where `FLUXLINE_SHARED` says.

use fluxline_diagnostics::{Diagnostics, SourceMap};
use fluxline_hmf::hvc::Table;
use fluxline_hmf::{
    Kind, Loaded, Object, ObjectValues, System, SystemValues, Types, evaluate, load_file,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn collection() -> Option<PathBuf> {
    let folder = match std::env::var_os("FLUXLINE_SHARED") {
        Some(folder) => PathBuf::from(folder).join("hopsan"),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/hopsan"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: there is no collection of models at {}", folder.display());
    None
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|other| other == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The types of the catalogue.
struct Catalogue(HashMap<String, HashMap<String, (Kind, String)>>);

impl Catalogue {
    fn read(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join("catalogue.json")).unwrap();
        let catalogue: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut types = HashMap::new();
        for component in catalogue["components"].as_array().unwrap() {
            let mut parameters = HashMap::new();
            for list in ["parameters", "start_values"] {
                for parameter in component[list].as_array().unwrap() {
                    let kind = match parameter["type"].as_str().unwrap() {
                        "double" => Kind::Double,
                        "integer" => Kind::Integer,
                        "bool" => Kind::Bool,
                        "conditional" => Kind::Conditional(100),
                        "filepath" => Kind::FilePath,
                        _ => Kind::Text,
                    };
                    let default = parameter["default"].as_str().unwrap_or("0").to_owned();
                    parameters
                        .insert(parameter["name"].as_str().unwrap().to_owned(), (kind, default));
                }
            }
            types.insert(component["typename"].as_str().unwrap().to_owned(), parameters);
        }
        Catalogue(types)
    }
}

impl Types for Catalogue {
    fn knows(&self, typename: &str) -> bool {
        self.0.contains_key(typename)
    }
    fn kind(&self, typename: &str, parameter: &str) -> Option<Kind> {
        Some(self.0.get(typename)?.get(parameter)?.0)
    }
    fn default(&self, typename: &str, parameter: &str) -> Option<String> {
        Some(self.0.get(typename)?.get(parameter)?.1.clone())
    }
    fn names(&self, typename: &str) -> Vec<String> {
        self.0.get(typename).into_iter().flat_map(|parameters| parameters.keys().cloned()).collect()
    }
}

/// Every parameter that a type has must have got a value.
fn check(system: &System, values: &SystemValues) -> usize {
    let mut count = values.parameters.len();
    assert_eq!(system.objects.len(), values.objects.len());
    for (object, values) in system.objects.iter().zip(&values.objects) {
        count += match (object, values) {
            (Object::Component(_), ObjectValues::Component(values)) => values.len(),
            (Object::System(nested), ObjectValues::System(values)) => check(nested, values),
            (Object::Port(_), ObjectValues::Port) => 0,
            _ => panic!("{} is not what its values are", object.name()),
        };
    }
    count
}

#[test]
fn every_shared_model_is_read_and_evaluated_without_an_error() {
    let Some(folder) = collection() else { return };
    let types = Catalogue::read(&folder);
    let (mut components, mut connections, mut parameters) = (0, 0, 0);
    let models = files(&folder.join("models"), "hmf");
    for path in &models {
        let Loaded { model, sources, mut diagnostics } = load_file(path);
        let model = model.unwrap_or_else(|| panic!("{}", diagnostics.render(&sources, false, 120)));
        let values = evaluate(&model, &types, &[], &mut diagnostics);
        let shown = diagnostics.render(&sources, false, 120);
        assert!(!diagnostics.has_errors(), "{}:\n{shown}", path.display());
        if std::env::var_os("FLUXLINE_SHOW").is_some() {
            println!("{}: {}\n{shown}", path.display(), diagnostics.summary());
        }
        components += model.root.count_components();
        connections += count_connections(&model.root);
        parameters += check(&model.root, &values.root);
    }
    assert!(models.len() >= 73, "{} models", models.len());
    eprintln!(
        "{} models, {components} components, {connections} connections, {parameters} values",
        models.len()
    );
    // Counted by another reader, without those in the undo stacks.
    assert_eq!((components, connections), (1526, 1927));
}

fn count_connections(system: &System) -> usize {
    system.connections.len() + system.systems().map(count_connections).sum::<usize>()
}

#[test]
fn every_shared_validation_is_read_with_its_data_and_names_variables_of_its_model() {
    let Some(folder) = collection() else { return };
    let mut variables = 0;
    let validations = files(&folder.join("models"), "hvc");
    for path in &validations {
        let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
        let read = fluxline_hmf::hvc::load_file(path, &mut sources, &mut found);
        for validation in read.into_iter().flatten() {
            let loaded = load_file(&validation.model);
            let model = loaded.model.unwrap_or_else(|| panic!("{}", validation.model.display()));
            for variable in &validation.variables {
                let table = Table::load_file(&variable.data, &mut sources, &mut found).unwrap();
                let (times, values) = table.series(variable).unwrap();
                assert_eq!(times.len(), values.len());
                let name = model.without_root(&variable.name);
                let (path, _) = name.split_once('#').unwrap();
                let mut system = &model.root;
                for part in path.split('$') {
                    match system.object(part).unwrap_or_else(|| panic!("{}", variable.name)) {
                        Object::System(nested) => system = nested,
                        Object::Component(_) => {}
                        Object::Port(_) => panic!("{}", variable.name),
                    }
                }
                variables += 1;
            }
        }
        assert!(found.is_empty(), "{}", found.render(&sources, false, 100));
    }
    eprintln!("{} validations, {variables} variables", validations.len());
    assert!(validations.len() >= 28 && variables >= 28);
}

#[test]
fn every_shared_model_cut_off_anywhere_is_refused_with_its_line() {
    let Some(folder) = collection() else { return };
    for path in files(&folder.join("models"), "hmf").iter().step_by(6) {
        let bytes = std::fs::read(path).unwrap();
        for tenth in 1..10 {
            let part = bytes[..bytes.len() * tenth / 10].to_vec();
            let loaded = fluxline_hmf::load_bytes("cut.hmf", part, Path::new(""));
            assert!(
                loaded.model.is_none() && loaded.diagnostics.has_errors(),
                "{}",
                path.display()
            );
            let told: &Diagnostics = &loaded.diagnostics;
            assert!(told.render(&loaded.sources, false, 100).contains("cut.hmf:"));
        }
    }
}
