//! Renders a frame of an image shader, and writes it as a PNG file.

use girih::Error;
use girih::render::{RenderOptions, Shader, write_png};

/// Draws a frame.
pub fn main() -> Result<(), Error> {
    let shader = Shader::open("shaders/plasma.bend")?;
    let mut renderer = shader.renderer(&RenderOptions::default())?;
    let frame = renderer.frame(1.5)?;
    let path = std::env::temp_dir().join("girih-plasma.png");
    write_png(&path, &frame)?;
    println!(
        "{} by {} pixels, by the {}: {}",
        frame.size.width(),
        frame.size.height(),
        renderer.device(),
        path.display()
    );
    assert_eq!(frame.pixels.len(), frame.size.pixels() as usize);
    Ok(())
}
