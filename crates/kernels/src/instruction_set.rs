//! The instruction set that kernels use.

use std::fmt;

/// In ascending order: a CPU that has one has all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum InstructionSet {
    /// The specification of every kernel, and the only one on other CPUs than x86-64.
    Scalar,
    Avx2,
    /// AVX-512 with F, BW, DQ, VL, CD, VBMI and VNNI, as since Ice Lake and Zen 4.
    Avx512,
}

impl InstructionSet {
    pub const ALL: [Self; 3] = [Self::Scalar, Self::Avx2, Self::Avx512];

    /// The best one that this CPU has.
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Self::Scalar)
    }

    /// Those that this CPU has, in ascending order.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|set| set.is_available())
    }

    #[cfg(target_arch = "x86_64")]
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            Self::Avx2 => std::is_x86_feature_detected!("avx2"),
            Self::Avx512 => {
                std::is_x86_feature_detected!("avx2")
                    && std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512dq")
                    && std::is_x86_feature_detected!("avx512vl")
                    && std::is_x86_feature_detected!("avx512cd")
                    && std::is_x86_feature_detected!("avx512vbmi")
                    && std::is_x86_feature_detected!("avx512vnni")
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_available(self) -> bool {
        self == Self::Scalar
    }

    /// The best one for which libvmaf has code on this CPU. Some of libvmaf's values depend on it, whichever kernels are used here.
    #[cfg(target_arch = "x86_64")]
    pub fn of_libvmaf() -> Self {
        use std::is_x86_feature_detected as has;
        if !(has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2")) {
            Self::Scalar
        } else if has!("avx512f")
            && has!("avx512cd")
            && has!("avx512bw")
            && has!("avx512dq")
            && has!("avx512vl")
        {
            Self::Avx512
        } else {
            Self::Avx2
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub fn of_libvmaf() -> Self {
        Self::Scalar
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
