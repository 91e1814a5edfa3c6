//! The published schema of the run record, and records held to it.

use std::path::Path;
use std::sync::OnceLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use super::root;

/// Where the schema lies in the repository.
pub const SCHEMA: &str = "docs/reference/run-record.schema.json";

/// Whether the schema accepts a record; an error says what it does not accept.
pub fn validate(record: &Value) -> Result<(), String> {
    static COMPILED: OnceLock<(Schemas, SchemaIndex)> = OnceLock::new();
    let (schemas, index) = COMPILED.get_or_init(compile);
    schemas
        .validate(record, *index)
        .map_err(|error| format!("{error:#}"))
}

/// The schema as data.
pub fn schema() -> Value {
    let text = std::fs::read_to_string(root().join(SCHEMA)).expect("the schema is in the tree");
    serde_json::from_str(&text).expect("the schema is JSON")
}

/// Panics where a run with these arguments wrote a record to a file that the schema does not
/// accept.
#[track_caller]
pub fn hold_file(args: &[&str]) {
    let json = args.iter().position(|&arg| arg == "--json");
    let file = json.and_then(|json| args.get(json + 1)).map(Path::new);
    // A device is no file to read back.
    if let Some(file) = file.filter(|file| file.is_file())
        && let Ok(text) = std::fs::read_to_string(file)
    {
        hold_text(&text);
    }
}

/// Panics where a text is a record that the schema does not accept. Texts that are no records pass.
#[track_caller]
pub fn hold_text(text: &str) {
    if text.starts_with('{')
        && let Ok(record) = serde_json::from_str::<Value>(text)
        && record.get("hadal").is_some()
    {
        hold(&record);
    }
}

/// Panics where the schema does not accept a record. The tables of `hadal lab` are no records.
#[track_caller]
pub fn hold(record: &Value) {
    if record.get("lab").is_none()
        && let Err(error) = validate(record)
    {
        panic!("{SCHEMA} does not accept this record: {error}\n{record:#}");
    }
}

fn compile() -> (Schemas, SchemaIndex) {
    let schema = schema();
    let id = schema["$id"]
        .as_str()
        .expect("the schema has an id")
        .to_owned();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler
        .add_resource(&id, schema)
        .expect("an id is a place");
    match compiler.compile(&id, &mut schemas) {
        Ok(index) => (schemas, index),
        Err(error) => panic!("{SCHEMA}: {error:#}"),
    }
}
