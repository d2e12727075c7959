//! What the theory says: order parameters, forgetting, generalisation.

mod single_head;

pub use single_head::{Forecast, KernelTask, Mode, Points, SingleHead, SingleHeadSettings, TestForecast};
