//! Tables, figures and the one-file report of ebbing.
