//! A prepared kernel (one of the paper's Eqs. 14–21): kind, architecture, prior and times, ready to be evaluated on
//! inputs.

use super::layers::{Angle, Layers};
use super::prior::LayerPrior;
use super::rows::{self, Rows};
use super::table::Table;
use super::{Activation, Architecture, KernelKind, WeightPrior, gram};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use crate::stop;
use rayon::prelude::*;
use std::sync::OnceLock;

/// `k_ts(x,x')` of one [`KernelKind`]: x belongs to time t, x' to time s.
#[derive(Debug, Clone)]
pub struct Kernel {
    kind: KernelKind,
    layers: Layers,
    /// Whether `k(x,x') = k(x',x)`, for any norms.
    symmetric: bool,
    /// Computed when first needed.
    table: OnceLock<Table>,
}

impl Kernel {
    /// Prepares a kernel; times count from 1.
    ///
    /// # Errors
    /// [`Error::Setting`] for a depth or a time of 0; [`Error::OutsideTheory`] for `DeltaK` at λ = ∞ with t or s = 1,
    /// where λΔK has no limit.
    pub fn new(kind: KernelKind, arch: Architecture, prior: WeightPrior, t: usize, s: usize) -> Result<Kernel> {
        arch.check()?;
        for (name, time) in [("time t", t), ("time s", s)] {
            if time == 0 {
                return Err(Error::setting(name, time, "times count from 1"));
            }
        }
        if kind == KernelKind::DeltaK && prior.lambda().is_infinite() && t.min(s) == 1 {
            return Err(Error::OutsideTheory {
                what: format!("lambda·DeltaK at lambda = inf and times ({t}, {s})"),
                reason:
                    "K1 and K0 differ at finite size when one of the times is 1, so that lambda·DeltaK has no limit"
                        .into(),
            });
        }
        Ok(Self::of_layers(kind, arch.activation, &LayerPrior::alike(arch.depth, prior), (t, s), 1.0))
    }

    /// The same with a penalty `λ/r_l` for the weights of each layer, `r_l` in `mobility`, from those above the inputs to the
    /// readout's (L + 1 of them). At λ = ∞ `KTilde` and `Ntk` are `Q^{l+1} = r_{l+1} K^{l+1} + σ² K̇^{l+1} Q^l`,
    /// `Q^0 = r_0 x·x'/N0`: the tangent kernel where all are 1, `K_GP` where only the readout's is not 0.
    ///
    /// # Errors
    /// As for [`Kernel::new`]; [`Error::Setting`] if `mobility` has another length, is negative, or 0 throughout.
    pub fn per_layer(
        kind: KernelKind,
        arch: Architecture,
        prior: WeightPrior,
        (t, s): (usize, usize),
        mobility: &[f64],
    ) -> Result<Kernel> {
        Self::new(kind, arch, prior, t, s)?;
        if mobility.len() != arch.depth + 1 {
            let expected = format!("must hold {}, one for each layer of weights", arch.depth + 1);
            return Err(Error::setting("mobility", format!("{} numbers", mobility.len()), expected));
        }
        Ok(Self::of_layers(kind, arch.activation, &LayerPrior::each(prior, mobility)?, (t, s), 1.0))
    }

    /// The same between tasks whose hidden units are gated: each is active in a share g of the tasks' masks, its activity
    /// divided by √g, and `o_ts = E[z_t z_s]/g` is `overlap`: 1 within a task, g for independent masks, 0 for disjoint ones.
    /// Every layer's `K_ts` and `K̇_ts` are multiplied by it.
    ///
    /// # Errors
    /// As for [`Kernel::new`]; [`Error::Setting`] for an overlap outside 0 … 1.
    pub fn gated(
        kind: KernelKind,
        arch: Architecture,
        prior: WeightPrior,
        (t, s): (usize, usize),
        overlap: f64,
    ) -> Result<Kernel> {
        Self::new(kind, arch, prior, t, s)?;
        if !(0.0..=1.0).contains(&overlap) {
            return Err(Error::setting("overlap", overlap, "must lie in 0 … 1"));
        }
        Ok(Self::of_layers(kind, arch.activation, &LayerPrior::alike(arch.depth, prior), (t, s), overlap))
    }

    fn of_layers(
        kind: KernelKind,
        activation: Activation,
        priors: &[LayerPrior],
        (t, s): (usize, usize),
        overlap: f64,
    ) -> Kernel {
        let make = |priors: &[LayerPrior], times, part| Layers::new(activation, priors, times, overlap, part);
        let timeless = matches!(kind, KernelKind::Nngp | KernelKind::Ntk);
        let layers = match kind {
            KernelKind::Nngp | KernelKind::Ntk => {
                let limit: Vec<LayerPrior> = priors.iter().map(LayerPrior::held).collect();
                make(&limit, (2, 2), kind == KernelKind::Ntk)
            }
            KernelKind::K1 | KernelKind::Derivative => make(priors, (t, s), false),
            KernelKind::KTilde => make(priors, (t, s), t.min(s) >= 2),
            KernelKind::K0 | KernelKind::DeltaK => make(priors, (t, s), true),
        };
        let kernel = Kernel { kind, layers, symmetric: t == s || timeless, table: OnceLock::new() };
        Kernel { symmetric: kernel.symmetric || kernel.is_homogeneous(), ..kernel }
    }

