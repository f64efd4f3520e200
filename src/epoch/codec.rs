//! Column codecs in the form in which the server reports them.

use super::ColumnType;

const KNOWN: &str = "LZ4, LZ4HC(level), ZSTD(level), DoubleDelta, Delta(bytes), Gorilla(bytes), T64, NONE";

/// The canonical text of a codec list, with the arguments that the server fills in: `ZSTD` is `ZSTD(1)`.
///
/// # Errors
/// What is wrong with the list, and what is allowed.
pub fn canonical(text: &str, column: &ColumnType) -> Result<String, String> {
    let mut codecs = Vec::new();
    for part in text.split(',').map(str::trim) {
        codecs.push(one(part, column).ok_or_else(|| format!("unknown codec `{part}`; known: {KNOWN}"))?);
    }
    // The server refuses a chain that only transforms and never compresses.
    let last = codecs.last().map_or("", |c| c.split('(').next().unwrap_or(""));
    if !matches!(last, "LZ4" | "LZ4HC" | "ZSTD" | "NONE") {
        return Err(format!("`{text}` doesn't compress; the last codec has to be LZ4, LZ4HC, ZSTD or NONE"));
    }
    Ok(codecs.join(", "))
}

fn one(text: &str, column: &ColumnType) -> Option<String> {
    let (name, level) = match text.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?.trim().parse::<u8>().ok()?)),
        None => (text, None),
    };
    let width = column.width().unwrap_or(1);
    match (name, level) {
        ("LZ4" | "DoubleDelta" | "T64" | "NONE", None) => Some(name.to_owned()),
        ("ZSTD", level) => Some(format!("ZSTD({})", level.unwrap_or(1))),
        ("LZ4HC", level) => Some(format!("LZ4HC({})", level.unwrap_or(0))),
        ("Delta", level) => Some(format!("Delta({})", level.map_or(width, usize::from))),
        ("Gorilla", level) => Some(format!("Gorilla({})", level.map_or(width, usize::from))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_filled_as_the_server_does() {
        for (text, column, expected) in [
            ("LZ4", ColumnType::UInt32, "LZ4"),
            ("ZSTD", ColumnType::String, "ZSTD(1)"),
            ("ZSTD(3)", ColumnType::String, "ZSTD(3)"),
            ("DoubleDelta,LZ4", ColumnType::UInt64, "DoubleDelta, LZ4"),
            ("Delta, ZSTD", ColumnType::UInt32, "Delta(4), ZSTD(1)"),
        ] {
            assert_eq!(canonical(text, &column).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn unknown_and_useless_codecs_are_refused() {
        for (text, why) in [
            ("LZ5", "unknown codec `LZ5`; known: LZ4"),
            ("ZSTD(x)", "unknown codec"),
            ("LZ4(1)", "unknown codec"),
            ("", "unknown codec"),
            ("DoubleDelta", "doesn't compress"),
        ] {
            let error = canonical(text, &ColumnType::UInt64).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
