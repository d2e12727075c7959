//! `K^{l+1} = F(m1 K^l(x,x), m1 K^l(x',x'), mc K^l(x,x'))` (paper, Eqs. 68–70): one pair of inputs propagated through the
//! layers, without cancellation.
//!
//! Linear units are Eqs. 71–73. ReLU is Eqs. 75–80 with `m1(t,t)` and `m1(s,s)` under the root of Eqs. 76 and 77,
//! which omit them. The λ → ∞ limits are Eqs. 81–89, whose solution is the tangent kernel (Eqs.
//! 96–98).
//!
//! Rounding must not destroy `ΔK = K¹ − K⁰`, which is of order 1/λ, or angles near 0 and π. So `1−ρ` and
//! `1+ρ` are propagated separately, and ΔK is propagated directly: with `δ = ρ1 − ρ0 = K̃/n` of the layer below, n the geometric
//! mean of the two variances, [`difference`] gives `g(ρ1) − g(ρ0)` from δ and the mean angle.
//!
//! A bias of prior variance `σ_b²` in every layer is a weight `(σ_b/σ) w_b` from one more unit that is always 1: `K^l` becomes
//! `K^l + σ_b²/σ²` for both branches, in every layer from the inputs to the one that the readout sees.

use super::smooth::{Activity, ERF, GELU, Pair};
use super::{Activation, LayerPrior};
use std::f64::consts::PI;

/// `1 − cos` and `1 + cos` of the angle between two inputs, each with its own relative accuracy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Angle {
    pub minus: f64,
    pub plus: f64,
}

impl Angle {
    /// The angle 0.
    pub const ZERO: Angle = Angle { minus: 0.0, plus: 2.0 };

    /// An angle near 0 (`sign` 1) or near π (`sign` −1), from `1 − |cos|`.
    pub fn near(distance: f64, sign: f64) -> Angle {
        if sign > 0.0 {
            Angle { minus: distance, plus: 2.0 - distance }
        } else {
            Angle { minus: 2.0 - distance, plus: distance }
        }
    }

    /// The cosine.
    pub fn cos(self) -> f64 {
        if self.minus < self.plus { 1.0 - self.minus } else { self.plus - 1.0 }
    }
}

/// The angle `θ = acos ρ` between two pre-activations, with everything that ReLU's kernel needs.
struct Arc {
    theta: f64,
    /// `φ = π − θ`.
    phi: f64,
    sin: f64,
    cos: f64,
}

impl Arc {
    /// Each of θ and φ with its own relative accuracy: the smaller one is `2 atan √((1∓ρ)/(1±ρ))`.
    fn new(rho: Angle) -> Arc {
        let (a, b) = (rho.minus.max(0.0).sqrt(), rho.plus.max(0.0).sqrt());
        let smaller = 2.0 * (a.min(b) / a.max(b)).atan();
        let larger = PI - smaller;
        let (theta, phi) = if a < b { (smaller, larger) } else { (larger, smaller) };
        Arc { theta, phi, sin: a * b, cos: rho.cos() }
    }

    /// `sin θ − θ cos θ`.
    fn upper(&self) -> f64 {
        sin_minus_a_cos(self.theta, self.sin, self.cos)
    }

    /// `g(ρ) = sin φ − φ cos φ`.
    fn lower(&self) -> f64 {
        sin_minus_a_cos(self.phi, self.sin, -self.cos)
    }
}

/// Kernels of the last hidden layer for one pair of inputs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values {
    pub k1: f64,
    /// Followed only where [`Layers::new`] was asked to, else 0.
    pub k0: f64,
    /// Followed only where [`Layers::new`] was asked to, else 0.
    pub delta: f64,
    pub tilde: f64,
    pub derivative: f64,
}

/// How `K⁰` is computed beside `K¹`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Branch {
    /// Not at all.
    None,
    /// At finite λ, or with s = 1.
    Parted,
    /// At λ = ∞ with s ≥ 2: `delta` and `tilde` carry the limits of λΔK and λK̃.
    Limit,
}

