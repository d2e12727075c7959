//! Axes: their range, four to six ticks with labels, and where a value lies between the ends.

use crate::style::with_minus;

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
    /// Linear with ticks at whole numbers only.
    Integer,
}

/// A tick and its label (markup).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    pub label: String,
}

/// An axis from `low` to `high`.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
    pub ticks: Vec<Tick>,
    /// Ticks without a label between powers of ten.
    pub minor: Vec<f64>,
    /// Power of ten taken out of the labels; belongs to the axis name.
    pub factor: Option<i32>,
    /// Ticks are names of places, not values on a scale.
    pub named: bool,
}

/// Most ticks on an axis.
pub(crate) const MOST: usize = 6;
/// Fewest ticks on a linear axis.
pub(crate) const FEWEST: usize = 4;

impl Axis {
    /// An axis that holds values from `low` to `high`, widened to ticks unless the range was `fixed` by the user,
    /// with at most `most` ticks (not less than `FEWEST`).
    pub fn new(scale: Scale, low: f64, high: f64, fixed: bool, most: usize) -> Axis {
        let (low, high) = spread(scale, low, high);
        match scale {
            Scale::Linear => linear(low, high, fixed, most),
            Scale::Integer => integer(low, high, fixed, most),
            Scale::Log => log(low, high, fixed, most),
        }
    }

    /// Names at 0, 1, 2, …, each in the middle of a cell of width 1.
    pub fn named(names: &[String]) -> Axis {
        let ticks = names.iter().enumerate().map(|(k, n)| Tick { value: k as f64, label: n.clone() }).collect();
        Axis {
            scale: Scale::Linear,
            low: -0.5,
            high: names.len() as f64 - 0.5,
            ticks,
            minor: Vec::new(),
            factor: None,
            named: true,
        }
    }

    /// Where a value lies: 0 at the low end, 1 at the high end; `None` where the axis cannot show it.
    pub fn share(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Log if value <= 0.0 => return None,
            Scale::Log => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            _ => (value - self.low) / (self.high - self.low),
        };
        share.is_finite().then_some(share)
    }
}

/// A range that is not empty and that the scale can show.
fn spread(scale: Scale, low: f64, high: f64) -> (f64, f64) {
    let (low, high) = if low <= high { (low, high) } else { (high, low) };
    match scale {
        Scale::Log if low <= 0.0 || !high.is_finite() => (0.1, 10.0),
        Scale::Log if low == high => (low / 2.0, high * 2.0),
        _ if !low.is_finite() || !high.is_finite() || !(high - low).is_finite() => (0.0, 1.0),
        // A range narrower than rounding can tell apart counts as one value.
        Scale::Linear | Scale::Integer if high - low <= 1e-12 * high.abs().max(low.abs()) => {
            let half = 0.1 * low.abs();
            match (low == 0.0, scale) {
                // What is 0 everywhere lies on the bottom of an axis of the usual size.
                (true, Scale::Linear) => (0.0, 1.0),
                (true, _) => (-1.0, 1.0),
                _ => (low - half, high + half),
            }
        }
        _ => (low, high),
    }
}

/// Multiples of `step` within the range, tolerant of rounding at the ends.
fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let slack = 1e-9;
    let first = (low / step - slack).ceil() as i64;
    let last = (high / step + slack).floor() as i64;
    (first..=last).map(|k| k as f64 * step).collect()
}

/// A step and the number of decimals that writes its multiples.
fn step_at(mantissa: f64, power: i32) -> (f64, i32) {
    let extra = i32::from(mantissa.fract() != 0.0);
    // 10^power from a literal keeps steps such as 0.1 as near to decimal as can be.
    let unit: f64 = format!("1e{power}").parse().unwrap_or(1.0);
    (mantissa * unit, extra - power)
}

fn linear(low: f64, high: f64, fixed: bool, most: usize) -> Axis {
    let power = (high - low).log10().floor() as i32;
    let steps = |mantissas: &'static [f64]| {
        (power - 2..=power + 1).flat_map(move |p| mantissas.iter().map(move |m| step_at(*m, p)))
    };
    let (mut low, mut high) = (low, high);
    if !fixed {
        // Ends on ticks where that leaves little room empty, else a small margin around the data.
        for (step, decimals) in steps(&[1.0, 2.0, 5.0]).chain(steps(&[2.5])) {
            let (a, b) = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
            let values = multiples(a, b, step);
            if (FEWEST..=most).contains(&values.len()) && b - a <= 1.2 * (high - low) {
                return labeled(a, b, values, decimals);
            }
        }
        let margin = 0.04 * (high - low);
        low -= if low == 0.0 { 0.0 } else { margin };
        high += if high == 0.0 { 0.0 } else { margin };
    }
    // The last steps are unusual but close the gaps: neighbors differ at most 1.5-fold, so that four to six ticks fit.
    let candidates = steps(&[1.0, 2.0, 5.0]).chain(steps(&[2.5])).chain(steps(&[1.5, 3.0, 4.0, 6.0, 8.0]));
    for (step, decimals) in candidates {
        let values = multiples(low, high, step);
        if (FEWEST..=most).contains(&values.len()) {
            return labeled(low, high, values, decimals);
        }
    }
    if most < MOST {
        return linear(low, high, true, most + 1);
    }
    let (step, decimals) = step_at(1.0, power);
    labeled(low, high, multiples(low, high, step), decimals)
}

