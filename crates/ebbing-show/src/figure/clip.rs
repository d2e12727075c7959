//! Cuts lines and areas at the frame of a panel, so that nothing is drawn outside and every exit is known.

use super::canvas::Rect;

type Point = (f64, f64);

/// A place where a line leaves through the top (`up`) or the bottom of the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exit {
    pub x: f64,
    pub up: bool,
}

/// The visible pieces of a line through `points`, and where it leaves upwards or downwards.
pub(crate) fn clip_line(points: &[Point], frame: &Rect) -> (Vec<Vec<Point>>, Vec<Exit>) {
    // A line along the edge is inside, whatever rounding says.
    let frame = frame.grown(1e-6);
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    let mut exits = Vec::new();
    let mut joined = false;
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let Some((enter, leave)) = frame.inside(a, b) else {
            joined = false;
            continue;
        };
        let at = |s: f64| (a.0 + s * (b.0 - a.0), a.1 + s * (b.1 - a.1));
        let (start, end) = (at(enter), at(leave));
        match pieces.last_mut() {
            Some(piece) if joined => piece.push(end),
            _ => pieces.push(vec![start, end]),
        }
        for (cut, outside, p) in [(enter > 0.0, a, start), (leave < 1.0, b, end)] {
            if cut && (outside.1 < frame.y0 || outside.1 > frame.y1) && (frame.x0..=frame.x1).contains(&p.0) {
                exits.push(Exit { x: p.0, up: outside.1 < frame.y0 });
            }
        }
        joined = leave >= 1.0;
    }
    if let [only] = points
        && frame.contains(*only)
    {
        pieces.push(vec![*only, *only]);
    }
    (pieces, exits)
}

/// The visible part of a closed area (Sutherland-Hodgman, one side of the frame after the other).
pub(crate) fn clip_area(points: &[Point], frame: &Rect) -> Vec<Point> {
    let sides: [fn(&Rect, Point) -> f64; 4] =
        [|r, p| p.0 - r.x0, |r, p| r.x1 - p.0, |r, p| p.1 - r.y0, |r, p| r.y1 - p.1];
    let mut area = points.to_vec();
    for depth in sides {
        let mut kept = Vec::with_capacity(area.len() + 4);
        for k in 0..area.len() {
            let (a, b) = (area[k], area[(k + 1) % area.len()]);
            let (da, db) = (depth(frame, a), depth(frame, b));
            if da >= 0.0 {
                kept.push(a);
            }
            if (da < 0.0) != (db < 0.0) {
                let s = da / (da - db);
                kept.push((a.0 + s * (b.0 - a.0), a.1 + s * (b.1 - a.1)));
            }
        }
        area = kept;
    }
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Rect = Rect { x0: 0.0, y0: 0.0, x1: 10.0, y1: 10.0 };

    #[test]
    fn a_line_that_leaves_and_returns_has_two_pieces_and_two_exits() {
        let (pieces, exits) = clip_line(&[(0.0, 5.0), (4.0, -5.0), (8.0, 5.0), (9.0, 5.0)], &FRAME);
        assert_eq!(pieces.len(), 2);
        assert_eq!(pieces[1].len(), 3);
        assert_eq!(exits.len(), 2);
        assert!(exits.iter().all(|e| e.up));
        // The frame is widened by 1e-6.
        assert!((exits[0].x - 2.0).abs() < 1e-5 && (exits[1].x - 6.0).abs() < 1e-5);
        let (_, sideways) = clip_line(&[(5.0, 5.0), (20.0, 5.0)], &FRAME);
        assert!(sideways.is_empty(), "leaving to the side is no divergence");
    }

    #[test]
    fn areas_are_cut_at_all_sides() {
        let area = clip_area(&[(-5.0, -5.0), (15.0, -5.0), (15.0, 15.0), (-5.0, 15.0)], &FRAME);
        assert_eq!(area.len(), 4);
        assert!(area.iter().all(|p| FRAME.contains(*p)));
        assert!(clip_area(&[(20.0, 20.0), (30.0, 20.0), (25.0, 30.0)], &FRAME).is_empty());
    }
}
