//! ClickHouse's framing of compressed bytes, as `decompress=1` expects it.

/// Bytes of a frame before compression. Large enough for LZ4 to find its repeats, small enough for the cache.
pub const CHUNK: usize = 256 * 1024;

/// Method byte of LZ4.
const LZ4: u8 = 0x82;

/// Checksum, method, compressed size, size.
const CHECKSUM: usize = 16;
const HEADER: usize = 9;

/// Gathers bytes into LZ4 frames.
///
/// A frame is a CityHash128 of what follows, a method byte, the size of the frame without the checksum, the size of the
/// content, the content.
#[derive(Debug, Default)]
pub struct FrameWriter {
    chunk: Vec<u8>,
    /// Room for one frame at its largest, so that `out` holds nothing but frames.
    packed: Vec<u8>,
    out: Vec<u8>,
    written: u64,
}

impl FrameWriter {
    /// Adds bytes.
    pub fn write(&mut self, mut bytes: &[u8]) {
        self.written += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.chunk.is_empty() && bytes.len() >= CHUNK {
                let (whole, rest) = bytes.split_at(CHUNK);
                frame(whole, &mut self.packed, &mut self.out);
                bytes = rest;
                continue;
            }
            let (now, rest) = bytes.split_at(bytes.len().min(CHUNK - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            bytes = rest;
            if self.chunk.len() == CHUNK {
                frame(&self.chunk, &mut self.packed, &mut self.out);
                self.chunk.clear();
            }
        }
    }

    /// Bytes added so far.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Ends the last frame and hands all of them out.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        if !self.chunk.is_empty() {
            frame(&self.chunk, &mut self.packed, &mut self.out);
        }
        // Sealed blocks wait for their turn, at times for long: what the last doubling reserved in vain goes back.
        self.out.shrink_to_fit();
        self.out
    }
}

/// Appends one frame to `out`. `packed` is room to work in.
fn frame(content: &[u8], packed: &mut Vec<u8>, out: &mut Vec<u8>) {
    let room = CHECKSUM + HEADER + lz4_flex::block::get_maximum_output_size(content.len());
    if packed.len() < room {
        packed.resize(room, 0);
    }
    let (checksum, body) = packed.split_at_mut(CHECKSUM);
    let length = lz4_flex::block::compress_into(content, &mut body[HEADER..]).expect("the room is the maximum");
    let narrow = |n: usize| u32::try_from(n).expect("a frame is far below 4 GiB").to_le_bytes();
    body[0] = LZ4;
    body[1..5].copy_from_slice(&narrow(length + HEADER));
    body[5..9].copy_from_slice(&narrow(content.len()));
    // ClickHouse writes the high half of the hash first.
    let hash = cityhash_rs::cityhash_102_128(&body[..HEADER + length]).rotate_left(64);
    checksum.copy_from_slice(&hash.to_le_bytes());
    out.extend_from_slice(&packed[..CHECKSUM + HEADER + length]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads frames back, checking sizes and checksums.
    fn unframe(mut bytes: &[u8]) -> Vec<u8> {
        let mut content = Vec::new();
        while !bytes.is_empty() {
            let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")) as usize;
            let (packed, size) = (number(CHECKSUM + 1), number(CHECKSUM + 5));
            let (this, rest) = bytes.split_at(CHECKSUM + packed);
            let hash = cityhash_rs::cityhash_102_128(&this[CHECKSUM..]);
            assert_eq!(this[..8], ((hash >> 64) as u64).to_le_bytes());
            assert_eq!(this[8..16], (hash as u64).to_le_bytes());
            assert_eq!(this[CHECKSUM], LZ4);
            content.extend(lz4_flex::block::decompress(&this[CHECKSUM + HEADER..], size).expect("LZ4"));
            bytes = rest;
        }
        content
    }

    #[test]
    fn frames_hold_what_was_written() {
        let content: Vec<u8> = (0..3 * CHUNK as u32 + 17).map(|i| (i / 7) as u8).collect();
        for step in [1000, CHUNK - 1, CHUNK, 2 * CHUNK + 5, usize::MAX] {
            let mut writer = FrameWriter::default();
            content.chunks(step.min(content.len())).for_each(|piece| writer.write(piece));
            assert_eq!(writer.written(), content.len() as u64);
            assert_eq!(unframe(&writer.finish()), content, "in steps of {step}");
        }
        assert!(FrameWriter::default().finish().is_empty());
    }
}