/// The moments of one layer's weights at one pair of times.
#[derive(Debug, Clone, Copy)]
struct Moments {
    branch: Branch,
    m1: f64,
    m0: f64,
    m1_minus_m0: f64,
    /// `m1(t,t)`, `m1(s,s)`.
    m_t: f64,
    m_s: f64,
    /// `μ = √(m1(t,t) m1(s,s))`.
    mu: f64,
    /// `1 − m1(t,s)/μ`.
    decorrelation: f64,
    /// `lim λ (m1 − m0)`, at λ = ∞.
    mobility: f64,
}

/// The weights' moments of every layer, and the layers they are used in.
#[derive(Debug, Clone)]
pub(super) struct Layers {
    activation: Activation,
    branch: Branch,
    /// Of the weights above the inputs and above each hidden layer but the last.
    hidden: Vec<Moments>,
    readout: Moments,
    /// `o_ts`: the share of each layer's units that two tasks have in common.
    overlap: f64,
    /// `σ_b²/σ²`: what biases add to the kernel of every layer; masks do not affect them.
    bias: f64,
}

/// `sin a − a cos a` for a in [0, π], given the sine and the cosine.
fn sin_minus_a_cos(a: f64, sin: f64, cos: f64) -> f64 {
    if a > 0.5 {
        return sin - a * cos;
    }
    // Σ_{k≥1} (−1)^{k+1} 2k a^{2k+1}/(2k+1)!; the term left out, k = 8, is below 1e-17 of the first for a ≤ 0.5.
    const C: [f64; 6] = [30.0, 840.0, 45_360.0, 3_991_680.0, 518_918_400.0, 93_405_312_000.0];
    let b = a * a;
    let tail = C.iter().rev().fold(0.0, |sum, c| 1.0 / c - b * sum);
    a * b * (1.0 / 3.0 - b * tail)
}

impl Moments {
    fn new(prior: &LayerPrior, branch: Branch, t: usize, s: usize) -> Self {
        let (mobility, prior) = (prior.mobility, &prior.prior);
        let (m_t, m_s) = (prior.m1(t, t), prior.m1(s, s));
        Moments {
            branch,
            m1: prior.m1(t, s),
            m0: prior.m0(t, s),
            m1_minus_m0: prior.m1_minus_m0(t, s),
            m_t,
            m_s,
            mu: (m_t * m_s).sqrt(),
            decorrelation: prior.one_minus_correlation(t, s),
            mobility,
        }
    }

    /// `1 ∓ ρ1`, `ρ1 = c1 k`, `c1 = m1(t,s)/μ`, from `1 ∓ k` of the layer below: `1 − ρ1 = (1 − c1) + c1 (1 − k)`.
    fn correlate(&self, k: Angle) -> Angle {
        let c1 = self.m1 / self.mu;
        Angle { minus: self.decorrelation + c1 * k.minus, plus: self.decorrelation + c1 * k.plus }
    }

    /// `δ = (m1 k1 − m0 k0)/μ` from the kernels `k1` and `k1 − k0` of the layer below; in the limit λ times that.
    fn next_delta(&self, k1: f64, delta: f64) -> f64 {
        if self.branch == Branch::Limit {
            self.mobility * k1 / self.mu + delta
        } else {
            (self.m1_minus_m0 * k1 + self.m0 * delta) / self.mu
        }
    }
}

impl Layers {
    /// Layers with these priors of their weights, the readout's last; `part`: whether the branch `K⁰` matters.
    pub fn new(
        activation: Activation,
        priors: &[LayerPrior],
        (t, s): (usize, usize),
        overlap: f64,
        part: bool,
    ) -> Self {
        let limit = priors.iter().all(|layer| layer.prior.lambda().is_infinite());
        let branch = match part {
            true if limit && t.min(s) >= 2 => Branch::Limit,
            true => Branch::Parted,
            false => Branch::None,
        };
        let mut hidden: Vec<Moments> = priors.iter().map(|prior| Moments::new(prior, branch, t, s)).collect();
        let readout = hidden.remove(hidden.len() - 1);
        Layers { activation, branch, hidden, readout, overlap, bias: priors[0].prior.relative_bias() }
    }

