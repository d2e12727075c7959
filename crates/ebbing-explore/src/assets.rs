//! The page itself, embedded in the program.

const JS: &str = "text/javascript; charset=utf-8";

/// Every file of the page: its path, its kind, its content.
pub const ASSETS: [(&str, &str, &str); 18] = [
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
    ("/risk.js", JS, include_str!("../page/risk.js")),
    ("/help.js", JS, include_str!("../page/help.js")),
    ("/clash.js", JS, include_str!("../page/clash.js")),
    ("/width.js", JS, include_str!("../page/width.js")),
    ("/try.js", JS, include_str!("../page/try.js")),
    ("/data.js", JS, include_str!("../page/data.js")),
    ("/share.js", JS, include_str!("../page/share.js")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_page_is_embedded() {
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/page")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = if name == "index.html" { "/".to_string() } else { format!("/{name}") };
            assert!(ASSETS.iter().any(|(known, _, _)| *known == path), "{name} is not embedded");
        }
    }
}
