//! Kernel blocks `K̃_ts` and prior covariances between sets of points, whatever they are made from.

use crate::error::{Error, Result};
use crate::kernels::{Architecture, Kernel, KernelKind, WeightPrior};
use crate::linalg::{Cholesky, Mat, MatRef, matmul_into};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Which limit of learning the single-head theory describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Random features, λ → ∞: only the readout learns, and every `K̃_ts = K_GP` (the paper's single-head figures).
    #[default]
    Rf,
    /// All weights learn, λ → ∞: `K̃_t1 = σ² K_GP`, `K̃_ts = K_NTK` for s ≥ 2 (Eq. 19; the factor 1/λ cancels).
    Ntk,
    /// Plain gradient descent in the tangent regime, from zero output and without penalty: `K̃_ts = K_NTK` for every s, the
    /// first task included.
    Lazy,
    /// All weights learn at the given λ: `K̃_ts = m1(t,s) K¹_ts − m0(t,s) K⁰_ts` (Eq. 16). At λ = ∞ this is `ntk` for β = ∞; at a
    /// finite β nothing is learned after the first task, since `K̃_ts ~ Q/λ` falls below 1/β. (The other modes hold β/λ fixed.)
    Gibbs,
}

/// What the kernels of a theory depend on, beside what they are made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// Which limit of learning.
    pub mode: Mode,
    /// λ = ∞ at a temperature: `K̃_ts ~ Q/λ` of every later task is 0 beside 1/β.
    pub frozen: bool,
    /// The prior of a weight.
    pub prior: WeightPrior,
}

/// Points at which a network is looked at.
#[derive(Debug, Clone, Copy)]
pub enum Points<'a> {
    /// Inputs (or features), one per row.
    Inputs(MatRef<'a, f64>),
    /// Rows of the kernel that was given.
    Rows(&'a [usize]),
}

impl<'a> From<MatRef<'a, f64>> for Points<'a> {
    fn from(x: MatRef<'a, f64>) -> Self {
        Points::Inputs(x)
    }
}

impl<'a> From<&'a Mat<f64>> for Points<'a> {
    fn from(x: &'a Mat<f64>) -> Self {
        Points::Inputs(x.as_ref())
    }
}

impl<'a> From<&'a [usize]> for Points<'a> {
    fn from(rows: &'a [usize]) -> Self {
        Points::Rows(rows)
    }
}

impl Points<'_> {
    /// The number of points.
    pub fn len(&self) -> usize {
        match self {
            Points::Inputs(x) => x.nrows(),
            Points::Rows(rows) => rows.len(),
        }
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The chosen points, in the order given.
    pub(crate) fn select(&self, chosen: &[usize]) -> PointSet {
        let all = chosen.len() == self.len() && chosen.iter().enumerate().all(|(place, &row)| place == row);
        match self {
            Points::Inputs(x) if all => PointSet::Inputs(x.to_owned()),
            Points::Inputs(x) => PointSet::Inputs(Mat::from_fn(chosen.len(), x.ncols(), |i, j| x[(chosen[i], j)])),
            Points::Rows(rows) => PointSet::Rows(chosen.iter().map(|&i| rows[i]).collect()),
        }
    }

    /// These points, then `more`, which must be of the same kind.
    pub(crate) fn followed_by(&self, more: Points<'_>) -> PointSet {
        match (self, more) {
            (Points::Inputs(x), Points::Inputs(y)) => {
                let n = x.nrows();
                PointSet::Inputs(Mat::from_fn(
                    n + y.nrows(),
                    x.ncols(),
                    |i, j| {
                        if i < n { x[(i, j)] } else { y[(i - n, j)] }
                    },
                ))
            }
            (Points::Rows(rows), Points::Rows(others)) => PointSet::Rows([*rows, others].concat()),
            _ => unreachable!("the points of one theory are all inputs or all rows of a kernel"),
        }
    }
}

/// Points that are kept.
#[derive(Debug, Clone)]
pub(crate) enum PointSet {
    Inputs(Mat<f64>),
    Rows(Vec<usize>),
}

impl PointSet {
    pub fn points(&self) -> Points<'_> {
        match self {
            PointSet::Inputs(x) => Points::Inputs(x.as_ref()),
            PointSet::Rows(rows) => Points::Rows(rows),
        }
    }

    pub fn len(&self) -> usize {
        self.points().len()
    }
}

