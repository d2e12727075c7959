//! BibTeX of the paper whose theory this is, and of the program.

/// The entries of the paper whose theory this is, and of the program.
pub fn bibtex() -> String {
    format!(
        "\
@misc{{shan2024order,
  author        = {{Shan, Haozhe and Li, Qianyi and Sompolinsky, Haim}},
  title         = {{Order parameters and phase transitions of continual learning
                   in deep neural networks}},
  year          = {{2024}},
  eprint        = {{2407.10315}},
  archivePrefix = {{arXiv}},
}}

@software{{ebbing,
  author  = {{{{{authors}}}}},
  title   = {{ebbing: forecasts of what a neural network forgets}},
  version = {{{version}}},
  year    = {{2026}},
  url     = {{{url}}},
}}
",
        authors = env!("CARGO_PKG_AUTHORS"),
        version = env!("CARGO_PKG_VERSION"),
        url = env!("CARGO_PKG_REPOSITORY"),
    )
}
