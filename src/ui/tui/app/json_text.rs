//! JSON for exported files.

use serde::Serialize;

use lockscope_model::report::json;

/// Formats a value for a file. The error is a sentence that says why this is not possible.
pub(super) fn to_json(value: &impl Serialize) -> Result<String, String> {
    json::to_string_pretty(value).map_err(|error| format!("This cannot be written as JSON: {error}."))
}
