//! Base-128 numbers.

use super::{Fault, FaultKind};

/// Reads the varint at `at`; returns it and the byte after it.
///
/// Padding up to ten bytes is legal. A tenth byte that would carry more than the 64th bit is refused, as prost, Go and
/// upb do.
///
/// # Errors
/// [`FaultKind::VarintTruncated`] where the bytes end first, [`FaultKind::VarintTooLong`] where the number does not end.
#[inline]
pub fn read_varint(bytes: &[u8], at: usize) -> Result<(u64, usize), Fault> {
    let mut value = 0u64;
    for i in 0..10 {
        let Some(&byte) = bytes.get(at + i) else {
            return Err(Fault { kind: FaultKind::VarintTruncated, at });
        };
        if i == 9 && byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok((value, at + i + 1));
        }
    }
    Err(Fault { kind: FaultKind::VarintTooLong, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_protobuf_writes() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX] {
            let mut bytes = vec![0xaa];
            prost::encoding::encode_varint(value, &mut bytes);
            let end = bytes.len();
            bytes.push(0xbb);
            assert_eq!(read_varint(&bytes, 1), Ok((value, end)));
        }
    }

    #[test]
    fn padding_is_legal_up_to_ten_bytes() {
        assert_eq!(read_varint(&[0x85, 0x80, 0x00], 0), Ok((5, 3)));
        assert_eq!(read_varint(&[0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 0), Ok((5, 10)));
    }

    #[test]
    fn names_what_is_wrong() {
        let kind = |bytes: &[u8]| read_varint(bytes, 0).map_err(|f| f.kind);
        assert_eq!(kind(&[]), Err(FaultKind::VarintTruncated));
        assert_eq!(kind(&[0x80; 9]), Err(FaultKind::VarintTruncated));
        assert_eq!(kind(&[0x80; 10]), Err(FaultKind::VarintTooLong));
        assert_eq!(kind(&[0xff; 11]), Err(FaultKind::VarintTooLong));
        // 2^64: the tenth byte carries a bit that a u64 has no room for.
        assert_eq!(kind(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02]), Err(FaultKind::VarintTooLong));
    }
}
