//! The page itself, embedded in the program.

const JS: &str = "text/javascript; charset=utf-8";

/// Every file of the page: its path, its kind, its content.
pub const ASSETS: [(&str, &str, &str); 17] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("../page/style.css")),
    ("/app.js", JS, include_str!("../page/app.js")),
    ("/api.js", JS, include_str!("../page/api.js")),
    ("/state.js", JS, include_str!("../page/state.js")),
    ("/dom.js", JS, include_str!("../page/dom.js")),
    ("/fields.js", JS, include_str!("../page/fields.js")),
    ("/figures.js", JS, include_str!("../page/figures.js")),
    ("/answer.js", JS, include_str!("../page/answer.js")),
    ("/tasks.js", JS, include_str!("../page/tasks.js")),
    ("/keep.js", JS, include_str!("../page/keep.js")),
    ("/help.js", JS, include_str!("../page/help.js")),
    ("/clash.js", JS, include_str!("../page/clash.js")),
    ("/width.js", JS, include_str!("../page/width.js")),
    ("/try.js", JS, include_str!("../page/try.js")),
    ("/data.js", JS, include_str!("../page/data.js")),
    ("/share.js", JS, include_str!("../page/share.js")),
];
