//! The fields of a message, one after the other.

use super::{Fault, FaultKind, read_varint};

/// How deep unknown groups may nest: protobuf's own default.
const MAX_GROUP_DEPTH: usize = 100;

/// Walks over the fields of one protobuf message.
///
/// Offsets in faults count from the start of the bytes that the cursor was made with. After a fault the cursor is spent.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// One field as it stands in the message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RawField<'a> {
    /// The byte at which its key starts.
    pub at: usize,
    /// The field number.
    pub number: u32,
    /// The value.
    pub value: Value<'a>,
}

/// A value by its wire type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64(u64),
    /// Wire type 2.
    Len(&'a [u8]),
    /// Wire types 3 to 4: a whole group, skipped.
    Group,
    /// Wire type 5.
    Fixed32(u32),
}

impl Value<'_> {
    /// The number of the wire type.
    #[must_use]
    pub const fn wire_type(&self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Len(_) => 2,
            Self::Group => 3,
            Self::Fixed32(_) => 5,
        }
    }
}

impl<'a> Cursor<'a> {
    /// A cursor before the first field of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// A cursor over `bytes[at..]` whose offsets still count from the start of `bytes`.
    #[must_use]
    pub const fn starting_at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The byte at which the next field starts.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Reads a varint: one of one or two bytes at once, which nearly all are.
    #[inline]
    fn varint(&mut self) -> Result<u64, Fault> {
        let at = self.at;
        let (value, next) = match self.bytes.get(at..) {
            Some([only, ..]) if *only < 0x80 => (u64::from(*only), at + 1),
            Some([first, last, ..]) if *last < 0x80 => (u64::from(first & 0x7f) | u64::from(*last) << 7, at + 2),
            _ => long_varint(self.bytes, at)?,
        };
        self.at = next;
        Ok(value)
    }

    /// Reads a key: field number and wire type.
    #[inline]
    fn key(&mut self) -> Result<(u32, u8), Fault> {
        let at = self.at;
        let key = self.varint()?;
        let number = key >> 3;
        if number == 0 || number > 0x1fff_ffff {
            return Err(Fault { kind: FaultKind::FieldNumber(number), at });
        }
        Ok((u32::try_from(number).unwrap_or(u32::MAX), (key & 7) as u8))
    }

    #[inline]
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    #[inline]
    fn length_delimited(&mut self, at: usize) -> Result<&'a [u8], Fault> {
        let length = self.varint()?;
        let left = self.bytes.len() - self.at;
        usize::try_from(length)
            .ok()
            .and_then(|n| self.take(n))
            .ok_or(Fault { kind: FaultKind::LengthBeyondEnd { length, left }, at })
    }

    /// Reads a value of a wire type other than a group's end.
    #[inline]
    fn value(&mut self, at: usize, number: u32, wire: u8) -> Result<Value<'a>, Fault> {
        match wire {
            0 => self.varint().map(Value::Varint),
            2 => self.length_delimited(at).map(Value::Len),
            _ => self.rare_value(at, number, wire),
        }
    }

    /// Apart, so that what is read field by field stays short.
    #[inline(never)]
    fn rare_value(&mut self, at: usize, number: u32, wire: u8) -> Result<Value<'a>, Fault> {
        let cut_off = Fault { kind: FaultKind::FixedTruncated, at };
        Ok(match wire {
            1 => {
                let bytes = self.take(8).ok_or(cut_off)?;
                Value::Fixed64(u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
            }
            3 => {
                self.skip_group(at, number)?;
                Value::Group
            }
            4 => return Err(Fault { kind: FaultKind::GroupNotOpen(number), at }),
            5 => {
                let bytes = self.take(4).ok_or(cut_off)?;
                Value::Fixed32(u32::from_le_bytes(bytes.try_into().unwrap_or_default()))
            }
            other => return Err(Fault { kind: FaultKind::NoSuchWireType(other), at }),
        })
    }

    /// Skips to the end of the group whose start was just read.
    fn skip_group(&mut self, at: usize, number: u32) -> Result<(), Fault> {
        let mut open = [0u32; MAX_GROUP_DEPTH];
        open[0] = number;
        let mut depth = 1;
        while depth > 0 {
            let field_at = self.at;
            if field_at == self.bytes.len() {
                return Err(Fault { kind: FaultKind::GroupNotClosed(open[depth - 1]), at });
            }
            match self.key()? {
                (inner, 3) => {
                    if depth == MAX_GROUP_DEPTH {
                        return Err(Fault { kind: FaultKind::GroupTooDeep, at: field_at });
                    }
                    open[depth] = inner;
                    depth += 1;
                }
                (inner, 4) if inner == open[depth - 1] => depth -= 1,
                (inner, wire) => {
                    self.value(field_at, inner, wire)?;
                }
            }
        }
        Ok(())
    }
}