/// What kernels are made from.
#[derive(Debug)]
pub(crate) enum KernelSource {
    /// Inputs and a network of infinite width.
    Network(Network),
    /// `K = Φ Φᵀ/N` of features that are given; by kernels between examples also where d × d costs less, if `by_examples`.
    Features { neurons: usize, by_examples: bool },
    /// Matrices that are given.
    Table { nngp: Entries, ntk: Option<Entries>, kept: Option<Arc<KeptFactors>> },
}

/// A symmetric kernel matrix over some points, and the rows of further points below it: between those nothing is known.
#[derive(Debug, Clone)]
pub(crate) struct Entries {
    square: Arc<Mat<f64>>,
    below: Option<Arc<Mat<f64>>>,
}

impl Entries {
    pub fn new(square: Mat<f64>, below: Option<Mat<f64>>) -> Entries {
        Entries { square: Arc::new(square), below: below.map(Arc::new) }
    }

    /// The number of points.
    pub fn points(&self) -> usize {
        self.square.nrows() + self.below.as_ref().map_or(0, |below| below.nrows())
    }

    /// The chosen rows and columns; one of the two must be of points of the square.
    fn block(&self, rows: &[usize], columns: &[usize]) -> Mat<f64> {
        let n = self.square.nrows();
        let lower = |rows: &[usize]| rows.iter().any(|&row| row >= n);
        match &self.below {
            Some(below) if lower(rows) => part(below, rows, n, columns),
            Some(below) if lower(columns) => part(below, columns, n, rows).transpose().to_owned(),
            _ => part(&self.square, rows, 0, columns),
        }
    }

    fn diagonal(&self, rows: &[usize]) -> Vec<f64> {
        rows.iter().map(|&i| self.square[(i, i)]).collect()
    }
}

impl From<&Arc<Mat<f64>>> for Entries {
    fn from(square: &Arc<Mat<f64>>) -> Self {
        Entries { square: square.clone(), below: None }
    }
}

/// Rows (counted from `first`) and columns of a matrix; those that follow each other are copied in one go.
fn part(matrix: &Mat<f64>, rows: &[usize], first: usize, columns: &[usize]) -> Mat<f64> {
    let run = |list: &[usize]| list.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    match (rows.first(), run(rows)) {
        (Some(top), true) => {
            let mut block = Mat::zeros(rows.len(), columns.len());
            let top = top - first;
            for (j, &column) in columns.iter().enumerate() {
                block.col_as_slice_mut(j).copy_from_slice(&matrix.col_as_slice(column)[top..top + rows.len()]);
            }
            block
        }
        _ => Mat::from_fn(rows.len(), columns.len(), |i, j| matrix[(rows[i] - first, columns[j])]),
    }
}

/// Factors of the kernels of some lists of rows, made once for all that begin with one of them.
#[derive(Debug)]
pub(crate) struct KeptFactors {
    lists: Vec<Vec<usize>>,
    made: Mutex<HashMap<(usize, Term, u64, u64), Arc<Cholesky>>>,
}

impl KeptFactors {
    /// Of these lists.
    pub fn of(lists: Vec<Vec<usize>>) -> Arc<KeptFactors> {
        Arc::new(KeptFactors { lists, made: Mutex::default() })
    }

    /// The factor of the list that `rows` begin with, and its length; `k` is the kernel of all rows.
    pub fn beginning(
        &self,
        rows: &[usize],
        which: Which,
        k: MatRef<'_, f64>,
        ridge: f64,
        name: &str,
    ) -> Option<Result<Arc<Cholesky>>> {
        let list = self.lists.iter().position(|list| rows.starts_with(list))?;
        let key = (list, which.term, which.scale.to_bits(), ridge.to_bits());
        // A thread that died while it held the lock left whole factors behind.
        let made = || self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(factor) = made().get(&key) {
            return Some(Ok(factor.clone()));
        }
        let n = self.lists[list].len();
        let own = k.submatrix(0, 0, n, n);
        let with_ridge = Mat::from_fn(n, n, |i, j| own[(i, j)] + if i == j { ridge } else { 0.0 });
        Some(Cholesky::factor_owned(with_ridge, name).map(|factor| {
            let factor = Arc::new(factor);
            made().insert(key, factor.clone());
            factor
        }))
    }
}

