//! Images as text.

/// From white to black.
const INK: &[u8; 10] = b" .:-=+*#%@";

/// Images of 8 x 8 pixels from 0 to 1, side by side.
pub(crate) fn row(images: &[Vec<f64>]) -> String {
    let line = |y: usize| -> String {
        let parts = images.iter().map(|image| {
            image
                .chunks(8)
                .nth(y)
                .into_iter()
                .flatten()
                .map(|pixel| ink(*pixel))
                .collect::<String>()
        });
        parts.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    };
    (0..8).map(line).collect::<Vec<_>>().join("\n")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is known"
)]
fn ink(pixel: f64) -> char {
    let step = (pixel.clamp(0.0, 1.0) * 9.0).round() as usize;
    char::from(INK[step])
}