    /// Whether units have biases.
    pub fn have_bias(&self) -> bool {
        self.bias > 0.0
    }

    /// Whether norms of inputs only scale the kernel.
    pub fn are_homogeneous(&self) -> bool {
        matches!(self.activation, Activation::Relu | Activation::Linear) && self.bias == 0.0
    }

    /// All kernels of two inputs at `angle` with squared norms `v` and `v2`, divided by N0.
    pub fn evaluate(&self, angle: Angle, v: f64, v2: f64) -> Values {
        match self.activation {
            Activation::Relu => self.relu(angle, [v, v2]),
            Activation::Linear => self.linear(angle.cos() * (v * v2).sqrt()),
            Activation::Erf => self.smooth(angle, [v, v2], ERF),
            Activation::Gelu => self.smooth(angle, [v, v2], GELU),
        }
    }

    /// ReLU (paper, Eqs. 75–80) with every kernel divided by `n_l = √(K_tt^l(x,x) K_ss^l(x',x'))`,
    /// `n_{l+1} = (μ/2) n_l` without biases; `own` are the two kernels under the root.
    fn relu(&self, angle: Angle, mut own: [f64; 2]) -> Values {
        let mut k = angle;
        let mut v = Values { k1: angle.cos(), k0: angle.cos(), delta: 0.0, tilde: 0.0, derivative: 0.0 };
        let mut scale = (own[0] * own[1]).sqrt();
        self.add_bias(&mut k, &mut own, &mut scale, Some(&mut v));
        for layer in &self.hidden {
            let delta = layer.next_delta(v.k1, v.delta);
            let rho1 = layer.correlate(k);
            let arc1 = Arc::new(rho1);
            v.k1 = arc1.lower() / PI;
            v.derivative = arc1.phi / (2.0 * PI);
            (v.k0, v.delta) = match self.branch {
                Branch::None => (0.0, 0.0),
                Branch::Limit => (v.k1, arc1.phi / PI * delta),
                Branch::Parted => {
                    let arc0 = Arc::new(Angle { minus: rho1.minus + delta, plus: rho1.plus - delta });
                    (arc0.lower() / PI, difference(&arc1, &arc0, delta) / PI)
                }
            };
            k = self.gated(Angle { minus: rho1.minus - arc1.upper() / PI, plus: 1.0 + v.k1 });
            self.gate(&mut v);
            scale *= 0.5 * layer.mu;
            own = [0.5 * layer.m_t * own[0], 0.5 * layer.m_s * own[1]];
            self.add_bias(&mut k, &mut own, &mut scale, Some(&mut v));
        }
        v.tilde = scale * self.readout.mu * self.readout.next_delta(v.k1, v.delta);
        v.k1 *= scale;
        v.k0 *= scale;
        v.delta *= scale;
        v
    }

    /// `K¹ = m1^L x·x'/N0`, `K⁰ = m0^L x·x'/N0` and their differences (paper, Eqs. 71–73).
    fn linear(&self, k: f64) -> Values {
        let k = k + self.bias;
        let mut v = Values { k1: k, k0: k, delta: 0.0, tilde: 0.0, derivative: 1.0 };
        for layer in &self.hidden {
            v.delta = layer.mu * layer.next_delta(v.k1, v.delta);
            v.k1 *= layer.m1;
            v.k0 *= layer.m0;
            v.derivative = 1.0;
            self.gate(&mut v);
            v.k1 += self.bias;
            v.k0 += self.bias;
        }
        v.tilde = self.readout.mu * self.readout.next_delta(v.k1, v.delta);
        v
    }

