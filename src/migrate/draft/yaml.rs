//! Columns as a definition file writes them.

use std::fmt::Write as _;

use crate::epoch::{Column, ColumnType, ProtoType};

/// A longer item is written over several lines.
const WIDEST: usize = 150;

/// A column as an item of `columns`, with the fields that it is read from: layout, type and number.
pub(super) fn item(column: &Column, wire: &[(&str, ProtoType, u32)]) -> String {
    let mut parts = vec![("name", column.name.clone()), ("type", column.column_type.to_string())];
    let optional = [("codec", &column.codec), ("default", &column.default), ("was", &column.was)];
    parts.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))));
    let wire: Vec<String> =
        wire.iter().map(|(layout, proto, number)| format!("{layout}: {} {number}", proto.name())).collect();
    let wire = (!wire.is_empty()).then(|| format!("{{ {} }}", wire.join(", ")));
    let flow: Vec<String> = parts
        .iter()
        .map(|(key, value)| format!("{key}: {}", scalar(value, true)))
        .chain(wire.iter().map(|wire| format!("wire: {wire}")))
        .collect();
    let line = format!("  - {{ {} }}\n", flow.join(", "));
    let is_enum = matches!(column.column_type, ColumnType::Enum8(_) | ColumnType::Enum16(_));
    if !is_enum && line.len() <= WIDEST {
        return line;
    }
    let mut text = String::new();
    for (index, (key, value)) in parts.iter().enumerate() {
        let _ = writeln!(text, "{}{key}: {}", if index == 0 { "  - " } else { "    " }, scalar(value, false));
    }
    if let Some(wire) = wire {
        let _ = writeln!(text, "    wire: {wire}");
    }
    text
}

/// A text as YAML writes it, between braces or on a line of its own.
pub(super) fn scalar(text: &str, in_braces: bool) -> String {
    let plain = !text.is_empty()
        && text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && !text.ends_with(' ')
        && !text.contains(": ")
        && !text.contains(" #")
        && !matches!(text, "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n")
        && !(in_braces && text.contains([',', '{', '}', '[', ']']));
    if plain {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A comment over as many lines as it takes.
pub(super) fn comment(text: &str, mark: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = mark.to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > width && line != mark {
            let _ = writeln!(out, "{line}");
            line = mark.to_owned();
        }
        line = format!("{line} {word}");
    }
    let _ = writeln!(out, "{line}");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: &str, codec: Option<&str>, was: Option<&str>) -> Column {
        Column {
            name: name.to_owned(),
            column_type: ColumnType::parse(kind).expect(kind),
            codec: codec.map(str::to_owned),
            default: None,
            was: was.map(str::to_owned),
        }
    }

    #[test]
    fn items_are_written_as_the_repository_writes_them() {
        let time = column("timestamp_ns", "DateTime64(9, 'UTC')", Some("DoubleDelta, LZ4"), None);
        assert_eq!(
            item(&time, &[("e2", ProtoType::Int64, 10)]),
            "  - { name: timestamp_ns, type: \"DateTime64(9, 'UTC')\", codec: \"DoubleDelta, LZ4\", wire: { e2: int64 10 } }\n"
        );
        let labelled = column("place", "Enum8('' = 0, 'it' = 1)", None, Some("locality"));
        assert_eq!(
            item(&labelled, &[("e3", ProtoType::Enum, 310)]),
            "  - name: place\n    type: Enum8('' = 0, 'it' = 1)\n    was: locality\n    wire: { e3: enum 310 }\n"
        );
        let addressed = column("a", "String", Some("ZSTD(1)"), None);
        assert_eq!(
            item(&addressed, &[("e3", ProtoType::Bytes, 7), ("old", ProtoType::Bytes, 8)]),
            "  - { name: a, type: String, codec: ZSTD(1), wire: { e3: bytes 7, old: bytes 8 } }\n"
        );
    }

    #[test]
    fn names_that_yaml_takes_for_something_else_are_quoted() {
        for name in ["y", "no", "null", "true", "on"] {
            assert_eq!(scalar(name, true), format!("\"{name}\""));
        }
        assert_eq!(scalar("hostname", true), "hostname");
        assert_eq!(scalar("a: \"b\"\\", false), "\"a: \\\"b\\\"\\\\\"");
    }

    #[test]
    fn a_long_comment_is_wrapped() {
        assert_eq!(comment("a bb ccc dddd", "  #", 9), "  # a bb\n  # ccc\n  # dddd\n");
        assert_eq!(comment("averyveryverylongword", "#", 5), "# averyveryverylongword\n");
    }
}
