//! The panels of figure 7.

use super::{BENCHMARKS, Balance, DRAWN, Fig7, LOAD};
use ebbing_show::{Band, Figure, Line, Marker, Markers, Matrix, OKABE_ITO, Panel, significant};
use ebbing_studies::{Frame, Result};

pub(super) fn draw(study: &Fig7, frame: &Frame) -> Result<Figure> {
    let mut panels = Vec::new();
    for (protocol, [losses, best, kernels]) in BENCHMARKS {
        let balance = Balance::new(frame, protocol.name())?;
        let drawn = frame.only("part", "kernel")?.only("protocol", protocol)?;
        panels.push(loss(&balance, "f21", "forgetting F_{21}")?.letter(losses));
        panels.push(worst(&balance)?.letter(best));
        panels.push(kernel(&drawn, 1, true)?.letter(kernels));
        panels.push(kernel(&drawn, 1, false)?.letter(' '));
        panels.push(loss(&balance, "g22", "test loss G_{22}")?.letter(' '));
        panels.push(alignment(&balance)?.letter(' '));
        panels.push(kernel(&drawn, 2, true)?.letter(' '));
        panels.push(kernel(&drawn, 2, false)?.letter(' '));
    }
    let caption = format!(
        "A finite penalty λ serves two dissimilar tasks with a readout each better than λ → ∞: permuted (a to c, 100 %) and \
         split (d to f, 100 %) tasks of {}, P = {}, load α = {LOAD}, one hidden layer. **a**, **d** Forgetting F_{{21}} of \
         task 1 and test loss G_{{22}} of task 2 over learning it alone. **b**, **e** The larger of G_{{21}} and G_{{22}}, \
         its minimum marked (mean over draws of each one's best λ); below, centered alignment with the labels of the learned part K of the hidden layer's \
         similarity matrix. Bands: standard deviations over {} draws. **c**, **f** K of {DRAWN} inputs of each task, those \
         labeled +1 first, after both tasks (one draw, P = {}).",
        study.setup.data_name(),
        study.setup.p,
        study.seeds,
        study.drawn_setup().p,
    );
    Ok(Figure::grid(panels, 4).title("A finite penalty balances memory and new learning").caption(&caption))
}

fn banded(panel: Panel, label: &str, balance: &Balance, means: &[f64], deviations: &[f64], category: usize) -> Panel {
    let end = |sign: f64| (0..means.len()).map(|k| means[k] + sign * deviations[k]).collect::<Vec<f64>>();
    panel
        .band(Band::new(label, &balance.lambdas, &end(-1.0), &end(1.0)).category(category))
        .line(Line::new(label, &balance.lambdas, means).category(category))
}

fn loss(balance: &Balance, column: &str, name: &str) -> Result<Panel> {
    let mut panel = Panel::new().x("penalty λ").y(name).log_x();
    if column == "g22" {
        panel = panel.log_y();
    }
    let (means, deviations) = (balance.means(column)?, balance.deviations(column)?);
    Ok(banded(panel, "", balance, &means, &deviations, 0))
}

fn worst(balance: &Balance) -> Result<Panel> {
    let (means, deviations): (Vec<f64>, Vec<f64>) = balance.worst.iter().copied().unzip();
    let panel = Panel::new().x("penalty λ").y("max(G_{21}, G_{22})").log_x().log_y();
    let panel = banded(panel, "", balance, &means, &deviations, 0);
    let star = Markers::new("best λ", &[balance.best_lambda], &[super::worst(&balance.best)?.0]);
    Ok(panel.markers(star.color(OKABE_ITO[6]).shape(Marker::Diamond)))
}

fn alignment(balance: &Balance) -> Result<Panel> {
    let mut panel = Panel::new().x("penalty λ").y("alignment with labels").log_x().y_range(-0.1, 1.0);
    for (k, (column, label)) in [("alignment_1", "K(X_{1})"), ("alignment_2", "K(X_{2})")].into_iter().enumerate() {
        panel = banded(panel, label, balance, &balance.means(column)?, &balance.deviations(column)?, 3 * k);
    }
    Ok(panel)
}

/// The learned kernel on inputs of one task.
fn kernel(drawn: &Frame, task: usize, limit: bool) -> Result<Panel> {
    let rows = drawn.only("task", task)?.having("lambda", |l| l.is_infinite() == limit)?;
    let lambda = rows.levels("lambda")?.first().copied().unwrap_or(f64::NAN);
    let (row, column, kernel) = (rows.numbers("row")?, rows.numbers("column")?, rows.numbers("kernel")?);
    let size = row.iter().copied().fold(0.0, f64::max) as usize;
    let mut values = vec![vec![f64::NAN; size]; size];
    for k in 0..kernel.len() {
        values[row[k] as usize - 1][column[k] as usize - 1] = 1e3 * kernel[k];
    }
    let place = if limit { "λ → ∞".to_string() } else { format!("λ = {}", significant(lambda)) };
    let blank = vec![""; size];
    let matrix = Matrix::new("10^{3} K", "input", "input", &values).names(&blank, &blank);
    Ok(Panel::matrix(&matrix).title(&format!("K(X_{{{task}}}), {place}")))
}