/// The kernels of a wide network, each prepared once.
#[derive(Debug)]
pub(crate) struct Network {
    architecture: Architecture,
    prior: WeightPrior,
    prepared: Mutex<HashMap<Term, Arc<Kernel>>>,
}

impl KernelSource {
    /// Kernels of a wide network.
    pub fn network(architecture: Architecture, prior: WeightPrior) -> KernelSource {
        KernelSource::Network(Network { architecture, prior, prepared: Mutex::default() })
    }
}

impl Network {
    fn kernel(&self, term: Term) -> Result<Arc<Kernel>> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = prepared.get(&term) {
            return Ok(kernel.clone());
        }
        let (kind, t, s) = match term {
            Term::Nngp => (KernelKind::Nngp, 1, 1),
            Term::Ntk => (KernelKind::Ntk, 1, 1),
            Term::Tilde(t, s) => (KernelKind::KTilde, t, s),
            Term::K1(t, s) => (KernelKind::K1, t, s),
        };
        let kernel = Arc::new(Kernel::new(kind, self.architecture, self.prior, t, s)?);
        prepared.insert(term, kernel.clone());
        Ok(kernel)
    }

    /// A kernel without its multiple.
    pub fn prepared(&self, which: Which) -> Result<Arc<Kernel>> {
        self.kernel(which.term)
    }
}

/// One kernel of a source; times count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Term {
    Nngp,
    Ntk,
    Tilde(usize, usize),
    K1(usize, usize),
}

/// A multiple of one kernel of a source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Which {
    term: Term,
    scale: f64,
}

impl Which {
    /// `K_GP` itself.
    pub const NNGP: Which = Which { term: Term::Nngp, scale: 1.0 };

    /// The kernel itself, and what it is multiplied by.
    pub fn unscaled(self) -> (Which, f64) {
        (Which { scale: 1.0, ..self }, self.scale)
    }

    /// A word for file names: equal words, equal kernels (but for the multiple).
    pub fn word(self) -> String {
        match self.term {
            Term::Nngp => "nngp".into(),
            Term::Ntk => "ntk".into(),
            Term::Tilde(t, s) => format!("tilde.{t}.{s}"),
            Term::K1(t, s) => format!("k1.{t}.{s}"),
        }
    }
}

/// The kernels of a source as the theory's mode uses them; times count from 1.
#[derive(Debug)]
pub(crate) struct Kernels {
    pub source: KernelSource,
    limit: Limit,
}

impl Kernels {
    /// # Errors
    /// Where the source cannot serve the mode.
    pub fn new(source: KernelSource, limit: Limit) -> Result<Kernels> {
        let lacking = match (&source, limit.mode) {
            (KernelSource::Features { .. }, Mode::Ntk | Mode::Gibbs) => {
                Some("given features do not learn: use mode rf (or lazy, the same for tangent features)")
            }
            (KernelSource::Table { .. }, Mode::Gibbs) => {
                Some("mode gibbs needs a kernel for every pair of times: give inputs, or use mode rf or ntk")
            }
            (KernelSource::Table { ntk: None, .. }, Mode::Ntk | Mode::Lazy) if !limit.frozen => {
                Some("modes ntk and lazy need the tangent kernel beside the first one")
            }
            _ => None,
        };
        match lacking {
            Some(problem) => Err(Error::data("kernels", problem)),
            None => Ok(Kernels { source, limit }),
        }
    }

    /// Whether `K̃_ts` depends on s alone (and on it only by whether s = 1).
    pub fn stationary(&self) -> bool {
        self.limit.mode != Mode::Gibbs
    }

    /// Whether each pair of tasks, learned alone in random features, is what its order parameters are made of.
    pub fn random_features(&self) -> bool {
        self.limit.mode == Mode::Rf || matches!(self.source, KernelSource::Features { .. })
    }

    /// `K̃_ts`, t ≥ s.
    pub fn tilde(&self, t: usize, s: usize) -> Which {
        match self.limit.mode {
            Mode::Rf => Which::NNGP,
            Mode::Ntk if s > 1 && self.limit.frozen => Which { scale: 0.0, ..Which::NNGP },
            Mode::Ntk if s == 1 => Which { term: Term::Nngp, scale: self.limit.prior.sigma2() },
            Mode::Ntk | Mode::Lazy => Which { term: Term::Ntk, scale: 1.0 },
            Mode::Gibbs => Which { term: Term::Tilde(t, s), scale: 1.0 },
        }
    }