    /// Activations that are not homogeneous; `own` is `K_tt(x,x)` and `K_ss(x',x')`.
    fn smooth(&self, angle: Angle, mut own: [f64; 2], activity: Activity) -> Values {
        let mut scale = (own[0] * own[1]).sqrt();
        let k = angle.cos() * scale + self.bias;
        let mut angle = angle;
        self.add_bias(&mut angle, &mut own, &mut scale, None);
        let mut v = Values { k1: k, k0: k, delta: 0.0, tilde: 0.0, derivative: 0.0 };
        for (l, layer) in self.hidden.iter().enumerate() {
            let (vx, vx2) = (layer.m_t * own[0], layer.m_s * own[1]);
            let c1 = layer.m1 * v.k1;
            // v v' − c²: in the first layer from the angle itself; in later ones v = O(1), and the difference is not small
            // compared with the 1 + 2v + 2v' (GELU: 1 + v + v') that it is added to.
            let product = if l == 0 {
                let rho = layer.correlate(angle);
                vx * vx2 * rho.minus * rho.plus
            } else {
                vx * vx2 - c1 * c1
            };
            let shift = layer.mu * layer.next_delta(v.k1, v.delta);
            let pair = Pair { v: vx, v2: vx2, c1, c0: layer.m0 * v.k0, shift, product };
            let dual = (activity.dual)(&pair, self.branch == Branch::Parted);
            v.derivative = dual.slope;
            v.k1 = dual.k1;
            (v.k0, v.delta) = match self.branch {
                Branch::None => (0.0, 0.0),
                Branch::Limit => (dual.k1, dual.slope * shift),
                Branch::Parted => (dual.k0, dual.delta),
            };
            self.gate(&mut v);
            v.k1 += self.bias;
            v.k0 += self.bias;
            own = [(activity.diagonal)(vx) + self.bias, (activity.diagonal)(vx2) + self.bias];
        }
        v.tilde = self.readout.mu * self.readout.next_delta(v.k1, v.delta);
        v
    }

    /// `K + b`, `b = σ_b²/σ²`, in the kernels `own` of each input with itself, in `scale`, the root of their product, and in
    /// `1 ∓ k` and `v`, which are divided by it. With n the scale before and n' after,
    /// `n' (1 − k') = (n' − n − b) + n (1 − k)`, where `n'² − (n + b)² = b (√K(x,x) − √K(x',x'))²`.
    fn add_bias(&self, k: &mut Angle, own: &mut [f64; 2], scale: &mut f64, v: Option<&mut Values>) {
        let (b, n) = (self.bias, *scale);
        if b == 0.0 {
            return;
        }
        let apart = own[0].sqrt() - own[1].sqrt();
        *own = own.map(|own| own + b);
        *scale = (own[0] * own[1]).sqrt();
        let excess = b * apart * apart / (*scale + n + b);
        *k = Angle { minus: (excess + n * k.minus) / *scale, plus: (2.0 * b + excess + n * k.plus) / *scale };
        if let Some(v) = v {
            (v.k1, v.k0) = ((n * v.k1 + b) / *scale, (n * v.k0 + b) / *scale);
            v.delta *= n / *scale;
        }
    }

    /// The kernels of a layer between tasks that share `o_ts` of its units.
    fn gate(&self, v: &mut Values) {
        for value in [&mut v.k1, &mut v.k0, &mut v.delta, &mut v.derivative] {
            *value *= self.overlap;
        }
    }

    /// `1 ∓ o k` from `1 ∓ k`.
    fn gated(&self, k: Angle) -> Angle {
        let rest = 1.0 - self.overlap;
        Angle { minus: rest + self.overlap * k.minus, plus: rest + self.overlap * k.plus }
    }
}

/// The paper's `J` (Eq. 75) at two angles: `g(ρ1) − g(ρ0) = (π−m) δ − 2 cos m (sin h − h cos h)` from `δ = ρ1 − ρ0`,
/// with `m = (θ1+θ0)/2` and `sin h = δ/(2 sin m)`.
fn difference(arc1: &Arc, arc0: &Arc, delta: f64) -> f64 {
    if delta == 0.0 {
        return 0.0;
    }
    let (m, pi_minus_m) = (0.5 * (arc1.theta + arc0.theta), 0.5 * (arc1.phi + arc0.phi));
    let (sin_m, cos_m) = if m < pi_minus_m {
        m.sin_cos()
    } else {
        let (sin, cos) = pi_minus_m.sin_cos();
        (sin, -cos)
    };
    // Both cosines have the same sign, so that |h| ≤ π/4.
    let sin_h = delta.abs() / (2.0 * sin_m);
    let h = sin_h.min(1.0).asin();
    let cubic = sin_minus_a_cos(h, sin_h, (1.0 - sin_h * sin_h).max(0.0).sqrt());
    pi_minus_m * delta - 2.0 * cos_m * cubic.copysign(delta)
}

