//! Colors, dashes and markers: Okabe-Ito for categories, viridis for magnitudes, blue-white-red for signed values.

use ebbing::theory::multi_head::Regime;

/// A color of the sRGB space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// Black.
    pub const BLACK: Rgb = Rgb(0, 0, 0);
    /// White.
    pub const WHITE: Rgb = Rgb(255, 255, 255);
    /// Gray of guide lines and notes.
    pub const GRAY: Rgb = Rgb(110, 110, 110);
    /// Light gray of grids.
    pub const LIGHT_GRAY: Rgb = Rgb(225, 225, 225);

    const fn hex(code: u32) -> Rgb {
        Rgb((code >> 16) as u8, (code >> 8) as u8, code as u8)
    }

    /// `#rrggbb`.
    pub fn to_hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// Relative luminance of the WCAG, from 0 (black) to 1 (white): what remains in grayscale.
    pub fn luminance(self) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// Black or white, whichever reads better on this color.
    pub fn ink(self) -> Rgb {
        let l = self.luminance();
        if (l + 0.05) / 0.05 >= 1.05 / (l + 0.05) { Rgb::BLACK } else { Rgb::WHITE }
    }

    fn mix(self, other: Rgb, share: f64) -> Rgb {
        let channel = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        Rgb(channel(self.0, other.0), channel(self.1, other.1), channel(self.2, other.2))
    }
}

/// The categorical palette: blue, vermillion, green, purple, orange, sky, black.
pub const OKABE_ITO: [Rgb; 7] = [
    Rgb::hex(0x0072B2),
    Rgb::hex(0xD55E00),
    Rgb::hex(0x009E73),
    Rgb::hex(0xCC79A7),
    Rgb::hex(0xE69F00),
    Rgb::hex(0x56B4E9),
    Rgb::BLACK,
];

/// The place of category `k` among seven patterns: one further with every round, so that a color meets another pattern.
fn shifted(k: usize) -> usize {
    (k + k / OKABE_ITO.len()) % OKABE_ITO.len()
}

/// Color of category `k`; the palette repeats after seven.
pub(crate) fn category(k: usize) -> Rgb {
    OKABE_ITO[k % OKABE_ITO.len()]
}

/// The stroke patterns of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    /// An unbroken line.
    Solid,
    /// Dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// Dashes and dots in turn.
    DashDot,
    /// Long dashes.
    LongDash,
    /// A dash and two dots in turn.
    DashDotDot,
    /// Short dashes.
    ShortDash,
}

impl Dash {
    const ALL: [Dash; 7] =
        [Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::DashDot, Dash::LongDash, Dash::DashDotDot, Dash::ShortDash];

    /// Dash of category `k`. Every round through the seven colors pairs them with other patterns, so that 49 categories differ.
    pub fn category(k: usize) -> Dash {
        Dash::ALL[shifted(k)]
    }

    /// Lengths of dashes and gaps in turn, pt.
    pub(crate) fn pattern(self) -> &'static [f64] {
        match self {
            Dash::Solid => &[],
            Dash::Dashed => &[4.5, 2.2],
            Dash::Dotted => &[1.2, 1.8],
            Dash::DashDot => &[5.0, 1.8, 1.2, 1.8],
            Dash::LongDash => &[8.5, 2.5],
            Dash::DashDotDot => &[5.0, 1.6, 1.2, 1.6, 1.2, 1.6],
            Dash::ShortDash => &[2.6, 1.6],
        }
    }
}

/// The shapes of markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle standing on its base.
    Up,
    /// A square standing on its corner.
    Diamond,
    /// A triangle standing on its tip.
    Down,
    /// A plus sign.
    Plus,
    /// A diagonal cross.
    Cross,
}

impl Marker {
    const ALL: [Marker; 7] =
        [Marker::Circle, Marker::Square, Marker::Up, Marker::Diamond, Marker::Down, Marker::Plus, Marker::Cross];

    /// Marker of category `k`. Every round through the seven colors pairs them with other shapes, so that 49 categories differ.
    pub fn category(k: usize) -> Marker {
        Marker::ALL[shifted(k)]
    }
}