/// Labels with as many decimals as the step needs, a common power of ten taken out where they would be long.
fn labeled(low: f64, high: f64, values: Vec<f64>, decimals: i32) -> Axis {
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let size = if largest > 0.0 { (largest * (1.0 + 1e-12)).log10().floor() as i32 } else { 0 };
    let factor = (size >= 4 || decimals > 4).then_some(size);
    let (shift, decimals) = match factor {
        Some(power) => (power, decimals + power),
        None => (0, decimals),
    };
    let places = decimals.max(0) as usize;
    let label = |v: f64| {
        let text = format!("{:.places$}", v / 10f64.powi(shift));
        let zero = !text.contains(|c: char| ('1'..='9').contains(&c));
        if zero { "0".into() } else { with_minus(&text) }
    };
    let ticks = values.into_iter().map(|value| Tick { value, label: label(value) }).collect();
    Axis { scale: Scale::Linear, low, high, ticks, minor: Vec::new(), factor, named: false }
}

fn integer(low: f64, high: f64, fixed: bool, most: usize) -> Axis {
    let (mut first, last) = (low.ceil(), high.floor());
    let step = [1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
        .into_iter()
        .find(|s| ((last - first) / s).floor() < most as f64)
        .unwrap_or(((last - first) / 5.0).ceil());
    // Long steps count from 0, as one would.
    if step >= 5.0 {
        first = (first / step).ceil() * step;
    }
    let count = ((last - first) / step).floor() as i64;
    let values = (0..=count).map(|k| first + k as f64 * step);
    let ticks = values.map(|value| Tick { value, label: with_minus(&format!("{value:.0}")) }).collect();
    let pad = if fixed { 0.0 } else { 0.04 * (high - low) };
    Axis {
        scale: Scale::Integer,
        low: low - pad,
        high: high + pad,
        ticks,
        minor: Vec::new(),
        factor: None,
        named: false,
    }
}

fn log(low: f64, high: f64, fixed: bool, most: usize) -> Axis {
    let slack = 1e-9;
    let (mut a, mut b) = (low.log10(), high.log10());
    if !fixed {
        // At least two powers of ten are on the axis, so that its scale can be read.
        while (b + slack).floor() - (a - slack).ceil() < 1.0 {
            let (down, up) = (a - (a - slack).ceil() + 1.0, (b + slack).floor() + 1.0 - b);
            if down <= up { a = (a - slack).ceil() - 1.0 } else { b = (b + slack).floor() + 1.0 }
        }
        let pad = 0.03 * (b - a);
        a -= if (a - a.round()).abs() < slack { 0.0 } else { pad };
        b += if (b - b.round()).abs() < slack { 0.0 } else { pad };
    }
    let (first, last) = ((a - slack).ceil() as i32, (b + slack).floor() as i32);
    let stride =
        [1, 2, 3, 5, 10, 20, 50, 100, 200].into_iter().find(|s| (last - first) / s < most as i32).unwrap_or(200);
    // Strides count from 10^0 where that is on the axis.
    let powers: Vec<i32> = (first..=last).filter(|p| p.rem_euclid(stride) == 0).collect();
    // One style for all labels of an axis: decimals where they are short, else powers.
    let plain = powers.iter().all(|p| (-2..=3).contains(p)) && a > -3.0 && b < 4.0;
    let tick = |mantissa: u8, power: i32| {
        let value: f64 = format!("{mantissa}e{power}").parse().unwrap_or(1.0);
        let power = with_minus(&power.to_string());
        let label = match (plain, mantissa) {
            (true, _) => format!("{value}"),
            (false, 1) => format!("10^{{{power}}}"),
            (false, _) => format!("{mantissa}·10^{{{power}}}"),
        };
        Tick { value, label }
    };
    let mut ticks: Vec<Tick> = powers.iter().map(|&p| tick(1, p)).collect();
    let minor =
        if last - first <= 4 { between_powers(a, b, &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]) } else { vec![] };
    // One power of ten does not show the scale: where the range was fixed around it, twos and fives have labels too.
    if ticks.len() < 2 {
        let around = (a.floor() as i32..=b.ceil() as i32).flat_map(|p| [tick(2, p), tick(5, p)]);
        ticks.extend(around.filter(|t| (a - slack..=b + slack).contains(&t.value.log10())));
        ticks.sort_by(|a, b| a.value.total_cmp(&b.value));
    }
    Axis { scale: Scale::Log, low: 10f64.powf(a), high: 10f64.powf(b), ticks, minor, factor: None, named: false }
}

