//! Varints of up to eight bytes without a branch per byte.

/// Squeezes the high bit out of each of eight bytes.
pub(super) trait Squeeze {
    /// All of them: 8 × 7 bits become 56.
    fn squeeze(word: u64) -> u64;

    /// The bits under `mask`: from the low end of some byte on, without gaps but for the high bits.
    fn extract(word: u64, mask: u64) -> u64;
}

/// The bit-extract instruction of x86-64.
#[cfg(target_arch = "x86_64")]
pub(super) struct Pext;

#[cfg(target_arch = "x86_64")]
impl Squeeze for Pext {
    #[inline(always)]
    fn squeeze(word: u64) -> u64 {
        // SAFETY: this type is used only inside `fast_bmi2`, which runs only where `fast_pext()` found BMI2.
        unsafe { std::arch::x86_64::_pext_u64(word, 0x7f7f_7f7f_7f7f_7f7f) }
    }

    #[inline(always)]
    fn extract(word: u64, mask: u64) -> u64 {
        // SAFETY: as above.
        unsafe { std::arch::x86_64::_pext_u64(word, mask) }
    }
}

/// Shifts and masks, for every other processor.
pub(super) struct Shifts;

impl Squeeze for Shifts {
    #[inline(always)]
    fn squeeze(word: u64) -> u64 {
        let pairs = (word & 0x007f_007f_007f_007f) | (word & 0x7f00_7f00_7f00_7f00) >> 1;
        let quads = (pairs & 0x0000_3fff_0000_3fff) | (pairs & 0x3fff_0000_3fff_0000) >> 2;
        (quads & 0x0fff_ffff) | (quads & 0x0fff_ffff_0000_0000) >> 4
    }

    #[inline(always)]
    fn extract(word: u64, mask: u64) -> u64 {
        Self::squeeze((word & mask) >> (mask.trailing_zeros() & 0x38))
    }
}

/// Whether this processor has a bit-extract instruction that is worth using. AMD's before Zen 3 have it in microcode, at
/// some hundred cycles.
#[cfg(target_arch = "x86_64")]
pub(super) fn fast_pext() -> bool {
    // Both, since the code that runs on this word is compiled for both.
    if !(std::is_x86_feature_detected!("bmi1") && std::is_x86_feature_detected!("bmi2")) {
        return false;
    }
    // SAFETY: every x86-64 processor has the instruction, and it touches no memory. Newer compilers know that themselves.
    #[allow(unused_unsafe)]
    let (leaf, signature) = unsafe { (std::arch::x86_64::__cpuid(0), std::arch::x86_64::__cpuid(1).eax) };
    let vendor = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).concat();
    let family = (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
    !(vendor == b"AuthenticAMD" && family <= 0x17 || vendor == b"HygonGenuine")
}

/// No such instruction here.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn fast_pext() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree() {
        let mut word = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..10_000 {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            let expected = (0..8).fold(0, |sum, i| sum | (word >> (8 * i) & 0x7f) << (7 * i));
            assert_eq!(Shifts::squeeze(word), expected);
            // Of byte 2 on, 24 bits: three whole bytes and three bits of the next.
            let mask = 0x0000_077f_7f7f_0000;
            let some = expected >> 14 & 0xff_ffff;
            assert_eq!(Shifts::extract(word, mask), some);
            #[cfg(target_arch = "x86_64")]
            if std::is_x86_feature_detected!("bmi2") {
                assert_eq!(Pext::squeeze(word), expected);
                assert_eq!(Pext::extract(word, mask), some);
            }
        }
    }
}