/// The tint of a regime, the same everywhere: gray-blue, light red or light green, of different lightness so that they differ
/// in grayscale too.
pub(crate) fn tint(regime: Regime) -> Rgb {
    match regime {
        Regime::FixedRepresentations => Rgb::hex(0xB5C3D9),
        Regime::Overfitting => Rgb::hex(0xF4CCC4),
        Regime::Generalization => Rgb::hex(0xE2F3DF),
    }
}

const VIRIDIS: [Rgb; 17] = [
    Rgb::hex(0x440154),
    Rgb::hex(0x48186A),
    Rgb::hex(0x472D7B),
    Rgb::hex(0x424086),
    Rgb::hex(0x3B528B),
    Rgb::hex(0x33638D),
    Rgb::hex(0x2C728E),
    Rgb::hex(0x26828E),
    Rgb::hex(0x21918C),
    Rgb::hex(0x1F9F88),
    Rgb::hex(0x27AD81),
    Rgb::hex(0x3DBC74),
    Rgb::hex(0x5CC863),
    Rgb::hex(0x81D34D),
    Rgb::hex(0xAADC32),
    Rgb::hex(0xD5E21A),
    Rgb::hex(0xFDE725),
];

const BLUE_WHITE_RED: [Rgb; 9] = [
    Rgb::hex(0x2166AC),
    Rgb::hex(0x4393C3),
    Rgb::hex(0x92C5DE),
    Rgb::hex(0xD1E5F0),
    Rgb::WHITE,
    Rgb::hex(0xFDDBC7),
    Rgb::hex(0xF4A582),
    Rgb::hex(0xD6604D),
    Rgb::hex(0xB2182B),
];

/// Which colors stand for numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorScale {
    /// Viridis, for magnitudes.
    Magnitude,
    /// Blue, white at 0, red, for signed values.
    Signed,
}

impl ColorScale {
    /// The color at `share` of the scale, from 0 to 1; values beyond are held at the ends.
    pub fn at(self, share: f64) -> Rgb {
        let anchors: &[Rgb] = match self {
            ColorScale::Magnitude => &VIRIDIS,
            ColorScale::Signed => &BLUE_WHITE_RED,
        };
        let place = share.clamp(0.0, 1.0) * (anchors.len() - 1) as f64;
        let left = (place as usize).min(anchors.len() - 2);
        anchors[left].mix(anchors[left + 1], place - left as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viridis_gets_lighter_and_signed_is_white_at_zero() {
        let lightness: Vec<f64> = (0..=64).map(|k| ColorScale::Magnitude.at(f64::from(k) / 64.0).luminance()).collect();
        assert!(lightness.windows(2).all(|w| w[1] > w[0]), "viridis must be readable in grayscale");
        assert_eq!(ColorScale::Signed.at(0.5), Rgb::WHITE);
        assert_eq!(ColorScale::Signed.at(-3.0), Rgb::hex(0x2166AC));
        assert_eq!(ColorScale::Signed.at(7.0), Rgb::hex(0xB2182B));
    }

    #[test]
    fn no_two_of_49_categories_look_the_same() {
        for k in 0..49 {
            for other in 0..k {
                let colors = category(k) == category(other);
                assert!(!(colors && Dash::category(k) == Dash::category(other)), "{k} {other}");
                assert!(!(colors && Marker::category(k) == Marker::category(other)), "{k} {other}");
            }
        }
    }

    #[test]
    fn regimes_differ_in_grayscale() {
        let mut l: Vec<f64> = Regime::ALL.iter().map(|&r| tint(r).luminance()).collect();
        l.sort_by(f64::total_cmp);
        // 0.1 of luminance is about 5 steps of lightness L*, visible side by side.
        assert!(l.windows(2).all(|w| w[1] - w[0] > 0.1), "{l:?}");
    }

    #[test]
    fn ink_keeps_contrast() {
        for k in 0..=20 {
            for scale in [ColorScale::Magnitude, ColorScale::Signed] {
                let c = scale.at(f64::from(k) / 20.0);
                let (a, b) = (c.luminance() + 0.05, c.ink().luminance() + 0.05);
                // 4.5 is the contrast that the WCAG asks of small text.
                assert!(a.max(b) / a.min(b) >= 4.5, "{c:?}");
            }
        }
    }
}