#[cfg(test)]
mod tests {
    use super::super::{Architecture, WeightPrior};
    use super::*;
    use crate::metrics::normal_cdf;

    /// All layers with one prior.
    fn alike(arch: Architecture, prior: &WeightPrior, t: usize, s: usize) -> Layers {
        Layers::new(arch.activation, &LayerPrior::alike(arch.depth, *prior), (t, s), 1.0, true)
    }

    /// `E[f(z) f(z')]` of Gaussians with variances v, v' and covariance c, by the trapezoidal rule on the plane, which
    /// converges exponentially for entire functions: at step 0.125 and 10 standard deviations it is exact to rounding.
    fn expectation(f: impl Fn(f64) -> f64, v: f64, v2: f64, c: f64) -> f64 {
        const STEP: f64 = 0.125;
        let slope = c / v.sqrt();
        let rest = (v2 - slope * slope).max(0.0).sqrt();
        let nodes: Vec<(f64, f64)> =
            (-80..=80).map(|i| i as f64 * STEP).map(|u| (u, STEP * (-0.5 * u * u).exp() / (2.0 * PI).sqrt())).collect();
        let mut sum = 0.0;
        for &(u, weight) in &nodes {
            let inner: f64 = nodes.iter().map(|&(w, weight)| weight * f(slope * u + rest * w)).sum();
            sum += weight * f(v.sqrt() * u) * inner;
        }
        sum
    }

    /// All kernels by the defining recursion, with expectations by quadrature.
    fn by_quadrature(
        f: fn(f64) -> f64,
        df: fn(f64) -> f64,
        depth: usize,
        prior: &WeightPrior,
        (t, s): (usize, usize),
        inputs: [f64; 3],
    ) -> Values {
        let b = prior.bias2() / prior.sigma2();
        let [mut kx, mut ky, mut k1] = inputs.map(|k| k + b);
        let (mut k0, mut derivative) = (k1, 0.0);
        for _ in 0..depth {
            let (v, v2) = (prior.m1(t, t) * kx, prior.m1(s, s) * ky);
            let (c1, c0) = (prior.m1(t, s) * k1, prior.m0(t, s) * k0);
            (kx, ky) = (expectation(f, v, v, v) + b, expectation(f, v2, v2, v2) + b);
            (k1, k0) = (expectation(f, v, v2, c1) + b, expectation(f, v, v2, c0) + b);
            derivative = expectation(df, v, v2, c1);
        }
        let tilde = prior.m1(t, s) * k1 - prior.m0(t, s) * k0;
        Values { k1, k0, delta: k1 - k0, tilde, derivative }
    }

    fn derf(z: f64) -> f64 {
        2.0 / PI.sqrt() * (-z * z).exp()
    }

    fn gelu(z: f64) -> f64 {
        z * normal_cdf(z)
    }

