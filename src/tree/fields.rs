//! Reads the fields of a mapping by name and reports what is absent, of another kind, or left over.

use super::{At, Entry, Node, Place, Report, Value};

/// The fields of one mapping. [`Fields::finish`] reports the keys that nobody asked for.
pub struct Fields<'n> {
    place: Place,
    left: Vec<&'n Entry>,
    asked: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// The fields of a node. One that is no mapping is reported.
    pub fn of(node: At<&'n Node>, report: &mut Report) -> Option<Self> {
        let Value::Map(entries) = &node.value.value else {
            report.add(&node.place, format!("read {}; a mapping is needed here", node.value.value.shown()));
            return None;
        };
        Some(Self { place: node.place, left: entries.iter().collect(), asked: Vec::new() })
    }

    /// Where the mapping stands.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The text under `key` by which the elements of `list` are known. From here on the places of this element's fields
    /// bear it in the stead of the position.
    pub fn known_by(&mut self, key: &'static str, list: &str, report: &mut Report) -> Option<At<String>> {
        let mut name = self.text(key, report)?;
        self.place.field = format!("{list}[{}]", name.value);
        name.place.field = format!("{}.{key}", self.place.field);
        Some(name)
    }

    /// The value of `key`, if it is there.
    pub fn node(&mut self, key: &'static str) -> Option<At<&'n Node>> {
        self.asked.push(key);
        let at = self.left.iter().position(|e| e.key == key)?;
        let entry = self.left.remove(at);
        Some(At { value: &entry.node, place: self.place_of(key, entry.line) })
    }

    /// The value of `key`; its absence is reported.
    pub fn required(&mut self, key: &'static str, report: &mut Report) -> Option<At<&'n Node>> {
        let node = self.node(key);
        if node.is_none() {
            report.add(&self.place, format!("`{key}` is missing"));
        }
        node
    }

    /// A text that has to be there.
    pub fn text(&mut self, key: &'static str, report: &mut Report) -> Option<At<String>> {
        self.required(key, report)?.text(report)
    }

    /// A text that may be absent.
    pub fn optional_text(&mut self, key: &'static str, report: &mut Report) -> Option<At<String>> {
        self.node(key)?.text(report)
    }

    /// A whole number in the range of `T` that has to be there.
    pub fn number<T: TryFrom<i128>>(&mut self, key: &'static str, report: &mut Report) -> Option<At<T>> {
        self.required(key, report)?.number(report)
    }

    /// `true` or `false`, which has to be there.
    pub fn flag(&mut self, key: &'static str, report: &mut Report) -> Option<At<bool>> {
        self.required(key, report)?.flag(report)
    }

    /// The elements of a list that has to be there.
    pub fn list(&mut self, key: &'static str, report: &mut Report) -> Option<At<Vec<At<&'n Node>>>> {
        self.required(key, report)?.list(report)
    }

    /// The entries of a mapping whose keys are data; empty when it is absent.
    pub fn entries(&mut self, key: &'static str, report: &mut Report) -> Vec<(At<String>, At<&'n Node>)> {
        self.node(key).and_then(|node| node.entries(report)).unwrap_or_default()
    }

    /// Reports every key that was not asked for.
    pub fn finish(self, report: &mut Report) {
        for entry in &self.left {
            let place = self.place_of(&entry.key, entry.line);
            report.add(&place, format!("unknown key; known here: {}", self.asked.join(", ")));
        }
    }

    fn place_of(&self, key: &str, line: u64) -> Place {
        let Place { file, field, .. } = &self.place;
        let field = if field.is_empty() { key.to_owned() } else { format!("{field}.{key}") };
        Place { file: file.clone(), line, field }
    }
}

impl<'n> At<&'n Node> {
    /// The node as text; a plain number or flag has to be quoted to be one. Anything else is reported.
    pub fn text(self, report: &mut Report) -> Option<At<String>> {
        match &self.value.value {
            Value::Text(text) => Some(At { value: text.clone(), place: self.place }),
            other => {
                report.add(&self.place, format!("read {}; a text is needed here", other.shown()));
                None
            }
        }
    }

    /// The node as `true` or `false`. Anything else is reported.
    pub fn flag(self, report: &mut Report) -> Option<At<bool>> {
        match &self.value.value {
            Value::Bool(value) => Some(At { value: *value, place: self.place }),
            other => {
                report.add(&self.place, format!("read {}; `true` or `false` is allowed", other.shown()));
                None
            }
        }
    }

    /// The node as a number in the range of `T`. Anything else is reported.
    pub fn number<T: TryFrom<i128>>(self, report: &mut Report) -> Option<At<T>> {
        let number = match &self.value.value {
            Value::Number(number) => T::try_from(*number).ok(),
            _ => None,
        };
        if number.is_none() {
            let kind = std::any::type_name::<T>();
            let text = format!("read {}; a whole number in the range of {kind} is allowed", self.value.value.shown());
            report.add(&self.place, text);
        }
        Some(At { value: number?, place: self.place })
    }

    /// The elements of the node, each in its place. Anything else than a list is reported.
    pub fn list(self, report: &mut Report) -> Option<At<Vec<At<&'n Node>>>> {
        let Value::List(nodes) = &self.value.value else {
            report.add(&self.place, format!("read {}; a list is needed here", self.value.value.shown()));
            return None;
        };
        let at = |(index, node): (usize, &'n Node)| {
            let field = format!("{}[{index}]", self.place.field);
            At { value: node, place: Place { file: self.place.file.clone(), line: node.line, field } }
        };
        Some(At { value: nodes.iter().enumerate().map(at).collect(), place: self.place.clone() })
    }

    /// The entries of the node, keys and values each in their place. Anything else than a mapping is reported.
    pub fn entries(self, report: &mut Report) -> Option<Vec<(At<String>, At<&'n Node>)>> {
        let Value::Map(entries) = &self.value.value else {
            report.add(&self.place, format!("read {}; a mapping is needed here", self.value.value.shown()));
            return None;
        };
        let at = |entry: &'n Entry| {
            let field = format!("{}.{}", self.place.field, entry.key);
            let place = Place { file: self.place.file.clone(), line: entry.line, field };
            (At { value: entry.key.clone(), place: place.clone() }, At { value: &entry.node, place })
        };
        Some(entries.iter().map(at).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::File;

    #[test]
    fn every_fault_of_a_mapping_is_reported_at_once() {
        let file = File { name: "f.yaml".into(), text: "a: 1\nb: 70000\nc: x\nd: [1]\ne: 5\n".into() };
        let mut report = Report::default();
        let node = Node::parse(&file, &mut report).expect("YAML");
        let mut fields = Fields::of(node.root(&file), &mut report).expect("a mapping");
        assert_eq!(fields.text("a", &mut report), None);
        assert_eq!(fields.number::<u16>("b", &mut report), None);
        assert_eq!(fields.flag("c", &mut report), None);
        assert_eq!(fields.list("d", &mut report).expect("a list").value.len(), 1);
        assert_eq!(fields.text("missing", &mut report), None);
        fields.finish(&mut report);
        let refused = report.finish(None::<()>).expect_err("problems");
        assert_eq!(
            refused.to_string(),
            "definitions refused, 5 problems:\n  \
             f.yaml:1: a: read `1`; a text is needed here\n  \
             f.yaml:1: `missing` is missing\n  \
             f.yaml:2: b: read `70000`; a whole number in the range of u16 is allowed\n  \
             f.yaml:3: c: read `x`; `true` or `false` is allowed\n  \
             f.yaml:5: e: unknown key; known here: a, b, c, d, missing"
        );
    }
}