/// Reads a varint of any length, and says what is wrong with one.
#[inline(never)]
fn long_varint(bytes: &[u8], at: usize) -> Result<(u64, usize), Fault> {
    read_varint(bytes, at)
}

impl<'a> Iterator for Cursor<'a> {
    type Item = Result<RawField<'a>, Fault>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let at = self.at;
        let field =
            self.key().and_then(|(number, wire)| Ok(RawField { at, number, value: self.value(at, number, wire)? }));
        if field.is_err() {
            self.at = self.bytes.len();
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(bytes: &[u8]) -> FaultKind {
        Cursor::new(bytes).find_map(Result::err).expect("a fault").kind
    }

    #[test]
    fn reads_every_wire_type() {
        let bytes = [
            0x08, 0x96, 0x01, // 1: varint 150
            0x11, 1, 0, 0, 0, 0, 0, 0, 0, // 2: fixed64
            0x1a, 2, b'h', b'i', // 3: len
            0x23, 0x2b, 0x2c, 0x08, 0x01, 0x24, // 4: group with an empty group 5 and a varint
            0x35, 7, 0, 0, 0, // 6: fixed32
        ];
        let fields: Vec<_> = Cursor::new(&bytes).map(|f| f.map(|f| (f.number, f.value))).collect();
        assert_eq!(
            fields,
            [
                Ok((1, Value::Varint(150))),
                Ok((2, Value::Fixed64(1))),
                Ok((3, Value::Len(b"hi"))),
                Ok((4, Value::Group)),
                Ok((6, Value::Fixed32(7))),
            ]
        );
    }

    #[test]
    fn names_each_fault() {
        assert_eq!(fault(&[0x00, 0x01]), FaultKind::FieldNumber(0));
        assert_eq!(fault(&[0x80, 0x80, 0x80, 0x80, 0x10, 0x01]), FaultKind::FieldNumber(1 << 29));
        assert_eq!(fault(&[0x0e]), FaultKind::NoSuchWireType(6));
        assert_eq!(fault(&[0x0f]), FaultKind::NoSuchWireType(7));
        assert_eq!(fault(&[0x0c]), FaultKind::GroupNotOpen(1));
        assert_eq!(fault(&[0x0b, 0x08, 0x01]), FaultKind::GroupNotClosed(1));
        assert_eq!(fault(&[0x0b, 0x14]), FaultKind::GroupNotOpen(2));
        assert_eq!(fault(&[0x0b; 200]), FaultKind::GroupTooDeep);
        assert_eq!(fault(&[0x0a, 0x05, 0x01]), FaultKind::LengthBeyondEnd { length: 5, left: 1 });
        let huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00];
        assert_eq!(fault(&huge), FaultKind::LengthBeyondEnd { length: u64::MAX, left: 1 });
        assert_eq!(fault(&[0x09, 1, 2]), FaultKind::FixedTruncated);
        assert_eq!(fault(&[0x0d, 1, 2]), FaultKind::FixedTruncated);
        assert_eq!(fault(&[0x08, 0x80]), FaultKind::VarintTruncated);
        assert_eq!(fault(&[0x08]), FaultKind::VarintTruncated);
    }

    #[test]
    fn is_spent_after_a_fault() {
        let mut cursor = Cursor::new(&[0x00, 0x08, 0x01]);
        assert!(cursor.next().expect("a field").is_err());
        assert_eq!(cursor.next(), None);
    }
}