    /// `k(x,x')` of a single pair, without cancellation: relative accuracy near 1e-14 also for equal, nearly equal and
    /// opposite inputs.
    ///
    /// # Errors
    /// [`Error::Data`] if the lengths differ or an input has no usable norm.
    pub fn pair(&self, x: &[f64], x2: &[f64]) -> Result<f64> {
        same_features(x.len(), x2.len())?;
        let square = |x: &[f64]| x.iter().map(|a| a * a).sum::<f64>();
        let (n, n2) = (square(x), square(x2));
        rows::check(n, self.has_bias(), || "first input".into())?;
        rows::check(n2, self.has_bias(), || "second input".into())?;
        let (inverse, inverse2) = (rows::inverse(n), rows::inverse(n2));
        let (mut minus, mut plus) = (0.0, 0.0);
        for (a, b) in x.iter().zip(x2) {
            let (a, b) = (a * inverse, b * inverse2);
            minus += (a - b) * (a - b);
            plus += (a + b) * (a + b);
        }
        let angle = if minus < plus { Angle::near(0.5 * minus, 1.0) } else { Angle::near(0.5 * plus, -1.0) };
        let size = x.len() as f64;
        Ok(self.value(angle, n / size, n2 / size))
    }

    /// `k(x_i,x_i)` for every row.
    ///
    /// # Errors
    /// [`Error::Data`] that names a row without a usable norm.
    pub fn diagonal(&self, x: MatRef<'_, f64>) -> Result<Vec<f64>> {
        let copy = contiguous(x);
        let rows = Rows::new(copy.as_ref().map_or(x, |c| c.as_ref()), self.has_bias(), "inputs")?;
        Ok(rows.v.par_iter().map(|&v| self.value(Angle::ZERO, v, v)).collect())
    }

    /// `K_ij = k(x_i, x'_j)`: rows of `x` at time t, rows of `x2` at time s.
    ///
    /// # Errors
    /// [`Error::Data`] if the numbers of columns differ or a row has no usable norm.
    pub fn gram(&self, x: MatRef<'_, f64>, x2: MatRef<'_, f64>) -> Result<Mat<f64>> {
        Ok(Self::gram_many(&[self], x, x2)?.swap_remove(0))
    }

    /// `K_ij = k(x_i, x_j)` of one set with itself.
    ///
    /// # Errors
    /// [`Error::Data`] that names a row without a usable norm.
    pub fn gram_symmetric(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        Ok(Self::gram_many_symmetric(&[self], x)?.swap_remove(0))
    }

    /// [`Kernel::gram`] of several kernels from one matrix product.
    ///
    /// # Errors
    /// As for [`Kernel::gram`].
    pub fn gram_many(kernels: &[&Kernel], x: MatRef<'_, f64>, x2: MatRef<'_, f64>) -> Result<Vec<Mat<f64>>> {
        same_features(x.ncols(), x2.ncols())?;
        let (copy, copy2) = (contiguous(x), contiguous(x2));
        let biased = kernels.iter().all(|kernel| kernel.has_bias());
        let rows = Rows::new(copy.as_ref().map_or(x, |c| c.as_ref()), biased, "first inputs")?;
        let rows2 = Rows::new(copy2.as_ref().map_or(x2, |c| c.as_ref()), biased, "second inputs")?;
        let all = gram::rectangular(kernels, &rows, &rows2);
        stop::check().map(|()| all)
    }

    /// [`Kernel::gram_symmetric`] of several kernels from one matrix product.
    ///
    /// # Errors
    /// As for [`Kernel::gram_symmetric`].
    pub fn gram_many_symmetric(kernels: &[&Kernel], x: MatRef<'_, f64>) -> Result<Vec<Mat<f64>>> {
        let copy = contiguous(x);
        let biased = kernels.iter().all(|kernel| kernel.has_bias());
        let rows = Rows::new(copy.as_ref().map_or(x, |c| c.as_ref()), biased, "inputs")?;
        let whole = kernels.iter().all(|k| k.symmetric);
        let all = if whole { gram::symmetric(kernels, &rows) } else { gram::rectangular(kernels, &rows, &rows) };
        stop::check().map(|()| all)
    }

    /// The value for two inputs at `angle` with squared norms `v` and `v2`, divided by N0.
    pub(super) fn value(&self, angle: Angle, v: f64, v2: f64) -> f64 {
        let values = self.layers.evaluate(angle, v, v2);
        match self.kind {
            KernelKind::Nngp | KernelKind::K1 => values.k1,
            KernelKind::K0 => values.k0,
            KernelKind::Ntk | KernelKind::KTilde => values.tilde,
            KernelKind::DeltaK => values.delta,
            KernelKind::Derivative => values.derivative,
        }
    }

    /// Which kernel it is.
    pub(super) fn kind(&self) -> KernelKind {
        self.kind
    }

    /// Whether units have biases, so that an input that is 0 has a direction.
    fn has_bias(&self) -> bool {
        self.layers.have_bias()
    }

    /// Whether the activation is homogeneous and there are no biases, so that norms only scale the kernel.
    pub(super) fn is_homogeneous(&self) -> bool {
        self.layers.are_homogeneous()
    }

    /// Whether a homogeneous kernel scales with the norms at all.
    pub(super) fn is_scaled(&self) -> bool {
        self.kind != KernelKind::Derivative
    }

    /// The kernel of two inputs with `|x|² = |x'|² = N0`, as a function of their angle.
    pub(super) fn table(&self) -> &Table {
        self.table.get_or_init(|| Table::build(|angle| self.value(angle, 1.0, 1.0)))
    }
}

/// Refuses inputs of different lengths.
fn same_features(n: usize, n2: usize) -> Result<()> {
    if n == n2 {
        return Ok(());
    }
    Err(Error::data("inputs of a kernel", format!("{n} and {n2} features; both sets must have the same number")))
}

/// A copy with contiguous columns where `x` has none.
fn contiguous(x: MatRef<'_, f64>) -> Option<Mat<f64>> {
    (x.row_stride() != 1).then(|| x.to_owned())
}
