//! The profile of a kernel in single precision: polynomials in `h = √(1 − |cos|)`, one set of panels for each sign of the cosine.
//!
//! `K_GP` and `K_NTK` are analytic in the angle, `θ = 2 asin(h/√2)` or π less that, and so in h: panels of equal width serve, and
//! few enough of them that all coefficients of one power are held in two registers of sixteen numbers.

use crate::kernels::layers::Angle;
use crate::kernels::table::Chebyshev;

/// Coefficients per panel: degree 5.
pub(super) const TERMS: usize = 6;
/// Panels for each sign of the cosine.
pub(super) const PANELS: usize = 16;
/// What a table may be off by, relative to its largest value: two units in the last place.
const RIGHT: f64 = 2.0 * f32::EPSILON as f64;

/// `f(cos)`.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// `coefficients[k][panel]` of `(16 h − panel − ½)^k`; panels of negative cosines follow those of the others.
    pub coefficients: [[f32; 2 * PANELS]; TERMS],
}

impl Table {
    /// Interpolates `f` at Chebyshev points of every panel; none where that is not right to single precision.
    pub fn build(f: impl Fn(Angle) -> f64) -> Option<Table> {
        let chebyshev = Chebyshev::<TERMS>::new();
        let mut coefficients = [[0f32; 2 * PANELS]; TERMS];
        let (mut scale, mut error, mut known) = (0f64, 0f64, true);
        for place in 0..2 * PANELS {
            let (panel, negative) = (place % PANELS, place >= PANELS);
            let at = |x: f64| {
                let h = (panel as f64 + 0.5 + 0.5 * x) / PANELS as f64;
                f(Angle::near(h * h, if negative { -1.0 } else { 1.0 }))
            };
            let mut powers = [0.0; TERMS];
            chebyshev.interpolate(at, 1.0, &mut powers);
            for (k, c) in powers.iter().enumerate() {
                coefficients[k][place] = *c as f32;
            }
            for x in [-1.0, -0.97, -0.6, -0.2, 0.1, 0.5, 0.8, 1.0] {
                let (value, want) = (powers.iter().rev().fold(0.0, |sum, c| sum * (0.5 * x) + c), at(x));
                scale = scale.max(want.abs());
                error = error.max((value - want).abs());
                // A maximum drops what is no number.
                known &= value.is_finite() && want.is_finite();
            }
        }
        (known && error <= RIGHT * scale).then_some(Table { coefficients })
    }

    /// `f(cos)`; beyond ±1 the value there.
    pub fn evaluate(&self, cos: f32) -> f32 {
        let s = (1.0 - cos.abs()).max(0.0).sqrt() * PANELS as f32;
        let panel = (s as usize).min(PANELS - 1);
        let t = s - panel as f32 - 0.5;
        let place = if cos.is_sign_negative() { panel + PANELS } else { panel };
        self.coefficients.iter().rev().fold(0.0, |sum, c| sum * t + c[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Activation, Architecture, Kernel, KernelKind, WeightPrior};

    #[test]
    fn tables_are_right_to_single_precision() {
        for activation in [Activation::Relu, Activation::Linear] {
            for depth in [1, 2, 10] {
                for kind in [KernelKind::Nngp, KernelKind::Ntk] {
                    let prior = WeightPrior::new(f64::INFINITY, 1.3).unwrap();
                    let kernel = Kernel::new(kind, Architecture { activation, depth }, prior, 1, 1).unwrap();
                    let f = |angle| kernel.value(angle, 1.0, 1.0);
                    let table = Table::build(f).unwrap();
                    let scale = f(Angle::ZERO);
                    for i in 0..=1000 {
                        let h = (i as f64 / 1000.0).powi(2);
                        for sign in [1.0, -1.0] {
                            let cos = (sign * (1.0 - h * h)) as f32;
                            let a = 1.0 - f64::from(cos).abs();
                            let error = (f64::from(table.evaluate(cos)) - f(Angle::near(a, sign))).abs();
                            // The table itself, and rounding of six terms.
                            assert!(error <= 8.0 * f64::from(f32::EPSILON) * scale, "{kind:?} {depth} {cos} {error:e}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_function_that_panels_do_not_resolve_has_no_table() {
        assert!(Table::build(|angle| (60.0 * angle.cos()).sin()).is_none());
        assert!(Table::build(|_| f64::NAN).is_none());
    }
}
