//! What a change of a field's type does to values.

use super::difference::Class;
use crate::epoch::ProtoType;

/// The class of a change, and what comes of values.
pub(super) fn change(old: ProtoType, new: ProtoType) -> Option<(Class, &'static str)> {
    use ProtoType as P;
    if old == new {
        return None;
    }
    if old.wire_type() != new.wire_type() {
        return Some((Class::Retyped, "neither can be read as the other"));
    }
    let change = match (old, new) {
        (P::Uint32, P::Uint64 | P::Int64) | (P::Int32, P::Int64) | (P::Sint32, P::Sint64) => {
            (Class::Widened, "the same numbers in more bits")
        }
        (P::Bool, P::Uint32 | P::Uint64 | P::Int32 | P::Int64) => {
            (Class::Widened, "true is 1; an older reader sees true for any number but 0")
        }
        (P::Enum, P::Int32 | P::Int64) => {
            (Class::Widened, "the numbers without their labels; an older reader diverts those that have none")
        }
        (P::Uint64 | P::Int64, P::Uint32 | P::Int32) | (P::Sint64, P::Sint32) => {
            (Class::Narrowed, "of a wider value the low 32 bits are left")
        }
        (P::Uint32 | P::Uint64 | P::Int32 | P::Int64, P::Bool) => (Class::Narrowed, "every number but 0 becomes true"),
        (P::String, P::Bytes) => (Class::Reinterpreted, "the bytes are the same; they need be no text any more"),
        (P::Bytes, P::String) => (Class::Reinterpreted, "the bytes are the same; what is no UTF-8 is no text"),
        (P::Sint32 | P::Sint64, _) | (_, P::Sint32 | P::Sint64) => {
            (Class::Reinterpreted, "zigzag or not: 1 reads as -1, 2 as 1")
        }
        (P::Float | P::Double, _) | (_, P::Float | P::Double) => {
            (Class::Reinterpreted, "a fraction's bits as a whole number, or the other way round")
        }
        _ => (Class::Reinterpreted, "the same bits with or without a sign, or with labels"),
    };
    Some(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_types_has_a_class() {
        for old in ProtoType::ALL {
            for new in ProtoType::ALL {
                let found = change(old, new).map(|(class, _)| class);
                assert_eq!(found.is_none(), old == new, "{} to {}", old.name(), new.name());
                assert_eq!(
                    found == Some(Class::Retyped),
                    old.wire_type() != new.wire_type(),
                    "{} to {}",
                    old.name(),
                    new.name()
                );
                // Whatever is widened one way loses something the other way.
                if found == Some(Class::Widened) {
                    let back = change(new, old).map(|(class, _)| class);
                    assert_ne!(back, Some(Class::Widened), "{} to {}", old.name(), new.name());
                }
            }
        }
    }

    #[test]
    fn the_classes_of_well_known_changes() {
        use ProtoType as P;
        for (old, new, class) in [
            (P::Uint32, P::Uint64, Class::Widened),
            (P::Uint64, P::Uint32, Class::Narrowed),
            (P::Int32, P::Sint32, Class::Reinterpreted),
            (P::Uint32, P::Int32, Class::Reinterpreted),
            (P::Fixed32, P::Sfixed32, Class::Reinterpreted),
            (P::String, P::Bytes, Class::Reinterpreted),
            (P::Double, P::Int64, Class::Retyped),
            (P::Float, P::Double, Class::Retyped),
            (P::Uint32, P::Fixed32, Class::Retyped),
        ] {
            assert_eq!(change(old, new).map(|(class, _)| class), Some(class), "{} to {}", old.name(), new.name());
        }
    }
}
