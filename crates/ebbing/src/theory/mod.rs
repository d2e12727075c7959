//! What the theory says: order parameters, forgetting, generalisation.

mod order;
mod order_parameters;
mod single_head;

pub use order::{OrderSearchSettings, SearchMethod, TaskOrder, best_order, best_order_of_features};
pub use order_parameters::{
    Interval, Inverse, Null, OrderParameterSettings, OrderParameters, PairOrderParameters, order_parameters,
    order_parameters_of_features, order_parameters_of_kernels, order_parameters_of_layers,
    order_parameters_of_sequence,
};
pub use single_head::{Forecast, KernelTask, Mode, Points, SingleHead, SingleHeadSettings, TestForecast};