    fn dgelu(z: f64) -> f64 {
        normal_cdf(z) + z * (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
    }

    #[test]
    fn erf_gelu_and_linear_agree_with_quadrature_at_unequal_norms() {
        let cases: [(Activation, fn(f64) -> f64, fn(f64) -> f64); 3] =
            [(Activation::Erf, libm::erf, derf), (Activation::Gelu, gelu, dgelu), (Activation::Linear, |z| z, |_| 1.0)];
        for (activation, f, df) in cases {
            for depth in [1, 3] {
                for (lambda, sigma2, bias2) in [(0.0, 1.0, 0.0), (0.5, 1.5, 0.4), (20.0, 0.7, 0.0), (3.0, 1.0, 0.1)] {
                    for times in [(1, 1), (2, 1), (1, 3), (3, 2), (2, 2)] {
                        let prior = WeightPrior::new(lambda, sigma2).unwrap().with_bias(bias2).unwrap();
                        let layers = alike(Architecture { activation, depth }, &prior, times.0, times.1);
                        for (v, v2, cos) in [(0.8, 0.3, 0.6), (1.0, 1.0, -0.9), (0.2, 1.4, 0.999)] {
                            let inner = cos * f64::sqrt(v * v2);
                            let want = by_quadrature(f, df, depth, &prior, times, [v, v2, inner]);
                            let got = layers.evaluate(Angle { minus: 1.0 - cos, plus: 1.0 + cos }, v, v2);
                            for (got, want) in [
                                (got.k1, want.k1),
                                (got.k0, want.k0),
                                (got.delta, want.delta),
                                (got.tilde, want.tilde),
                                (got.derivative, want.derivative),
                            ] {
                                // Rounding of 161² terms of order one, layer by layer.
                                assert!(
                                    (got - want).abs() < 2e-14,
                                    "{activation:?} {depth} {lambda} {times:?}: {got} {want}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_limit_of_smooth_activations_is_approached_at_order_one_over_lambda() {
        let angle = Angle { minus: 0.4, plus: 1.6 };
        for (activation, bias2) in [(Activation::Erf, 0.0), (Activation::Erf, 0.5), (Activation::Gelu, 0.2)] {
            let at = |lambda: f64| {
                let prior = WeightPrior::new(lambda, 1.2).unwrap().with_bias(bias2).unwrap();
                let v = alike(Architecture { activation, depth: 3 }, &prior, 4, 2).evaluate(angle, 0.9, 1.1);
                let factor = if lambda.is_finite() { lambda } else { 1.0 };
                [v.k1, v.k0, factor * v.delta, factor * v.tilde, v.derivative]
            };
            let limit = at(f64::INFINITY);
            let (near, nearer) = (at(1e6), at(1e7));
            for i in 0..5 {
                // These kernels are analytic on the diagonal, so the error is O(1/λ): ten times smaller at ten times λ.
                let (e, e10) = ((near[i] - limit[i]).abs(), (nearer[i] - limit[i]).abs());
                assert!(e < 1e-4 && (e / e10 - 10.0).abs() < 0.1, "{activation:?} {i}: {e:e} {e10:e}");
            }
        }
    }

    #[test]
    fn large_norms_lose_no_digits_in_differences() {
        // Equal inputs with m1 v = u: r1 = 2u/(1+2u), r0 = r1 ρ0, both so close to 1 that asin is nearly vertical.
        let arch = Architecture { activation: Activation::Erf, depth: 1 };
        let prior = WeightPrior::new(1e6, 1.0).unwrap();
        let (u, gap) = (prior.m1(2, 2) * 1e14, prior.m1_minus_m0(2, 2) / prior.m1(2, 2));
        let got = alike(arch, &prior, 2, 2).evaluate(Angle::ZERO, 1e14, 1e14).delta;
        let arccos1 = (1.0 + 4.0 * u).sqrt().atan2(2.0 * u);
        let arccos0 = (1.0 + 4.0 * u + 4.0 * u * u * gap * (2.0 - gap)).sqrt().atan2(2.0 * u * (1.0 - gap));
        let want = 2.0 / PI * (arccos0 - arccos1);
        // The arcs are near π/2 and carry an absolute error ε against the 1e-3 that they differ by.
        assert!((got / want - 1.0).abs() < 1e-12, "{got} {want}");
    }

    #[test]
    fn the_series_of_sin_a_minus_a_cos_a_meets_its_closed_form() {
        for a in [0.3f64, 0.45, 0.5] {
            let closed = a.sin() - a * a.cos();
            // The closed form loses digits to cancellation: ε sin a against a³/3.
            assert!((sin_minus_a_cos(a, a.sin(), a.cos()) - closed).abs() < 2.0 * f64::EPSILON * a);
        }
    }
}
