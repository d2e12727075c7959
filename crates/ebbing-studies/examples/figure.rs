//! Computes one figure in memory and prints its claims: `cargo run -p ebbing-studies --example figure -- 3 [OUT]`.

use ebbing_studies::{Cell, ENTRIES, Frame, Row, Scale, Sources, compute_cells};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().ok_or("give the figure: 2, 3, … S8")?;
    let out = arguments.next();
    let embedded = std::env::var_os("EBBING_DATA").is_none();
    let entry = ENTRIES.iter().find(|entry| entry.id == id).ok_or("no such figure")?;
    let study = (entry.study)(Scale::Quick, embedded);
    let cells = study.cells()?;
    let mut rows: Vec<Vec<Row>> = vec![Vec::new(); cells.len()];
    let start = std::time::Instant::now();
    compute_cells(&*study, &cells, &Sources::new(), 2, &mut |at, result| {
        rows[at] = result.inspect_err(|_| eprintln!("in cell {:?}", cells[at]))?;
        Ok(())
    })?;
    let results: Vec<(&Cell, &[Row])> = cells.iter().zip(rows.iter().map(Vec::as_slice)).collect();
    let frame = Frame::collect(results);
    println!("{} cells in {:.0} s", cells.len(), start.elapsed().as_secs_f64());
    for claim in study.claims(&frame)? {
        println!(
            "{:?} {}: {} = {:.4} ({}) {}",
            claim.verdict, claim.panel, claim.statement, claim.value, claim.threshold, claim.note
        );
    }
    for (name, figure) in study.draw(&frame)? {
        if let Some(out) = &out {
            figure.save(std::path::Path::new(out), &name)?;
        }
    }
    Ok(())
}
