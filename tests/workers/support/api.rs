//! Compares every request and answer of these tests with the Workers' `openapi.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use super::caller::Answer;

/// Fields that can be wrong in ways that no schema sees: by the clock, or by other items.
const BEYOND_SCHEMAS: [&str; 3] = ["ends_at_ms", "id", "items"];
/// Mistakes in how JSON is written, which no schema sees either.
const BEYOND_JSON: [&str; 2] = ["floating point", "duplicate field"];

static APIS: LazyLock<[Api; 3]> =
    LazyLock::new(|| ["worker", "lottery", "lock-service"].map(Api::read));

struct Api {
    document: Value,
    schemas: Schemas,
    names: BTreeMap<String, SchemaIndex>,
}

/// Checks that the document describes this exchange, and that both sides keep to it.
#[track_caller]
pub(crate) fn describes(method: &str, path: &str, body: &str, answer: &Answer) {
    let is_done = answer.status < 400;
    let code = answer.json["code"].as_str().unwrap_or_default();
    let described = |api: &'static Api| Some((api, api.operation(method, path)?));
    let Some((api, operation)) = APIS.iter().find_map(described) else {
        assert!(!is_done, "{method} {path} is not in openapi.json");
        return;
    };
    let misses_it = ["no_such_route", "method_not_allowed"].contains(&code);
    assert!(!misses_it, "{method} {path} is in openapi.json: {answer:?}");
    if method != "HEAD" {
        api.check_answer(operation, answer);
    }
    if let (Ok(body), Some(schema)) =
        (serde_json::from_str(body), schema_of(&operation["requestBody"]))
    {
        let is_valid = api.check(schema, &body).is_ok();
        assert!(is_valid || !is_done, "{schema} does not allow {body}, and the Worker does");
        let field = answer.json["field"].as_str().unwrap_or_default();
        let detail = answer.json["detail"].as_str().unwrap_or_default();
        let is_beyond = BEYOND_SCHEMAS.iter().any(|beyond| field.starts_with(beyond))
            || BEYOND_JSON.iter().any(|beyond| detail.contains(beyond));
        let is_of_body = code == "invalid_input" && !is_beyond && !path.contains('%');
        assert!(!is_valid || !is_of_body, "{schema} allows {body}: {answer:?}");
    }
}

impl Api {
    fn read(folder: &str) -> Self {
        let path = testkit::paths::root().join(folder).join("openapi.json");
        let text = std::fs::read_to_string(path).expect("an openapi.json");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let mut compiler = Compiler::new();
        let url = format!("http://{folder}/openapi.json");
        compiler.add_resource(&url, document.clone()).expect("an address");
        let mut schemas = Schemas::new();
        let names = document["components"]["schemas"].as_object().expect("schemas");
        let names = names.keys().map(|name| {
            let at = format!("{url}#/components/schemas/{name}");
            (name.clone(), compiler.compile(&at, &mut schemas).expect("a schema"))
        });
        Self { names: names.collect(), schemas, document }
    }

    fn check(&self, schema: &str, value: &Value) -> Result<(), String> {
        let checked = self.schemas.validate(value, self.names[schema]);
        checked.map_err(|error| error.to_string())
    }

    fn operation(&self, method: &str, path: &str) -> Option<&Value> {
        let path = path.split('?').next().unwrap_or_default();
        let method = match method {
            "HEAD" => "get".to_owned(),
            method => method.to_lowercase(),
        };
        let paths = self.document["paths"].as_object().expect("paths");
        let (_, item) = paths.iter().find(|(template, _)| matches(template, path))?;
        item.get(method)
    }

    #[track_caller]
    fn check_answer(&self, operation: &Value, answer: &Answer) {
        let status = answer.status.to_string();
        let answers = &operation["responses"];
        let class = format!("{}XX", &status[..1]);
        let described = answers.get(&status).or_else(|| answers.get(&class));
        let described =
            described.unwrap_or_else(|| panic!("{status} is not described: {answer:?}"));
        let described = match described["$ref"].as_str() {
            Some(reference) => &self.document["components"]["responses"][last(reference)],
            None => described,
        };
        let schema = schema_of(described).expect("every answer has a schema");
        let checked = self.check(schema, &answer.json);
        assert!(checked.is_ok(), "{schema}: {checked:?} in {answer:?}");
    }
}

fn matches(template: &str, path: &str) -> bool {
    let (known, given) = (template.split('/'), path.split('/'));
    known.clone().count() == given.clone().count()
        && known
            .zip(given)
            .all(|(known, given)| known == given || known.starts_with('{') && !given.is_empty())
}

/// The name of a body's schema.
fn schema_of(body: &Value) -> Option<&str> {
    let (_, content) = body["content"].as_object()?.iter().next()?;
    Some(last(content["schema"]["$ref"].as_str()?))
}

fn last(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or_default()
}
