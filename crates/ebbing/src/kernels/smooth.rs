//! `F(v,v',c) = E[φ(z)φ(z')]` in closed form for activations that are not homogeneous, z and z' Gaussian of variances v,
//! v' and covariance c: erf and GELU, which the paper does not treat.
//!
//! ```math
//! \text{erf:}\quad F = \tfrac{2}{\pi}\arcsin\frac{2c}{\sqrt{(1+2v)(1+2v')}}, \qquad
//! F' = \frac{4}{\pi}\,\frac{1}{\sqrt{(1+2v)(1+2v')-4c^2}}
//! ```
//!
//! ```math
//! \text{GELU, } \varphi(z) = z\,\Phi(z)\text{:}\quad
//! 2\pi F = c\Bigl(\tfrac{\pi}{2}+\arcsin\tfrac{c}{\sqrt S}\Bigr) + \frac{vv'\sqrt D + c^2/\sqrt D}{S}, \qquad
//! S = (1+v)(1+v'),\quad D = S - c^2
//! ```
//!
//! and `F' = ∂F/∂c = E[φ'(z)φ'(z')]`. GELU's F follows from integration by parts: with `P = E[ϕ(z)ϕ(z')] = 1/(2π√D)`, ϕ the
//! normal density, `E[zz'ΦΦ'] = c E[ΦΦ'] + v E[z'ϕΦ'] + c E[z'Φϕ']`, where `E[z'Φϕ'] = cP/(1+v')` and
//! `E[z'ϕΦ'] = P (v' − c²/(1+v))`. Differences `F(c1) − F(c0)` are taken factor by factor, each a multiple of `c1 − c0`.

use std::f64::consts::PI;

/// Variances and covariances of two pre-activations.
pub(super) struct Pair {
    pub v: f64,
    pub v2: f64,
    /// On one branch of the weights, and on branches that separate.
    pub c1: f64,
    pub c0: f64,
    /// `c1 − c0`, with its own relative accuracy.
    pub shift: f64,
    /// `v v' − c1²`, likewise.
    pub product: f64,
}

/// The kernels of a pair one layer up.
pub(super) struct Dual {
    /// `F(c1)`.
    pub k1: f64,
    /// `F(c0)`, and `F(c1) − F(c0)`: if requested, else `F(c1)` and 0.
    pub k0: f64,
    pub delta: f64,
    /// `F'(c1)`.
    pub slope: f64,
}

/// An activation's F for a pair (`parted`: at c0 too) and at `v = v' = c`.
#[derive(Clone, Copy)]
pub(super) struct Activity {
    pub dual: fn(&Pair, parted: bool) -> Dual,
    pub diagonal: fn(f64) -> f64,
}

pub(super) const ERF: Activity = Activity { dual: erf, diagonal: erf_diagonal };
pub(super) const GELU: Activity = Activity { dual: gelu, diagonal: gelu_diagonal };

fn erf(p: &Pair, parted: bool) -> Dual {
    let gap1 = 1.0 + 2.0 * p.v + 2.0 * p.v2 + 4.0 * p.product;
    let arc1 = (2.0 * p.c1).atan2(gap1.sqrt());
    let (k1, slope) = (2.0 / PI * arc1, 4.0 / (PI * gap1.sqrt()));
    if !parted {
        return Dual { k1, k0: k1, delta: 0.0, slope };
    }
    let gap0 = gap1 + 4.0 * (p.c1 + p.c0) * p.shift;
    let arc0 = (2.0 * p.c0).atan2(gap0.sqrt());
    let d = ((1.0 + 2.0 * p.v) * (1.0 + 2.0 * p.v2)).sqrt();
    Dual { k1, k0: 2.0 / PI * arc0, delta: 2.0 / PI * arc_difference(arc1, arc0, 2.0 * p.shift / d), slope }
}

/// `E[erf(z)²] = (2/π) asin(2v/(1+2v))`, z of variance v.
fn erf_diagonal(v: f64) -> f64 {
    2.0 / PI * (2.0 * v).atan2((1.0 + 4.0 * v).sqrt())
}

fn gelu(p: &Pair, parted: bool) -> Dual {
    let s = (1.0 + p.v) * (1.0 + p.v2);
    let gap1 = 1.0 + p.v + p.v2 + p.product;
    let root1 = gap1.sqrt();
    let arc1 = p.c1.atan2(root1);
    let value =
        |c: f64, arc: f64, root: f64| (c * (0.5 * PI + arc) + (p.v * p.v2 * root + c * c / root) / s) / (2.0 * PI);
    let rest = p.c1 / root1 * (1.0 + (2.0 - p.v * p.v2 + p.c1 * p.c1 / gap1) / s);
    let (k1, slope) = (value(p.c1, arc1, root1), (0.5 * PI + arc1 + rest) / (2.0 * PI));
    if !parted {
        return Dual { k1, k0: k1, delta: 0.0, slope };
    }
    let (sum, shift) = (p.c1 + p.c0, p.shift);
    let root0 = (gap1 + sum * shift).sqrt();
    let arc0 = p.c0.atan2(root0);
    let arcs = (0.5 * PI + arc1) * shift + p.c0 * arc_difference(arc1, arc0, shift / s.sqrt());
    // √D1 − √D0 and c1²/√D1 − c0²/√D0, from D0 − D1 = (c1 + c0)(c1 − c0).
    let roots = -sum * shift / (root1 + root0);
    let squares = sum * shift / root1 - p.c0 * p.c0 * roots / (root1 * root0);
    let delta = (arcs + (p.v * p.v2 * roots + squares) / s) / (2.0 * PI);
    Dual { k1, k0: value(p.c0, arc0, root0), delta, slope }
}

/// GELU's `E[φ(z)²]`, z of variance v.
fn gelu_diagonal(v: f64) -> f64 {
    gelu(&Pair { v, v2: v, c1: v, c0: v, shift: 0.0, product: 0.0 }, false).k1
}

/// `a1 − a0` of two arcs in [−π/2, π/2] from the difference of their sines: `2 cos((a1+a0)/2) sin((a1−a0)/2)`.
fn arc_difference(a1: f64, a0: f64, sines: f64) -> f64 {
    2.0 * (0.5 * sines / (0.5 * (a1 + a0)).cos()).clamp(-1.0, 1.0).asin()
}