    /// `Cov(f⁰_t(x), f⁰_s(x'))`.
    pub fn covariance(&self, t: usize, s: usize) -> Which {
        match self.limit.mode {
            Mode::Rf | Mode::Ntk | Mode::Lazy => Which { term: Term::Nngp, scale: self.limit.prior.sigma2() },
            Mode::Gibbs => Which { term: Term::K1(t, s), scale: self.limit.prior.m1(t, s) },
        }
    }

    /// One kernel between two sets of points.
    pub fn block(&self, which: Which, x: Points<'_>, x2: Points<'_>) -> Result<Mat<f64>> {
        let mut blocks = self.blocks(&[which], x, x2)?;
        Ok(blocks.pop().unwrap_or_else(|| Mat::zeros(0, 0)))
    }

    /// Several kernels between two sets of points, from one product.
    pub fn blocks(&self, which: &[Which], x: Points<'_>, x2: Points<'_>) -> Result<Vec<Mat<f64>>> {
        let mut blocks = match (&self.source, x, x2) {
            _ if x.is_empty() || x2.is_empty() => which.iter().map(|_| Mat::zeros(x.len(), x2.len())).collect(),
            (KernelSource::Network(network), Points::Inputs(x), Points::Inputs(x2)) => {
                let kernels = prepared(network, which)?;
                Kernel::gram_many(&kernels.iter().map(Arc::as_ref).collect::<Vec<_>>(), x, x2)?
            }
            (KernelSource::Features { .. }, Points::Inputs(x), Points::Inputs(x2)) => {
                let mut k = Mat::zeros(x.nrows(), x2.nrows());
                matmul_into(k.as_mut(), 0.0, 1.0 / x.ncols() as f64, x, x2.transpose());
                vec![k]
            }
            (KernelSource::Table { nngp, ntk, .. }, Points::Rows(rows), Points::Rows(columns)) => {
                let table = |w: &Which| if w.term == Term::Ntk { ntk.as_ref().unwrap_or(nngp) } else { nngp };
                which.iter().map(|w| table(w).block(rows, columns)).collect()
            }
            _ => return Err(points_of_another_kind()),
        };
        scale(&mut blocks, which);
        Ok(blocks)
    }

    /// One kernel of a set of points with itself.
    pub fn symmetric(&self, which: Which, x: Points<'_>) -> Result<Mat<f64>> {
        match (&self.source, x) {
            (KernelSource::Network(network), Points::Inputs(inputs)) if !x.is_empty() => {
                let mut block = [network.kernel(which.term)?.gram_symmetric(inputs)?];
                scale(&mut block, &[which]);
                let [block] = block;
                Ok(block)
            }
            _ => self.block(which, x, x),
        }
    }

    /// `k(x_i, x_i)` of one kernel.
    pub fn diagonal(&self, which: Which, x: Points<'_>) -> Result<Vec<f64>> {
        let mut diagonal = match (&self.source, x) {
            (KernelSource::Network(network), Points::Inputs(x)) => network.kernel(which.term)?.diagonal(x)?,
            (KernelSource::Features { .. }, Points::Inputs(x)) => {
                (0..x.nrows()).map(|i| x.row(i).iter().map(|v| v * v).sum::<f64>() / x.ncols() as f64).collect()
            }
            (KernelSource::Table { nngp, ntk, .. }, Points::Rows(rows)) => {
                let table = if which.term == Term::Ntk { ntk.as_ref().unwrap_or(nngp) } else { nngp };
                table.diagonal(rows)
            }
            _ => return Err(points_of_another_kind()),
        };
        diagonal.iter_mut().for_each(|v| *v *= which.scale);
        Ok(diagonal)
    }
}

/// The prepared kernels of a network.
fn prepared(network: &Network, which: &[Which]) -> Result<Vec<Arc<Kernel>>> {
    which.iter().map(|w| network.kernel(w.term)).collect()
}

fn scale(blocks: &mut [Mat<f64>], which: &[Which]) {
    for (block, w) in blocks.iter_mut().zip(which) {
        if w.scale != 1.0 {
            for j in 0..block.ncols() {
                block.col_as_slice_mut(j).iter_mut().for_each(|v| *v *= w.scale);
            }
        }
    }
}

fn points_of_another_kind() -> Error {
    Error::data("points", "a theory made from inputs takes inputs, one made from kernels takes rows of those kernels")
}
