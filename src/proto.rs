//! The newest record as prost sees it: for the generator of test fleets, and for tests that compare the decoder with it.
//!
//! The ingest path uses none of this: it reads records by the definitions.

#[allow(clippy::all, clippy::pedantic, missing_docs)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/xtcp_flat_record.v1.rs"));
}

pub use generated::{Envelope, XtcpFlatRecord};

/// The descriptor set of `proto/`, encoded.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/xtcp_flat_record.descriptors"));

#[cfg(test)]
mod tests {
    use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

    use super::*;
    use crate::epoch::{self, ColumnType, ProtoType};

    fn record() -> MessageDescriptor {
        let pool = DescriptorPool::decode(DESCRIPTORS).expect("a descriptor set");
        pool.get_message_by_name("xtcp_flat_record.v1.XtcpFlatRecord").expect("the record")
    }

    /// The labels of an enum as a column shows them: `LOCALITY_SELF` of `Locality` is `self`.
    fn labels(field: &FieldDescriptor) -> Vec<(String, i32)> {
        let Kind::Enum(kind) = field.kind() else { panic!("{} is no enum", field.name()) };
        let common = kind.get_value(0).expect("proto3 has a 0").name().replace("UNSPECIFIED", "");
        let label = |name: &str| name.strip_prefix(&common).expect("a common prefix").to_lowercase();
        let mut labels: Vec<_> = kind.values().map(|v| (label(v.name()), v.number())).collect();
        labels.sort_by_key(|(_, number)| *number);
        labels
    }

    #[test]
    fn the_proto_and_the_newest_epoch_agree() {
        let registry = epoch::load::embedded().expect("sound definitions");
        let newest = registry.newest();
        let layout = newest.layouts.last().expect("a default layout");
        let mut fields: Vec<FieldDescriptor> = record().fields().collect();
        fields.sort_by_key(FieldDescriptor::number);
        let from_proto: Vec<_> = fields.iter().map(|f| (f.number(), f.name().to_owned(), type_name(f))).collect();
        let from_epoch: Vec<_> = layout
            .fields
            .iter()
            .map(|f| (f.number, newest.columns[f.column].name.clone(), f.proto.name().to_owned()))
            .collect();
        for (of_proto, of_epoch) in from_proto.iter().zip(&from_epoch) {
            assert_eq!(of_proto, of_epoch);
        }
        assert_eq!(from_proto.len(), from_epoch.len());
        assert_eq!(from_proto.len(), newest.columns.len(), "every column has a field");
        for (field, defined) in fields.iter().zip(&layout.fields) {
            assert!(!field.is_list(), "{} is repeated", field.name());
            let ColumnType::Enum8(column) = &newest.columns[defined.column].column_type else { continue };
            // Protobuf needs a name for 0 that a column may leave empty.
            let column = column.iter().map(|(label, number)| (label.clone(), i32::from(*number)));
            let zero =
                |(l, n): (String, i32)| if n == 0 && l.is_empty() { ("unspecified".to_owned(), n) } else { (l, n) };
            assert_eq!(labels(field), column.map(zero).collect::<Vec<_>>(), "{}", field.name());
        }
    }

    fn type_name(field: &FieldDescriptor) -> String {
        match field.kind() {
            Kind::Enum(_) => ProtoType::Enum.name().to_owned(),
            kind => format!("{kind:?}"),
        }
    }

    #[test]
    fn numbers_and_names_of_earlier_epochs_are_reserved() {
        let record = record();
        let registry = epoch::load::embedded().expect("sound definitions");
        let numbers: Vec<u32> = record.reserved_ranges().flatten().collect();
        let names: Vec<&str> = record.reserved_names().collect();
        let newest = registry.newest();
        let layout = newest.layouts.last().expect("an epoch has a layout");
        // The numbers of pre-versioning daemons have all been given anew.
        for epoch in registry.epochs().iter().filter(|e| e.number >= 1) {
            for field in &epoch.layouts.last().expect("an epoch has a layout").fields {
                let name = epoch.columns[field.column].name.as_str();
                assert!(newest.column(name).is_some() != names.contains(&name), "{name} is a column or reserved");
                let used = layout.fields.iter().any(|f| f.number == field.number);
                assert!(used != numbers.contains(&field.number), "{} is a field or reserved", field.number);
            }
        }
        for number in [1011, 1012, 1018, 1019] {
            assert!(numbers.contains(&number), "{number} was in use before");
        }
    }

    #[test]
    fn an_envelope_holds_records_in_field_10() {
        let pool = DescriptorPool::decode(DESCRIPTORS).expect("a descriptor set");
        let envelope = pool.get_message_by_name("xtcp_flat_record.v1.Envelope").expect("the envelope");
        let fields: Vec<_> = envelope.fields().map(|f| (f.number(), f.is_list())).collect();
        assert_eq!(fields, [(10, true)]);
    }

    #[test]
    fn what_the_kernel_reports_names_its_source() {
        let text = include_str!("../proto/xtcp_flat_record.proto");
        let mut seen = 0;
        for line in text.lines().filter(|l| l.starts_with("  ") && l.contains(" = ")) {
            let (declaration, comment) = line.split_once(';').expect("a declaration ends");
            let number: u32 = declaration.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number");
            if number >= 1000 {
                seen += 1;
                let source = comment.trim_start().strip_prefix("// ").unwrap_or("");
                let named =
                    source.contains('.') || source.starts_with("INET_DIAG_") || source.starts_with("SK_MEMINFO_");
                assert!(named, "no kernel source: {line}");
            }
        }
        let payload = record().fields().filter(|f| f.number() >= 1000).count();
        assert_eq!(seen, payload);
    }
}
