//! The files of `compare --plot`: their format, and how they are written.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::builder::{PathBufValueParser, TypedValueParser};

use lockscope_files as files;
use lockscope_lab::plot::{self, PlotPage};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct PlotFile {
    path: PathBuf,
    format: PlotFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlotFormat {
    Svg,
    Html,
}

impl PlotFile {
    /// Returns a parser of paths whose extension names a format.
    pub(super) fn parser() -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().try_map(|path| {
            let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
            let format = match extension.as_deref() {
                Some("svg") => PlotFormat::Svg,
                Some("html") => PlotFormat::Html,
                _ => return Err("name a file that ends in .svg or in .html"),
            };
            Ok(Self { path, format })
        })
    }

    /// Checks that the file can be written; leaves nothing behind.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        files::can_replace(&self.path).map_err(|error| self.refusal(&error))
    }

    /// Writes the file, or leaves the old one.
    pub(super) fn write(&self, page: &PlotPage) -> anyhow::Result<()> {
        let text = match self.format {
            PlotFormat::Svg => plot::svg(page),
            PlotFormat::Html => plot::html(page),
        };
        files::replace(&self.path, text.as_bytes()).map_err(|error| self.refusal(&error))
    }

    fn refusal(&self, error: &files::FileError) -> anyhow::Error {
        anyhow!("cannot write the plot to {}: {error}; name another file with --plot", self.path.display())
    }
}
