//! `θ ← c₁θ + c₂θ_prev + c₃g`: one step of the loss and of the penalty (paper, Eqs. 181, 182, 185), written in place.

use super::learner::PenaltyStep;
use super::mlp::Mlp;
use crate::linalg::{LEAVE, Mat, MatRef, column_f32, for_columns, matmul_f32, matmul_f32_with};

/// One matrix per layer: weights, Fishers or gradients. The readout comes last.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Params(pub Vec<Mat<f32>>);

impl Params {
    /// A copy of the hidden weights and of readout `head`.
    pub fn of(net: &Mlp, head: usize) -> Self {
        let mut all = net.hidden.clone();
        all.push(net.heads[head].clone());
        Params(all)
    }

    /// Zeros of the same shapes.
    pub fn zeros_like(&self) -> Self {
        Params(self.0.iter().map(|m| Mat::zeros(m.nrows(), m.ncols())).collect())
    }

    /// The largest entry of the first `layers` matrices.
    pub fn max(&self, layers: usize) -> f32 {
        let columns = self.0[..layers].iter().flat_map(|m| (0..m.ncols()).map(move |j| column_f32(m.as_ref(), j)));
        columns.flatten().fold(0.0, |a, &b| a.max(b))
    }

    /// `Σ θ²`, in double precision.
    pub fn squared_norm(&self) -> f64 {
        let columns = self.0.iter().flat_map(|m| (0..m.ncols()).map(move |j| column_f32(m.as_ref(), j)));
        columns.flatten().map(|&v| f64::from(v).powi(2)).sum()
    }
}

/// What pulls weights back to where they were.
pub(crate) enum Penalty {
    /// Nothing.
    None,
    /// `κ/2 |θ − θ_prev|²`.
    Uniform {
        /// κ.
        kappa: f32,
        /// θ_prev.
        anchor: Params,
    },
    /// `κ/2 Σ F_i (θ − θ_prev)_i²`.
    Weighted {
        /// κ.
        kappa: f32,
        /// F.
        fisher: Params,
        /// θ_prev.
        anchor: Params,
    },
}

/// Takes steps; owns what they need besides the weights.
pub(crate) struct Updater {
    /// The learning rate.
    pub eta: f32,
    /// The penalty.
    pub penalty: Penalty,
    /// Layers from this index on are not penalized (the readout in multi-head learning).
    pub penalized: usize,
    /// How the penalty is stepped.
    pub form: PenaltyStep,
    /// Heavy-ball momentum and its velocity.
    pub momentum: Option<(f32, Params)>,
    /// A gradient buffer, where steps are not a plain product.
    pub gradient: Option<Params>,
}

/// The three factors of a step of rate η that a penalty pulls back by a share `pull` = ηc, c its curvature.
pub(crate) fn factors(eta: f32, pull: f32, form: PenaltyStep) -> [f32; 3] {
    match form {
        PenaltyStep::Implicit => [1.0 / (1.0 + pull), pull / (1.0 + pull), -eta / (1.0 + pull)],
        PenaltyStep::Explicit => [1.0 - pull, pull, -eta],
    }
}

impl Updater {
    /// How far a step moves along a gradient that stays: η/(1−m) with momentum m, with which the penalty keeps pace.
    fn reach(&self) -> f32 {
        self.eta / (1.0 - self.momentum.as_ref().map_or(0.0, |(mu, _)| *mu))
    }

    /// The largest share by which the penalty pulls a weight back in one step, ηκF/(1−m).
    pub fn strongest_pull(&self) -> f64 {
        let curvature = match &self.penalty {
            Penalty::None => 0.0,
            Penalty::Uniform { kappa, .. } => *kappa,
            Penalty::Weighted { kappa, fisher, .. } => kappa * fisher.max(self.penalized),
        };
        f64::from(self.reach() * curvature)
    }

    /// The uniform penalty's factors for layer `k`.
    pub fn uniform_factors(&self, k: usize) -> [f32; 3] {
        match &self.penalty {
            Penalty::Uniform { kappa, .. } if k < self.penalized => factors(self.eta, self.reach() * kappa, self.form),
            _ => [1.0, 0.0, -self.eta],
        }
    }

    /// One step of layer `k`, whose gradient is `scale · a b`.
    pub fn step(&mut self, k: usize, w: &mut Mat<f32>, scale: f32, a: MatRef<'_, f32>, b: MatRef<'_, f32>) {
        if let Some((mu, velocity)) = &mut self.momentum {
            let slow = |_: usize, _: usize, v: &mut [f32]| v.iter_mut().for_each(|v| *v *= *mu);
            matmul_f32_with(velocity.0[k].as_mut(), 1.0, scale, a, b, &slow, LEAVE);
        } else if let Some(gradient) = &mut self.gradient {
            matmul_f32(gradient.0[k].as_mut(), 0.0, scale, a, b);
        } else {
            let [keep, back, along] = self.uniform_factors(k);
            return match &self.penalty {
                Penalty::Uniform { anchor, .. } if k < self.penalized => {
                    let pull = |i: usize, j: usize, w: &mut [f32]| {
                        let anchor = &column_f32(anchor.0[k].as_ref(), j)[i..i + w.len()];
                        w.iter_mut().zip(anchor).for_each(|(w, a)| *w = keep * *w + back * a);
                    };
                    matmul_f32_with(w.as_mut(), 1.0, along * scale, a, b, &pull, LEAVE);
                }
                _ => matmul_f32(w.as_mut(), 1.0, along * scale, a, b),
            };
        }
        self.step_along(k, w);
    }

    /// One step of layer `k` along the stored gradient or velocity.
    fn step_along(&mut self, k: usize, w: &mut Mat<f32>) {
        let uniform = self.uniform_factors(k);
        let along = match (&self.momentum, &self.gradient) {
            (Some((_, velocity)), _) => &velocity.0[k],
            (None, Some(gradient)) => &gradient.0[k],
            (None, None) => unreachable!("a step without a buffer is taken in place"),
        };
        let (eta, reach, form, penalized) = (self.eta, self.reach(), self.form, k < self.penalized);
        for_columns(w, |j, w| {
            let g = column_f32(along.as_ref(), j);
            match &self.penalty {
                Penalty::Uniform { anchor, .. } if penalized => {
                    let anchor = column_f32(anchor.0[k].as_ref(), j);
                    for i in 0..w.len() {
                        w[i] = uniform[0] * w[i] + uniform[1] * anchor[i] + uniform[2] * g[i];
                    }
                }
                Penalty::Weighted { kappa, fisher, anchor } if penalized => {
                    let (anchor, fisher) = (column_f32(anchor.0[k].as_ref(), j), column_f32(fisher.0[k].as_ref(), j));
                    for i in 0..w.len() {
                        let c = factors(eta, reach * kappa * fisher[i], form);
                        w[i] = c[0] * w[i] + c[1] * anchor[i] + c[2] * g[i];
                    }
                }
                _ => w.iter_mut().zip(g).for_each(|(w, g)| *w -= eta * g),
            }
        });
    }
}
