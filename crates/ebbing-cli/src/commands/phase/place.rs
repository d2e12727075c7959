//! Two tasks, a user's own or drawn: where in the diagram a width lies, and how to leave the overfitting regime.

use super::Args;
use crate::console::Console;
use crate::output::write_json;
use ebbing::data::Sources;
use ebbing_show::Screen;
use ebbing_studies::job::PhasePlace;
use ebbing_studies::show::phase as show;
use serde_json::json;

impl Args {
    /// Places the tasks in the diagram.
    pub(super) fn place(&self, console: &Console) -> anyhow::Result<()> {
        let place = self.job.place(&Sources::new(), &console.context())?;
        let settings = show::settings(&self.job, &place.prepared)?;
        let metadata = self.output.metadata("phase", Some(self.job.seed()?), &place.settings, &settings)?;
        let PhasePlace { critical, location, best, widths, curves, representation, .. } = &place;
        let result = json!({
            "metadata": metadata, "critical_load": critical, "location": location, "best_lambda": best, "widths": widths,
            "curves": curves.curves, "representation": representation,
        });
        self.output.save("phase", |folder| {
            show::shown(&place, &self.job, &metadata).save(folder, &metadata)?;
            write_json(&folder.join("phase.json"), &result)
        })?;
        if self.output.json {
            return console.print_json(&result);
        }
        let (heading, sentences) = show::told(&place, self.job.sigma);
        let mut screen = Screen::new(&heading).table(&show::loads(&place))?;
        if let Some(hidden) = show::hidden_layer(&place, &self.job) {
            screen = screen.table(&hidden)?;
        }
        for sentence in &sentences {
            screen = screen.paragraph(sentence);
        }
        if widths.is_some() {
            screen = screen.paragraph(show::DEFINED);
        }
        if let Some(folder) = &self.output.out {
            screen = screen.next("report", &folder.join("report.html").display().to_string());
        }
        console.print(&screen.render_for_stdout())
    }
}
