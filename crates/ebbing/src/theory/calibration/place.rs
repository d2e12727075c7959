//! Whether tasks are like those on which intervals were measured.

use super::{Data, table};
use crate::error::{Error, Result};
use crate::tasks::TaskSequence;
use crate::theory::domain::{Descriptor, DomainTable, Kind, Placement};

/// So many of the numbers that lie outside are named in a sentence.
const NAMED: usize = 3;

/// Where a sequence lies: whitened ones among the whitened images that were measured, all others among the standardized images and the
/// features of encoders.
///
/// Ranges are those of measured sequences, not stretched by any factor. What was decided with the evidence:
///
/// * *Examples per task and per class* of images reach from the smallest tasks of the study to larger ones of 1000 examples, which were
///   trained in addition to see whether its intervals hold there. From 90 to 400 examples the error of the forecast does not change
///   measurably.
/// * *Norms* may be equal: images centered pixel by pixel and scaled to one norm were trained too.
/// * *Features*: images have 784 and no others. The theory knows inputs by their products alone, but features of an encoder with few
///   classes have scale, norms and spectrum of images; where nobody says what inputs are, their number sets them apart.
/// * *Tasks and classes* as they were measured: neither longer sequences nor more classes were trained.
///
/// # Errors
/// Those of [`TaskSequence::validate`]; [`Error::Data`] where the library holds no table.
pub fn place(sequence: &TaskSequence) -> Result<Placement> {
    placed(sequence, if sequence.settings.is_whitened() { &[Data::Whitened] } else { &UNSAID })
}

/// Where features under a linear head lie among those that were measured.
///
/// # Errors
/// As for [`place`].
pub fn place_of_features(sequence: &TaskSequence) -> Result<Placement> {
    placed(sequence, &[Data::Linear])
}

/// What inputs may be that nobody says anything of; of several that fit the first, which alone images may be.
const UNSAID: [Data; 3] = [Data::Standardized, Data::Centered, Data::Raw];

fn placed(sequence: &TaskSequence, data: &[Data]) -> Result<Placement> {
    let about = Descriptor::of(sequence, None)?;
    // Images are no features of an encoder, however alike their numbers are.
    let images = about.kind == Kind::Images || about.raw_pixels;
    let compared = if images && data.len() > 1 { &data[..1] } else { data };
    let of = |data: &Data| {
        let found = table().and_then(|table| table.domain.get(data.key()).cloned());
        found.ok_or_else(|| Error::data("the calibration", format!("it has no domain called {}", data.key())))
    };
    let domains = compared.iter().map(of).collect::<Result<Vec<_>>>()?;
    DomainTable { domains }.place(&about)
}

/// What a sequence is like, for [`Data::of`].
pub(super) fn data_of(sequence: &TaskSequence, linear: bool) -> Data {
    if linear {
        return Data::Linear;
    }
    if sequence.settings.is_whitened() {
        return Data::Whitened;
    }
    let inside = |data: &&Data| placed(sequence, &[**data]).is_ok_and(|found| found.inside);
    UNSAID.iter().find(inside).copied().unwrap_or(Data::Standardized)
}

/// What of a sequence lies outside, the furthest first, with the nearest kind of data that was measured; nothing where it is inside.
/// `linear`: under a linear head.
///
/// # Errors
/// Those of [`place`].
pub(crate) fn outside(sequence: &TaskSequence, linear: bool) -> Result<Option<String>> {
    let found = if linear { place_of_features(sequence)? } else { place(sequence)? };
    let named = found.outside.get(..NAMED).unwrap_or(&found.outside).join(", ");
    Ok((!found.inside).then(|| format!("{named}; nearest: {}", found.nearest)))
}