/// Multiples of powers of ten from 10^a to 10^b.
fn between_powers(a: f64, b: f64, multiples: &[f64]) -> Vec<f64> {
    let powers = a.floor() as i32..=b.ceil() as i32;
    let all = powers.flat_map(|p| multiples.iter().map(move |m| m * 10f64.powi(p)));
    all.filter(|v| (a..=b).contains(&v.log10())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn linear_axes_have_four_to_six_ticks_inside_the_range() {
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for _ in 0..2000 {
            let center = (uniform() - 0.5) * 10f64.powf(8.0 * uniform() - 4.0);
            let width = 10f64.powf(12.0 * uniform() - 6.0);
            for fixed in [false, true] {
                let axis = Axis::new(Scale::Linear, center, center + width, fixed, MOST);
                let n = axis.ticks.len();
                assert!((4..=6).contains(&n), "{center} {width} {fixed}: {n}");
                for t in &axis.ticks {
                    let share = axis.share(t.value).unwrap();
                    // Ticks at the very ends may round to just outside.
                    assert!((-1e-6..=1.0 + 1e-6).contains(&share));
                }
                assert!(axis.share(center).unwrap() > -1e-6 && axis.share(center + width).unwrap() < 1.0 + 1e-6);
                let mut distinct = labels(&axis);
                distinct.dedup();
                assert_eq!(distinct.len(), n, "labels must differ: {distinct:?}");
            }
        }
    }

    #[test]
    fn linear_labels_read_well() {
        assert_eq!(labels(&Axis::new(Scale::Linear, 0.0, 1.0, true, MOST)), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(
            labels(&Axis::new(Scale::Linear, -0.31, 0.55, false, MOST)),
            ["−0.4", "−0.2", "0", "0.2", "0.4", "0.6"]
        );
        let tiny = Axis::new(Scale::Linear, 0.0, 3.0e-7, false, MOST);
        assert_eq!(tiny.factor, Some(-7));
        assert_eq!(labels(&tiny), ["0", "1", "2", "3"]);
        let large = Axis::new(Scale::Linear, 0.0, 40_000.0, false, MOST);
        assert_eq!((labels(&large), large.factor), (vec!["0", "1", "2", "3", "4"], Some(4)));
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        for (low, high) in
            [(0.1, 10.0), (0.3, 5.0), (2.0, 3.0), (1e-8, 1e9), (1e-300, 1e300), (7.0, 7.0), (9.99, 1001.0)]
        {
            let axis = Axis::new(Scale::Log, low, high, false, MOST);
            assert!((2..=6).contains(&axis.ticks.len()), "{low} {high}: {:?}", axis.ticks);
            for t in &axis.ticks {
                let p = t.value.log10();
                assert!((p - p.round()).abs() < 1e-9);
                assert!((-1e-6..=1.0 + 1e-6).contains(&axis.share(t.value).unwrap()));
            }
            assert!(axis.share(low).unwrap() > -1e-6 && axis.share(high).unwrap() < 1.0 + 1e-6);
        }
        assert_eq!(labels(&Axis::new(Scale::Log, 0.1, 10.0, true, MOST)), ["0.1", "1", "10"]);
        assert_eq!(labels(&Axis::new(Scale::Log, 1e-6, 1.0, true, MOST)), ["10^{−6}", "10^{−4}", "10^{−2}", "10^{0}"]);
    }

    #[test]
    fn labels_of_an_axis_have_one_style() {
        assert_eq!(labels(&Axis::new(Scale::Log, 0.5, 6.3, true, MOST)), ["0.5", "1", "2", "5"]);
        assert_eq!(labels(&Axis::new(Scale::Log, 30.0, 700.0, true, MOST)), ["50", "100", "200", "500"]);
        let small = Axis::new(Scale::Log, 0.4e-5, 3e-5, true, MOST);
        assert_eq!(labels(&small), ["5·10^{−6}", "10^{−5}", "2·10^{−5}"]);
    }

    #[test]
    fn what_is_zero_everywhere_lies_on_the_bottom() {
        let axis = Axis::new(Scale::Linear, 0.0, 0.0, false, MOST);
        assert_eq!((axis.low, axis.share(0.0)), (0.0, Some(0.0)));
        assert!(axis.high > 0.0 && labels(&axis)[0] == "0");
    }

    #[test]
    fn whole_numbers_stay_whole() {
        assert_eq!(labels(&Axis::new(Scale::Integer, 1.0, 20.0, false, MOST)), ["5", "10", "15", "20"]);
        assert_eq!(labels(&Axis::new(Scale::Integer, 1.0, 5.0, false, MOST)), ["1", "2", "3", "4", "5"]);
        assert_eq!(labels(&Axis::new(Scale::Integer, 1.0, 9.0, false, MOST)), ["1", "3", "5", "7", "9"]);
        assert_eq!(labels(&Axis::new(Scale::Integer, 1.0, 15.0, false, MOST)), ["1", "4", "7", "10", "13"]);
    }

    #[test]
    fn values_an_axis_cannot_show_have_no_place() {
        let axis = Axis::new(Scale::Log, 0.1, 10.0, true, MOST);
        assert_eq!(axis.share(0.0), None);
        assert_eq!(axis.share(-1.0), None);
        assert_eq!(axis.share(f64::NAN), None);
        assert_eq!(axis.share(f64::INFINITY), None);
        assert!(Axis::new(Scale::Linear, f64::NAN, 1.0, false, MOST).share(0.5).is_some());
    }
}
