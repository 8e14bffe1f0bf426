//! Logarithmic axes between two powers of ten.

/// An axis of some length.
pub(super) struct Axis {
    low: i32,
    high: i32,
    length: f64,
}

impl Axis {
    /// The shortest axis with all these values, those above zero.
    pub fn around(values: impl Iterator<Item = f64>, length: f64) -> Axis {
        let (low, high) = values.filter(|v| *v > 0.0).fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
        if high <= 0.0 {
            return Axis { low: 0, high: 1, length };
        }
        let (low, high) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        Axis { low, high: high.max(low + 1), length }
    }

    /// How far from the beginning a value lies.
    pub fn place(&self, value: f64) -> f64 {
        let part = (value.max(1e-12).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        part.clamp(0.0, 1.0) * self.length
    }

    /// The powers of ten, at most so many of them: each that is left out has a neighbour that is not.
    pub fn marks(&self, most: i32) -> impl Iterator<Item = f64> + use<> {
        let step = ((self.high - self.low) / most.max(1) + 1).max(1);
        (self.low..=self.high).step_by(step as usize).map(|power| 10f64.powi(power))
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn values_lie_between_powers_of_ten() {
        let axis = Axis::around([0.02, 3.0, 0.0].into_iter(), 300.0);
        assert!((axis.place(0.1) - 100.0).abs() < 1e-6 && (axis.place(10.0) - 300.0).abs() < 1e-6);
        assert_eq!((axis.place(0.0), axis.place(1e9)), (0.0, 300.0));
        assert_eq!(axis.marks(9).map(|mark| mark.log10().round()).collect::<Vec<_>>(), [-2.0, -1.0, 0.0, 1.0]);
        assert_eq!(axis.marks(2).count(), 2);
        assert_eq!(Axis::around([0.0].into_iter(), 10.0).marks(9).count(), 2);
    }
}
