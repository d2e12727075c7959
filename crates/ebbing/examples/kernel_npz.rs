//! Computes NNGP and NTK Gram matrices of inputs in an `.npz` file: `kernel_npz IN.npz OUT.npz ACTIVATION DEPTH SIGMA2`.
//!
//! `IN.npz` holds `x` and `x2`, one input per row; `OUT.npz` gets `nngp` and `ntk`, a row per row of `x`.

use ebbing::data::Array;
use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::Mat;
use ebbing::{Error, Kernel, Result};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, activation, depth, sigma2] = args.as_slice() else {
        eprintln!("usage: kernel_npz IN.npz OUT.npz relu|erf|linear DEPTH SIGMA2");
        return ExitCode::from(2);
    };
    match run(input, output, activation, depth, sigma2) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kernel_npz: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(input: &str, output: &str, activation: &str, depth: &str, sigma2: &str) -> Result<()> {
    let activation = match activation {
        "relu" => Activation::Relu,
        "erf" => Activation::Erf,
        "linear" => Activation::Linear,
        "gelu" => Activation::Gelu,
        other => return Err(Error::setting("ACTIVATION", other, "must be relu, erf or linear")),
    };
    let depth = depth.parse().map_err(|_| Error::setting("DEPTH", depth, "must be a whole number"))?;
    let sigma2 = sigma2.parse().map_err(|_| Error::setting("SIGMA2", sigma2, "must be a number"))?;
    let arrays = ebbing::data::read_npz(input)?;
    let matrix = |name: &str| -> Result<Mat<f64>> {
        let found = arrays.iter().find(|(n, _)| n == name);
        found.map(|(_, array)| array.to_mat()).ok_or_else(|| Error::file(input, name, "missing", "give x and x2"))
    };
    let (x, x2) = (matrix("x")?, matrix("x2")?);
    // The limit λ → ∞, in which NNGP and NTK do not depend on the times.
    let prior = WeightPrior::new(f64::INFINITY, sigma2)?;
    let gram = |kind: KernelKind| -> Result<Array> {
        let kernel = Kernel::new(kind, Architecture { activation, depth }, prior, 1, 1)?;
        Ok(Array::from_mat(kernel.gram(x.as_ref(), x2.as_ref())?.as_ref()))
    };
    ebbing::data::write_npz(output, &[("nngp", &gram(KernelKind::Nngp)?), ("ntk", &gram(KernelKind::Ntk)?)])
}
