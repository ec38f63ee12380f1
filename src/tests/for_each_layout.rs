//! A macro for the unit tests of the library, and for all code that tests or measures it from outside.

/// Calls the macro `$then` with the names of all layouts, or of those that grow, from the shortest fingerprint to the
/// longest. All other arguments go before them.
#[macro_export]
macro_rules! for_each_layout {
    (that grows: $then:ident $($with:tt)*) => {
        $then! { $($with)* Fp12x5 Fp16x4 Fp21x3 Fp32x2 }
    };
    ($then:ident $($with:tt)*) => {
        $then! {
            $($with)*
            Fp8x8 Fp9x7 Fp10x6 Fp12x5 SemiSorted14x5 Fp16x4 SemiSorted17x4 Fp21x3 Fp32x2
        }
    };
}
