//! Numbers in JSON.

use serde_json::{Value, json};

/// A number for JSON, which has no infinity: `"inf"`, `"-inf"` and `"nan"` are texts.
pub fn json_number(value: f64) -> Value {
    match value {
        v if v.is_finite() => json!(v),
        v if v.is_nan() => json!("nan"),
        v if v > 0.0 => json!("inf"),
        _ => json!("-inf"),
    }
}
