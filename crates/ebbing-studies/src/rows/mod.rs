//! What a cell computes: a request of a command, and its answer as the rows of a table.

mod advise;
mod forecast;
mod phase;
mod sample;
mod train;

use crate::cell::{Row, Value};
use crate::error::Result;
use crate::study::{Column, Work};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::plan::{Cost, Memory, PROCESS_BYTES, Sizes};
use ebbing::request::{Request, Value as FieldValue};

/// A request of a command, and the sizes of what it computes with.
#[derive(Debug, Clone)]
pub struct Job {
    /// What is asked for.
    pub request: Request,
    /// The sizes of the tasks, for estimates.
    pub sizes: Sizes,
}

impl Work for Job {
    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        self.request.check_memory(&self.sizes, context)?;
        match &self.request {
            Request::Forecast(request) => forecast::rows(request, sources, context),
            Request::Phase(request) => phase::rows(request, sources, context),
            Request::Train(request) => train::rows(request, sources, context),
            Request::Sample(request) => sample::rows(request, sources, context),
            Request::Advise(request) => advise::rows(request, sources, context),
        }
    }

    fn cost(&self) -> Cost {
        let cost = self.request.cost_of(&self.sizes, &Memory::default());
        Cost { bytes: cost.bytes + PROCESS_BYTES, ..cost }
    }
}

/// Units and meanings of the columns of a command's rows.
pub(crate) fn columns(command: &str) -> Vec<Column> {
    let own = match command {
        "forecast" => forecast::COLUMNS,
        "phase" => phase::COLUMNS,
        "train" => train::COLUMNS,
        "advise" => advise::COLUMNS,
        _ => sample::COLUMNS,
    };
    own.iter().map(|&(name, meaning)| Column { name, unit: "", meaning }).collect()
}

/// A setting of a cell as a field takes it: a number that is whole may count something, however it was written.
pub(crate) fn field_value(value: &Value) -> FieldValue {
    match value {
        Value::Integer(n) => u64::try_from(*n).map_or(FieldValue::Number(*n as f64), FieldValue::Whole),
        Value::Number(x) => FieldValue::Number(*x),
        Value::Text(text) => FieldValue::Word(text.clone()),
    }
}
