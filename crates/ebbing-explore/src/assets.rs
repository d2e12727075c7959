//! The page itself, embedded in the program.

/// Every file of the page: its path, its kind, its content.
pub const ASSETS: [(&str, &str, &str); 12] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("../page/style.css")),
    ("/app.js", JS, include_str!("../page/app.js")),
    ("/api.js", JS, include_str!("../page/api.js")),
    ("/controls.js", JS, include_str!("../page/controls.js")),
    ("/dom.js", JS, include_str!("../page/dom.js")),
    ("/figures.js", JS, include_str!("../page/figures.js")),
    ("/tasks.js", JS, include_str!("../page/tasks.js")),
    ("/forecast.js", JS, include_str!("../page/forecast.js")),
    ("/phase.js", JS, include_str!("../page/phase.js")),
    ("/advise.js", JS, include_str!("../page/advise.js")),
    ("/take.js", JS, include_str!("../page/take.js")),
];

const JS: &str = "text/javascript; charset=utf-8";
