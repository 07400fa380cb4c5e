//! Raster images, through resvg.

use std::fmt;
use std::sync::{Arc, OnceLock};

use resvg::{tiny_skia, usvg};

/// No image is larger than this many pixels (400 MB of memory).
const MOST_PIXELS: f64 = 1e8;

/// Why no image came out. The figure is unharmed; another size or scale may work.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlotError {
    /// The image would be empty, or larger than 10⁸ pixels.
    Size {
        /// Width in pixels, scale included.
        width: f64,
        /// Height in pixels, scale included.
        height: f64,
    },
    /// The drawing could not be read back: a defect of this crate.
    Drawing(String),
    /// The image could not be encoded.
    Encoding(String),
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { width, height } => write!(
                f,
                "an image of {width} × {height} pixels cannot be made: it must hold between 1 and \
                 10⁸ pixels; try a smaller size or scale"
            ),
            Self::Drawing(cause) => write!(f, "the figure's SVG could not be read back: {cause}"),
            Self::Encoding(cause) => write!(f, "the image could not be encoded as PNG: {cause}"),
        }
    }
}

impl std::error::Error for PlotError {}

/// The fonts that come with the program. System fonts are never asked: a machine without any would
/// lose all text without a word, and images would differ from machine to machine.
fn fonts() -> Arc<usvg::fontdb::Database> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    FONTS
        .get_or_init(|| {
            let mut fonts = usvg::fontdb::Database::new();
            fonts.load_font_data(dejavu::sans::regular().to_vec());
            fonts.load_font_data(dejavu::sans::bold().to_vec());
            fonts.set_sans_serif_family("DejaVu Sans");
            Arc::new(fonts)
        })
        .clone()
}

pub(crate) fn rasterise(svg: &str, scale: f64) -> Result<Vec<u8>, PlotError> {
    let options = usvg::Options {
        font_family: "DejaVu Sans".to_owned(),
        fontdb: fonts(),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options)
        .map_err(|error| PlotError::Drawing(error.to_string()))?;
    let width = (f64::from(tree.size().width()) * scale).round();
    let height = (f64::from(tree.size().height()) * scale).round();
    // Written so that NaN fails too.
    if !(width >= 1.0 && height >= 1.0 && width * height <= MOST_PIXELS) {
        return Err(PlotError::Size { width, height });
    }
    let mut image = tiny_skia::Pixmap::new(width as u32, height as u32)
        .ok_or(PlotError::Size { width, height })?;
    let scale = scale as f32;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut image.as_mut());
    image.encode_png().map_err(|error| PlotError::Encoding(error.to_string()))
}
