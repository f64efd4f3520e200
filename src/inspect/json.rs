//! The report for programs.

use serde_json::{Map, Number, Value as Json, json};

use super::{Report, Value};

/// Up to here a double holds every integer, and so does every JSON reader.
const EXACT: u64 = 1 << 53;

impl Report {
    /// One object: `rows` with table and the columns that hold no default, `errors` with the diverted pieces.
    ///
    /// Integers are numbers up to 2^53 and strings above; times are strings of ticks (nanoseconds for `timestamp_ns`); enums
    /// are numbers; bytes, and text that is not UTF-8, are `{"hex": …}`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let rows = self.rows.iter().map(|row| {
            let values: Map<String, Json> =
                row.values.iter().map(|(name, value)| (name.clone(), value.to_json())).collect();
            json!({ "table": row.table, "values": values })
        });
        let errors = self.errors.iter().map(|error| {
            json!({
                "reason": error.reason,
                "record": error.record,
                "byte_offset": error.byte_offset,
                "schema_version": error.schema_version,
                "error": error.error,
                "raw": hex(&error.raw),
            })
        });
        json!({ "rows": rows.collect::<Vec<_>>(), "errors": errors.collect::<Vec<_>>() })
    }
}

impl Value {
    fn to_json(&self) -> Json {
        match self {
            Self::Unsigned(number) if *number <= EXACT => Json::from(*number),
            Self::Unsigned(number) => Json::from(number.to_string()),
            Self::Signed(number) | Self::Label(number, _) if number.unsigned_abs() <= EXACT => Json::from(*number),
            Self::Signed(number) | Self::Label(number, _) | Self::Ticks(number, _) => Json::from(number.to_string()),
            // NaN and the infinities are no JSON numbers.
            Self::Float(float) => Number::from_f64(*float).map_or_else(|| Json::from(float.to_string()), Json::Number),
            Self::Text(text) => Json::from(text.clone()),
            Self::Bytes(bytes) => json!({ "hex": hex(bytes) }),
        }
    }
}

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
