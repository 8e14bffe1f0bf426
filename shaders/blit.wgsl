// Draws a picture as a rectangle in the middle of the window.

// How much of the window the rectangle covers, in each direction.
@group(0) @binding(0) var<uniform> cover: vec4f;
@group(0) @binding(1) var picture: texture_2d<f32>;
@group(0) @binding(2) var picture_sampler: sampler;

struct Corner {
    @builtin(position) place: vec4f,
    @location(0) on_picture: vec2f,
}

// The corners of the rectangle as a strip of two triangles. The rows of a picture go down, the axis of the window up.
@vertex
fn corner(@builtin(vertex_index) index: u32) -> Corner {
    let on_picture = vec2f(f32(index & 1u), f32(index >> 1u));
    let centred = vec2f(2.0, -2.0) * on_picture + vec2f(-1.0, 1.0);
    return Corner(vec4f(centred * cover.xy, 0.0, 1.0), on_picture);
}

@fragment
fn colour(at: Corner) -> @location(0) vec4f {
    return textureSample(picture, picture_sampler, at.on_picture);
}
