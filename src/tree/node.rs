//! A YAML document as plain values, each with its line.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::Spanned;

use super::{At, File, Place, Report};

/// A value and its line.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The line, from 1.
    pub line: u64,
    /// The value.
    pub value: Value,
}

/// What YAML can hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Number(i128),
    /// A number with a fraction.
    Float(f64),
    /// Text, quoted or plain.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping in the order of the file.
    Map(Vec<Entry>),
}

/// A key of a mapping and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key; numbers are taken as they are written.
    pub key: String,
    /// The line of the key.
    pub line: u64,
    /// The value.
    pub node: Node,
}

impl Node {
    /// Parses a file. What isn't YAML, or holds a key twice, is reported.
    pub fn parse(file: &File, report: &mut Report) -> Option<Self> {
        // As YAML 1.2 has it: `on`, `no` and `n` are texts, and may be column names.
        let options = serde_saphyr::options! { strict_booleans: true };
        match serde_saphyr::from_str_with_options::<Spanned<Value>>(&file.text, options) {
            Ok(root) => Some(root.into()),
            Err(error) => {
                let line = error.location().map_or(0, |l| l.line());
                let place = Place { file: file.name.clone(), line, field: String::new() };
                // The parser's own words without its picture of the source: one problem is one line here.
                let text = error.without_snippet().to_string();
                report.add(&place, text.split_whitespace().collect::<Vec<_>>().join(" "));
                None
            }
        }
    }

    /// The node as the root of its file.
    #[must_use]
    pub fn root(&self, file: &File) -> At<&Self> {
        At { value: self, place: Place { file: file.name.clone(), line: self.line, field: String::new() } }
    }
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        Self { line: spanned.referenced.line(), value: spanned.value }
    }
}

impl Value {
    /// The value as a message shows what was read.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(value) => format!("`{value}`"),
            Self::Number(value) => format!("`{value}`"),
            Self::Float(value) => format!("`{value}`"),
            Self::Text(value) => format!("`{value}`"),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a mapping".to_owned(),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element::<Spanned<Value>>()? {
            nodes.push(node.into());
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let node = map.next_value::<Spanned<Value>>()?.into();
            entries.push(Entry { line: key.referenced.line(), key: key.value, node });
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Node, String> {
        let file = File { name: "f.yaml".into(), text: text.to_owned() };
        let mut report = Report::default();
        let node = Node::parse(&file, &mut report);
        report.finish(node).map_err(|refused| refused.to_string())
    }

    #[test]
    fn every_value_knows_its_line() {
        let node = parse("# a comment\na: 1\nb:\n  - x\n  - { c: no, 101: \"5\" }\n").expect("YAML");
        let Value::Map(entries) = node.value else { panic!("a mapping") };
        assert_eq!((entries[0].key.as_str(), entries[0].line), ("a", 2));
        assert_eq!(entries[0].node.value, Value::Number(1));
        let Value::List(list) = &entries[1].node.value else { panic!("a list") };
        assert_eq!(list[0], Node { line: 4, value: Value::Text("x".into()) });
        let Value::Map(inner) = &list[1].value else { panic!("a mapping") };
        assert_eq!((list[1].line, inner[1].line, inner[1].key.as_str()), (5, 5, "101"));
        assert_eq!(inner[0].node.value, Value::Text("no".into()), "not a flag");
        assert_eq!(inner[1].node.value, Value::Text("5".into()), "quoted numbers are text");
    }

    #[test]
    fn what_is_no_yaml_is_named_with_its_line() {
        let error = parse("a: 1\nb: [1, 2\nc: 3\n").expect_err("an open list");
        assert!(error.contains("f.yaml:"), "{error}");
        let error = parse("a: 1\na: 2\n").expect_err("a key twice");
        assert!(error.contains("f.yaml:2") && error.to_lowercase().contains("duplicate"), "{error}");
    }
}
