//! The theory's own quantities for two tasks with several outputs: ū, 𝓛, K̃ and `H_2` as functions.

use super::frame::Frame;
use super::maps::check_head;
use super::pair::{TwoTaskOutputs, TwoTaskOutputsPoint};
use super::terms::{combination, kronecker};
use crate::error::{Error, Result, refuse};
use crate::kernels::{Kernel, KernelKind};
use crate::linalg::{Mat, MatRef, SymmetricEigen, matmul};

impl TwoTaskOutputs {
    /// A kernel between the training inputs of two tasks (from 1), t ≥ s.
    ///
    /// # Errors
    /// [`Error::Setting`] for another task.
    pub fn kernel(&self, kind: KernelKind, t: usize, s: usize) -> Result<Mat<f64>> {
        check_head(t)?;
        refuse(s == 0 || s > t, "s", s, format!("must be in 1 … {t}"))?;
        let kernel = Kernel::new(kind, self.pair.architecture, self.pair.prior, t, s)?;
        kernel.gram(self.tasks[t - 1].x.as_ref(), self.tasks[s - 1].x.as_ref())
    }

    /// The eigenvalues of `K¹_tt`, ascending.
    ///
    /// # Errors
    /// [`Error::Setting`] for another task.
    pub fn kernel_spectrum(&self, t: usize) -> Result<Vec<f64>> {
        let gram = self.kernel(KernelKind::K1, t, t)?;
        Ok(SymmetricEigen::factor(gram.as_ref(), "kernel of a task")?.values)
    }

    fn at_finite(&self) -> Result<()> {
        refuse(
            self.lambda().is_infinite(),
            "lambda",
            "inf",
            "must be finite: in the limit these matrices vanish or diverge",
        )
    }

    /// `K̃_ts = K¹_ts ⊗ U1_ts − K⁰_ts ⊗ U0_ts` at a point, output after output: block (a, c) belongs to output a of head t and output c
    /// of head s.
    ///
    /// # Errors
    /// [`Error::Setting`] for another task, and at λ = ∞.
    pub fn renormalized_kernel(&self, point: &TwoTaskOutputsPoint, t: usize, s: usize) -> Result<Mat<f64>> {
        self.at_finite()?;
        let k1 = self.kernel(KernelKind::K1, t, s)?;
        match (t, s) {
            (1, 1) => Ok(kronecker(&point.u11, &k1)),
            (2, 1) => Ok(kronecker(&point.u12.transpose().to_owned(), &k1)),
            _ => Ok(combination(&point.d, &k1, &point.u0, &self.kernel(KernelKind::DeltaK, 2, 2)?)),
        }
    }

    /// 𝓛: the block lower-triangular matrix of `K̃_ts`, s ≤ t, all outputs of task 1 before those of task 2.
    ///
    /// # Errors
    /// As for [`TwoTaskOutputs::renormalized_kernel`].
    pub fn lower(&self, point: &TwoTaskOutputsPoint) -> Result<Mat<f64>> {
        let block = |t, s| self.renormalized_kernel(point, t, s);
        let (first, below, second) = (block(1, 1)?, block(2, 1)?, block(2, 2)?);
        let (p, q) = (first.nrows(), second.nrows());
        Ok(Mat::from_fn(p + q, p + q, |i, j| match (i < p, j < p) {
            (true, true) => first[(i, j)],
            (true, false) => 0.0,
            (false, true) => below[(i - p, j)],
            (false, false) => second[(i - p, j - p)],
        }))
    }

    /// `ū = 𝓛^{-1} Y` of both tasks, one column per output, without forming 𝓛: `ū_1 = K_11^{-1}Y_1U11^{-1}`,
    /// `ū_2 = K̃_22^{-1}(Y_2 − B V)` in the basis of the pencil. 0 along outputs without labels.
    ///
    /// # Errors
    /// [`Error::Setting`] at λ = ∞.
    pub fn means(&self, point: &TwoTaskOutputsPoint) -> Result<[Mat<f64>; 2]> {
        self.at_finite()?;
        let maps = &point.maps;
        let weights = self.pair.first.half_solve_transposed(self.half_labels.as_ref());
        let eigen = SymmetricEigen::factor(maps.u11.as_ref(), "U1(1,1)")?;
        let rotated = matmul(weights.as_ref(), eigen.vectors.as_ref());
        let divided = Mat::from_fn(rotated.nrows(), rotated.ncols(), |i, a| rotated[(i, a)] / eigen.values[a]);
        let first = matmul(divided.as_ref(), eigen.vectors.transpose());
        // K̃_i^{-1} = Σ_a w_ia e_ae_aᵀ.
        let miss = &self.y - matmul(self.b.as_ref(), maps.theta.transpose());
        let along = matmul(miss.as_ref(), maps.e.transpose());
        let tau = &self.pair.basis.values;
        let weighted = Mat::from_fn(along.nrows(), along.ncols(), |i, a| along[(i, a)] / (1.0 + maps.rho[a] * tau[i]));
        let second = matmul(self.pair.basis.vectors.as_ref(), matmul(weighted.as_ref(), maps.e.as_ref()).as_ref());
        let [one, two] = &self.spans;
        Ok([matmul(first.as_ref(), one.used.transpose()), matmul(second.as_ref(), two.used.transpose())])
    }

    /// `H_2` at any factors of task 2 (`D = U1_22 − U0_22`, U0 and `U1_12 = A_1ᵀA_2/N`), with those of task 1 as they are at this
    /// load; up to a constant that none of the three enters. The point of [`TwoTaskOutputs::point`] is stationary.
    ///
    /// # Errors
    /// [`Error::Data`] for matrices of another shape, or labels that span fewer directions than there are outputs;
    /// [`Error::NotPositiveDefinite`] where D is not positive definite; [`Error::Setting`] at λ = ∞.
    pub fn free_energy(
        &self,
        alpha: f64,
        d: MatRef<'_, f64>,
        u0: MatRef<'_, f64>,
        u12: MatRef<'_, f64>,
    ) -> Result<f64> {
        self.at_finite()?;
        let [m1, m2] = self.outputs();
        let [one, two] = &self.spans;
        if one.silent.ncols() + two.silent.ncols() > 0 {
            return Err(Error::data("the labels", "span fewer directions than there are outputs"));
        }
        let shapes = [(d, m2, m2, "D"), (u0, m2, m2, "U0"), (u12, m1, m2, "U12")];
        for (matrix, rows, columns, name) in shapes {
            if (matrix.nrows(), matrix.ncols()) != (rows, columns) {
                let problem = format!("is {} × {}; expected {rows} × {columns}", matrix.nrows(), matrix.ncols());
                return Err(Error::data(name, problem));
            }
        }
        let width = self.y.nrows() as f64 / crate::theory::multi_head::settings::checked_load(alpha)?;
        let first = self.first.factor(width, self.readout)?;
        let problem = self.problem(width, &first.u);
        let eigen = SymmetricEigen::factor(first.u.as_ref(), "U1(1,1)")?;
        let rotated = matmul(eigen.vectors.transpose(), u12);
        let divided = Mat::from_fn(m1, m2, |a, c| rotated[(a, c)] / eigen.values[a]);
        let v = matmul(eigen.vectors.as_ref(), divided.as_ref());
        let frame = Frame::of(d, u0)?;
        if frame.rho.iter().any(|&rho| problem.weights(rho).is_none()) {
            return Err(Error::data("D and U0", "give a renormalized kernel that is not positive definite"));
        }
        problem.value(&frame, v.transpose())
    }
}
