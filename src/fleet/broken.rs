//! The bytes of faulty and of odd records.

use prost::encoding::{WireType, encode_varint};

use super::{
    fault::Fault,
    layout::{Writer, key},
    oddity::Oddity,
    slots::Slots,
    values::Values,
};

/// Appends a record with a fault of one record.
pub(super) fn faulty(
    fault: Fault,
    writer: &Writer,
    values: &mut Values,
    slots: &Slots,
    newest: u32,
    out: &mut Vec<u8>,
) {
    match fault {
        Fault::TruncatedRecord => return writer.write_truncated(values, out),
        Fault::UnknownEpoch => values.set(slots.schema_version, u64::from(newest) + 1),
        _ => {}
    }
    writer.write(values, out);
    let number = writer.number(slots.inet_diag_msg_state).unwrap_or(writer.unused()[0]);
    match fault {
        Fault::WireType => {
            out.extend(key(number, WireType::LengthDelimited));
            out.extend(b"\x03abc");
        }
        Fault::LongVarint => {
            out.extend(key(number, WireType::Varint));
            out.extend([0xff; 10]);
            out.push(1);
        }
        Fault::FieldZero => out.extend([0x00, 0x05]),
        Fault::OpenGroup => {
            out.extend(key(writer.unused()[0], WireType::StartGroup));
            out.extend([0x08, 0x01]);
        }
        Fault::EnumValue => {
            if let Some((number, value)) = writer.unlabelled() {
                out.extend(key(number, WireType::Varint));
                encode_varint(value, out);
            }
        }
        Fault::TimeOutOfRange => {
            // In seconds: more than 64 bits of nanoseconds hold.
            out.extend(key(writer.number(slots.timestamp_ns).unwrap_or(10), WireType::SixtyFourBit));
            out.extend(1e12_f64.to_le_bytes());
        }
        _ => {}
    }
}

/// Appends a record with an oddity: it lands like any other.
pub(super) fn odd(oddity: Oddity, writer: &Writer, values: &mut Values, slots: &Slots, out: &mut Vec<u8>) {
    let state = writer.number(slots.inet_diag_msg_state);
    match oddity {
        Oddity::NotUtf8 => values.set_text(slots.hostname, b"caf\xe9"),
        Oddity::ShortAddress => values.set_text(slots.inet_diag_msg_socket_source, &[10, 10, 10, 10]),
        Oddity::VersionLast => return writer.write_with_last(slots.schema_version, values, out),
        Oddity::DuplicateFields => {
            // The first of two: other values, which must not show.
            if let Some(number) = writer.number(slots.hostname) {
                out.extend(key(number, WireType::LengthDelimited));
                out.extend(b"\x05other");
            }
            if let Some(number) = state {
                out.extend(key(number, WireType::Varint));
                out.push(99);
            }
            if let Some(number) = writer.number(slots.schema_version).filter(|_| writer.epoch > 0) {
                out.extend(key(number, WireType::Varint));
                out.push(99);
            }
        }
        _ => {}
    }
    writer.write(values, out);
    match oddity {
        Oddity::UnknownFields => unknown_fields(writer.unused(), out),
        Oddity::PaddedVarints => {
            if let Some(number) = state {
                out.extend(key(number, WireType::Varint));
                padded(values.number(slots.inet_diag_msg_state), out);
            }
        }
        Oddity::WideVarint => {
            if let Some(number) = state {
                out.extend(key(number, WireType::Varint));
                encode_varint(values.number(slots.inet_diag_msg_state) | 1 << 40, out);
            }
        }
        _ => {}
    }
}

/// A field of each wire type, and a group.
fn unknown_fields(numbers: &[u32], out: &mut Vec<u8>) {
    out.extend(key(numbers[0], WireType::Varint));
    out.push(7);
    out.extend(key(numbers[1], WireType::SixtyFourBit));
    out.extend([1; 8]);
    out.extend(key(numbers[2], WireType::LengthDelimited));
    out.extend(b"\x03xyz");
    out.extend(key(numbers[3], WireType::ThirtyTwoBit));
    out.extend([2; 4]);
    out.extend(key(numbers[0], WireType::StartGroup));
    out.extend([0x08, 0x01]);
    out.extend(key(numbers[0], WireType::EndGroup));
}

/// A varint of ten bytes.
fn padded(value: u64, out: &mut Vec<u8>) {
    for shift in 0..9 {
        out.push((value >> (7 * shift)) as u8 | 0x80);
    }
    out.push((value >> 63) as u8);
}
