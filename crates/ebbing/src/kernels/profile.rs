//! How a kernel is evaluated on many pairs: from its table, if one function of the angle applies to all of them.

use super::kernel::Kernel;
use super::layers::Angle;
use super::rows::Rows;
use super::simd;
use super::table::Table;
use std::borrow::Cow;

/// Below this number of entries the layers themselves are cheaper than a table.
const SMALL: usize = 2048;

/// A kernel prepared for two sets of rows.
pub(super) enum Profile<'a> {
    /// `|x||x'|/N0 f(cos)`.
    Scaled(&'a Table),
    /// `f(cos)`.
    Plain(Cow<'a, Table>),
    /// Layer by layer: few entries, or an activation that is not homogeneous on inputs of different norms.
    Layers(&'a Kernel),
}

impl<'a> Profile<'a> {
    pub fn new(kernel: &'a Kernel, x: &Rows<'_>, x2: &Rows<'_>) -> Self {
        if x.len() * x2.len() < SMALL {
            return Profile::Layers(kernel);
        }
        if kernel.is_homogeneous() {
            let table = kernel.table();
            return if kernel.is_scaled() { Profile::Scaled(table) } else { Profile::Plain(Cow::Borrowed(table)) };
        }
        match (x.common_norm(), x2.common_norm()) {
            (Some(v), Some(v2)) => Profile::Plain(Cow::Owned(Table::build(|angle| kernel.value(angle, v, v2)))),
            _ => Profile::Layers(kernel),
        }
    }

    /// Values of rows i0 … of `x` with row `j` of `x2`, from their cosines.
    pub fn apply(&self, cos: &[f64], x: &Rows<'_>, i0: usize, x2: &Rows<'_>, j: usize, out: &mut [f64]) {
        let rows = i0..i0 + cos.len();
        match self {
            Profile::Scaled(table) => simd::apply(table, cos, &x.root[rows], x2.root[j], out),
            Profile::Plain(table) => simd::apply(table, cos, &x.ones[rows], 1.0, out),
            Profile::Layers(kernel) => {
                for ((o, &c), &v) in out.iter_mut().zip(cos).zip(&x.v[rows]) {
                    *o = kernel.value(Angle { minus: 1.0 - c, plus: 1.0 + c }, v, x2.v[j]);
                }
            }
        }
    }
}
