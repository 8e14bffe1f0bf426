//! How runs of the same job differ: the median, the quartiles around it, and runs that lie far from them.

/// The times of several runs, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// How many runs there were.
    pub runs: usize,
    /// The shortest.
    pub least: f64,
    /// A quarter of the runs were shorter.
    pub low: f64,
    /// As many were shorter as longer.
    pub median: f64,
    /// A quarter of the runs were longer.
    pub high: f64,
    /// The longest.
    pub most: f64,
    /// How many lie farther from the quartiles than one and a half times their distance.
    pub outliers: usize,
}

impl Spread {
    /// What samples say; none of nothing.
    pub fn of(samples: &[f64]) -> Option<Spread> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let [low, median, high] = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
        let fence = 1.5 * (high - low);
        let outliers = sorted.iter().filter(|time| **time < low - fence || **time > high + fence).count();
        Some(Spread { runs: sorted.len(), least, low, median, high, most, outliers })
    }

    /// Half the distance of the quartiles, as a part of the median.
    pub fn relative(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.median.max(1e-12)
    }

    /// Whether the middle halves of both have a time in common.
    pub fn meets(&self, other: &Spread) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// The value below which a part of sorted samples lies, between two of them in proportion. There is at least one.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// The median; none of nothing.
pub fn median(samples: &[f64]) -> Option<f64> {
    Spread::of(samples).map(|spread| spread.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn quartiles_and_what_lies_far_from_them() {
        let spread = Spread::of(&[10.0, 12.0, 11.0, 14.0, 13.0]).expect("there are samples");
        assert_eq!((spread.least, spread.low, spread.median, spread.high, spread.most), (10.0, 11.0, 12.0, 13.0, 14.0));
        assert_eq!((spread.outliers, spread.runs), (0, 5));
        let jerked = Spread::of(&[10.0, 12.0, 11.0, 99.0, 13.0]).expect("there are samples");
        assert_eq!((jerked.outliers, jerked.median), (1, 12.0));
        assert!(spread.meets(&jerked) && jerked.meets(&spread));
        let one = Spread::of(&[20.0]).expect("there is a sample");
        assert_eq!((one.low, one.high, one.outliers), (20.0, 20.0, 0));
        assert!(!one.meets(&spread) && !spread.meets(&one));
    }
}
