//! The report for people.

use std::fmt;

use super::{Diverted, Report, Row, Value, json::hex};

/// How many bytes of a diverted piece are shown.
const RAW_SHOWN: usize = 48;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} bytes: {} placed, {} diverted", self.bytes, self.rows.len(), self.errors.len())?;
        for (i, row) in self.rows.iter().enumerate() {
            writeln!(f, "\nrow {i}  {row}")?;
        }
        for error in &self.errors {
            writeln!(f, "\ndiverted  {error}")?;
        }
        for (epoch, number, count) in &self.unknown_fields {
            writeln!(f, "\nunknown field {number} in epoch {epoch}, {count} times: skipped")?;
        }
        for (epoch, count) in &self.not_utf8 {
            writeln!(f, "\ntext that is not UTF-8 in epoch {epoch}, {count} values: kept byte for byte")?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  (layout {}, {} columns set)", self.table, self.layout, self.values.len())?;
        let widest = self.values.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in &self.values {
            write!(f, "\n  {name:widest$}  {value}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diverted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        if let Some(record) = self.record {
            write!(f, "  (record {record})")?;
        }
        write!(f, "\n  {}", self.error)?;
        let shown = &self.raw[..self.raw.len().min(RAW_SHOWN)];
        let more = if shown.len() < self.raw.len() { "…" } else { "" };
        write!(f, "\n  {} bytes from byte {}: {}{more}", self.raw.len(), self.byte_offset, hex(shown))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(number) => write!(f, "{number}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Ticks(ticks, scale) => {
                let nanoseconds = i128::from(*ticks) * 10i128.pow(u32::from(9 - scale.min(&9)));
                match jiff::Timestamp::from_nanosecond(nanoseconds) {
                    Ok(time) => write!(f, "{ticks}  ({time})"),
                    Err(_) => write!(f, "{ticks}"),
                }
            }
            Self::Label(number, label) => write!(f, "{number}  ('{label}')"),
            Self::Float(float) => write!(f, "{float:?}"),
            Self::Text(text) => write!(f, "{}", text.escape_debug()),
            Self::Bytes(bytes) => write!(f, "0x{}", hex(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_dates() {
        assert_eq!(Value::Ticks(0, 0).to_string(), "0  (1970-01-01T00:00:00Z)");
        assert_eq!(Value::Ticks(-1, 9).to_string(), "-1  (1969-12-31T23:59:59.999999999Z)");
        assert_eq!(
            Value::Ticks(1_790_000_000_123_456_789, 9).to_string(),
            "1790000000123456789  (2026-09-21T14:13:20.123456789Z)"
        );
        assert_eq!(Value::Ticks(i64::MAX, 0).to_string(), i64::MAX.to_string());
    }
}