/// That no range is given, and why.
pub(crate) fn not_calibrated(why: &str) -> String {
    format!("Not calibrated for data like yours: {why}. No range can be given.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::data::{Center, Dataset, Order, Preprocess, Source};
    use crate::linalg::Mat;
    use crate::rng::Stream;
    use crate::tasks::{Labels, Split, Task};
    use crate::theory::advise::{Advice, AdviseSettings};
    use crate::theory::forecast::{Forecast, ForecastSettings};

    /// Embedded images of two digits per task, `each` of a digit, as they are stored.
    fn raw(tasks: usize, each: usize) -> TaskSequence {
        let stored =
            Preprocess { gray: false, center: Center::None, whiten: None, normalize: false, order: Order::Standard };
        drawn(&stored, tasks, each)
    }

    fn drawn(prepared: &Preprocess, tasks: usize, each: usize) -> TaskSequence {
        let source = Source::new(Dataset::sample().unwrap(), prepared).unwrap();
        let split = Split { tasks, p: 2 * each, p_test: 60, labels: Labels::OneHotAll, ..Split::default() };
        split.generate(&source, 3).unwrap()
    }

    /// Every input of every task changed in the same way.
    fn changed(mut sequence: TaskSequence, mut how: impl FnMut(f64) -> f64) -> TaskSequence {
        for task in &mut sequence.tasks {
            let test = task.test.as_mut().map(|test| &mut test.x);
            for x in std::iter::once(&mut task.x).chain(test) {
                *x = Mat::from_fn(x.nrows(), x.ncols(), |i, j| how(x[(i, j)]));
            }
        }
        sequence
    }

    /// The mean and the deviation of a pixel as the images are stored: what the evidence divides by.
    fn standardized(tasks: usize, each: usize) -> TaskSequence {
        let stored = raw(tasks, each);
        let about = Descriptor::of(&stored, None).unwrap();
        let deviation = (about.mean_square - about.mean * about.mean).sqrt();
        changed(stored, |v| (v - about.mean) / deviation)
    }

    fn random(tasks: usize, each: usize) -> TaskSequence {
        let mut stream = Stream::new(1, "calibration tests", 0);
        changed(raw(tasks, each), |_| stream.normal())
    }

    /// Ten tasks of ten classes each, whose features have norm 1.
    fn many_classes() -> TaskSequence {
        let mut stream = Stream::new(2, "calibration tests", 0);
        let mut set = |t: usize, p: usize| {
            let z = Mat::from_fn(p, 384, |_, _| stream.normal());
            let norms: Vec<f64> = (0..p).map(|i| z.row(i).squared_norm_l2().sqrt()).collect();
            let x = Mat::from_fn(p, 384, |i, j| z[(i, j)] / norms[i]);
            (x, Mat::from_fn(p, 100, |i, j| f64::from(u8::from(j == 10 * t + i % 10))))
        };
        let task = |t| {
            let (x, y) = set(t, 100);
            let (x_test, y_test) = set(t, 20);
            Task::new(x, y).with_test(x_test, y_test)
        };
        TaskSequence::new((0..10).map(task).collect()).unwrap()
    }

    #[test]
    fn images_as_in_the_evidence_are_inside() {
        let prepared = Preprocess { center: Center::Pixel, whiten: None, ..Preprocess::default() };
        let default = drawn(&prepared, 5, 300);
        for sequence in [standardized(5, 100), standardized(2, 60), default, drawn(&Preprocess::default(), 5, 100)] {
            let place = place(&sequence).unwrap();
            assert!(place.inside, "{}", place.sentence);
            assert_eq!(place.nearest.starts_with("whitened"), sequence.settings.is_whitened());
            assert_eq!(outside(&sequence, false).unwrap(), None);
        }
    }

    #[test]
    fn what_was_never_measured_is_outside_and_says_why() {
        let says = |sequence: &TaskSequence, words: &[&str]| {
            let said = outside(sequence, false).unwrap().unwrap();
            for word in words {
                assert!(said.contains(word), "{said}");
            }
            assert!(said.ends_with("; nearest: standardized images"), "{said}");
            assert!(said.matches("(measured: ").count() <= NAMED, "{said}");
        };
        says(&random(5, 100), &["effective rank"]);
        says(&raw(5, 100), &["pixels from 0 to 255 as they are stored", "mean square"]);
        says(&standardized(5, 1), &["1 example per class (measured: 9 to", "2 examples per task (measured: 90 to"]);
        // Noise of 384 dimensions is nearest to features of an encoder, which fill fewer directions.
        let said = outside(&many_classes(), false).unwrap().unwrap();
        assert!(said.contains("10 examples per class (measured: 20 to") && said.contains("features"), "{said}");
    }

    #[test]
    fn only_inside_there_are_ranges() {
        let settings = ForecastSettings { order: false, ..ForecastSettings::default() };
        let answer = |tasks: TaskSequence| Forecast::of(&[tasks], &settings, &Context::default()).unwrap();
        let inside = answer(standardized(2, 50));
        assert!(inside.expected.is_some() && inside.outside.is_none(), "{:?}", inside.outside);
        assert!(inside.keep.unwrap().points.iter().all(|point| point.accuracy_interval.is_some()));
        for tasks in [random(2, 50), raw(2, 50), standardized(2, 1)] {
            let found = answer(tasks);
            let said = found.sentences();
            assert!(found.trained.is_some() && found.expected.is_none());
            let mut kept = found.keep.iter().flat_map(|keep| &keep.points);
            assert!(kept.all(|point| point.accuracy_interval.is_none()));
            let line = said.iter().find(|line| line.starts_with("Not calibrated for data like yours: "));
            assert!(line.is_some_and(|line| line.ends_with(". No range can be given.")), "{said:?}");
            assert!(!said.iter().any(|line| line.starts_with("Ranges:")), "{said:?}");
        }
    }

    #[test]
    fn advice_has_ranges_inside_alone_and_keeps_its_error() {
        let advice =
            |tasks: TaskSequence| Advice::of(&[tasks], &AdviseSettings::default(), &Context::default()).unwrap();
        let (inside, other) = (advice(standardized(2, 50)), advice(random(2, 50)));
        assert!(inside.outside.is_none() && inside.remedies.iter().any(|row| row.expected.is_some()));
        assert!(other.outside.is_some() && other.remedies.iter().all(|row| row.expected.is_none()));
        assert!(other.remedies.iter().any(|row| row.forecast_error.is_some_and(|error| error > 0.0)));
        let said = other.sentences();
        assert!(said.iter().any(|line| line.starts_with("Not calibrated for data like yours: ")), "{said:?}");
    }
}
