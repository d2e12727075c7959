//! What a forecast costs: the sum of the parts that are computed, as [`Forecast::of`](super::Forecast::of) chooses them.

use super::{ForecastSettings, LITTLE};
use crate::plan::{
    Cost, Memory, Sizes, closed_head_cost, feature_forgetting_cost, feature_order_cost, feature_parameter_cost,
    feature_peak, forecast_peak, forgetting_cost, in_tiles, keep_cost, order_cost, order_parameter_cost, sequence_cost,
    single_cost, whole_cost,
};
use crate::theory::single_head::Mode;

impl ForecastSettings {
    /// Whether these settings speak of the theory alone: trained networks do not depend on them.
    pub fn asks_for_theory(&self) -> bool {
        self.complete || self.order || self.own_theory() || self.resamples + self.shuffles + self.sweeps() > 0
    }

    /// Whether the theory's own quantities of tasks of these sizes cost little: a second or two on a laptop, the same everywhere.
    pub(super) fn costs_little(&self, sizes: &Sizes) -> bool {
        self.recursion(sizes).then(self.pairs(sizes)).flops <= LITTLE
    }

    /// Whether amounts of replay are set beside the forecast: of several tasks, where none is asked for and all cost little.
    pub(super) fn compares_replay(&self, sizes: &Sizes) -> bool {
        sizes.train.len() > 1 && !self.theory.replay.is_on() && self.costs_little(sizes)
    }

    /// Whether heads in closed form are set beside the forecast: of several tasks, where they cost little.
    pub(super) fn compares_heads(&self, sizes: &Sizes) -> bool {
        sizes.train.len() > 1 && closed_head_cost(sizes).flops <= LITTLE
    }

    /// Whether the theory's own quantities are computed beside those of trained networks.
    pub fn computes_theory(&self, sizes: &Sizes) -> bool {
        self.asks_for_theory() || self.costs_little(sizes)
    }

    /// Whether amounts of replay, or heads in closed form, are set beside the forecast.
    pub fn compares(&self, sizes: &Sizes) -> bool {
        self.compares_replay(sizes) || self.compares_heads(sizes)
    }

    fn recursion(&self, sizes: &Sizes) -> Cost {
        // A spread takes kernels between all examples.
        if self.features && !self.theory.variance { feature_forgetting_cost(sizes) } else { forgetting_cost(sizes) }
    }

    fn pairs(&self, sizes: &Sizes) -> Cost {
        let resampled = self.resamples.max(self.shuffles) > 0;
        match (sizes.train.len(), self.features && !resampled) {
            (0 | 1, _) => Cost::default(),
            (_, true) => feature_parameter_cost(sizes),
            (_, false) => order_parameter_cost(sizes),
        }
    }

    /// What the forecast of one sequence of these sizes costs; `tested`: whether its test data name classes. Memory is that of as many
    /// threads as there are, with the kernels that are kept between their uses.
    pub fn cost(&self, sizes: &Sizes, tested: bool, memory: &Memory) -> Cost {
        let least = self.least(sizes, tested, memory);
        let theory = !tested || self.computes_theory(sizes);
        let tiles = !self.features && in_tiles(sizes, memory);
        let peak = if theory && !tiles { self.peak(sizes, memory) } else { 0.0 };
        Cost { bytes: least.bytes.max(peak), ..least }
    }

    /// The same with the least memory: it does not depend on the number of threads.
    pub(super) fn least(&self, sizes: &Sizes, tested: bool, memory: &Memory) -> Cost {
        if !self.features && in_tiles(sizes, memory) {
            return whole_cost(sizes, if self.theory.mode == Mode::Rf { 1 } else { 2 });
        }
        let tested = tested && sizes.test.iter().all(|p| *p > 0);
        let little = self.costs_little(sizes);
        let mut all = Cost {
            flops: 0.0,
            bytes: 8.0 * 2.0 * sizes.rows() * (sizes.dim + sizes.columns) as f64,
            ..Cost::default()
        };
        if !tested || little || self.asks_for_theory() {
            all = all.then(self.recursion(sizes)).then(self.pairs(sizes));
        }
        if tested {
            all = all.then(match (self.features, little) {
                (true, _) => feature_forgetting_cost(sizes),
                (false, true) => forgetting_cost(sizes),
                (false, false) => single_cost(sizes),
            });
            if self.compares_replay(sizes) {
                all = all.then(keep_cost(sizes, self.features));
            }
            if self.compares_heads(sizes) {
                all = all.then(closed_head_cost(sizes));
            }
        }
        if self.theory.variance {
            // Kernels between all tasks and the covariances of what is learned there, and both as some points see them.
            let (total, largest) = (sizes.sum(|p| p), sizes.largest());
            all.bytes += 8.0 * (total * total + 3.0 * total * largest);
        }
        // What is set beside it: other depths and penalties of one head, widths of a head per task at every penalty.
        let beside = self.depths.len() + self.lambdas.len();
        let heads = self.widths.len() * self.lambdas.len().max(1);
        all = if beside > 0 { all.then(forgetting_cost(sizes).times(beside)) } else { all };
        all = if heads > 0 { all.then(sequence_cost(sizes).times(heads)) } else { all };
        if self.order && sizes.train.len() > 1 {
            let shared = super::ForecastOrders::shares_kernels(self);
            all = all.then(if self.features { feature_order_cost(sizes) } else { order_cost(sizes, shared) });
        }
        all
    }

    /// Bytes of the theory's own quantities, with the kernels that are kept between their uses.
    fn peak(&self, sizes: &Sizes, memory: &Memory) -> f64 {
        let tables = match self.theory.mode {
            _ if self.theory.variance => 0,
            Mode::Rf => 1,
            Mode::Ntk | Mode::Lazy => 2,
            Mode::Gibbs => 0,
        };
        match self.features && !self.theory.variance {
            true => feature_peak(sizes, self.theory.keep_bytes, self.order, memory),
            false => forecast_peak(sizes, tables, self.theory.keep_bytes, self.order, memory),
        }
    }
}
