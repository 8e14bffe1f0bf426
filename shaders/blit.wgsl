// Draws a picture as a rectangle in the middle of the window.

struct Place {
    // How much of the window the rectangle covers, in each direction.
    cover: vec2f,
    // How many pixels the picture has in each direction; of pictures that are buffers.
    size: vec2u,
    // 1 if a pixel of the window shows more than one of the picture.
    is_reduced: u32,
    // 1 if the window encodes colours that it takes for light.
    is_light: u32,
}

@group(0) @binding(0) var<uniform> place: Place;
// A picture is a texture,
@group(0) @binding(1) var picture: texture_2d<f32>;
@group(0) @binding(2) var picture_sampler: sampler;
// or a buffer in which a kernel has left its pixels, row after row: red in the lowest byte, then green and blue.
@group(0) @binding(3) var<storage, read> pixels: array<u32>;

struct Corner {
    @builtin(position) place: vec4f,
    @location(0) on_picture: vec2f,
}

// The corners of the rectangle as a strip of two triangles. The rows of a picture go down, the axis of the window up.
@vertex
fn corner(@builtin(vertex_index) index: u32) -> Corner {
    let on_picture = vec2f(f32(index & 1u), f32(index >> 1u));
    let centred = vec2f(2.0, -2.0) * on_picture + vec2f(-1.0, 1.0);
    return Corner(vec4f(centred * place.cover, 0.0, 1.0), on_picture);
}

@fragment
fn colour_of_texture(at: Corner) -> @location(0) vec4f {
    return textureSample(picture, picture_sampler, at.on_picture);
}

// Enlarged pixels stay squares, reduced ones are averaged, as the sampler does it.
@fragment
fn colour_of_buffer(at: Corner) -> @location(0) vec4f {
    let spot = at.on_picture * vec2f(place.size);
    if place.is_reduced == 0u {
        return vec4f(pixel(vec2i(floor(spot))), 1.0);
    }
    let corner = floor(spot - 0.5);
    let part = spot - 0.5 - corner;
    let first = vec2i(corner);
    let above = mix(pixel(first), pixel(first + vec2i(1, 0)), part.x);
    let below = mix(pixel(first + vec2i(0, 1)), pixel(first + vec2i(1, 1)), part.x);
    return vec4f(mix(above, below, part.y), 1.0);
}

// The pixel at a place of the picture, or the one next to it at the edge.
fn pixel(at: vec2i) -> vec3f {
    let inside = vec2u(clamp(at, vec2i(0), vec2i(place.size) - 1));
    let colour = unpack4x8unorm(pixels[inside.y * place.size.x + inside.x]).rgb;
    if place.is_light == 0u {
        return colour;
    }
    // The transfer function of sRGB, IEC 61966-2-1.
    let curved = pow((colour + 0.055) / 1.055, vec3f(2.4));
    return select(curved, colour / 12.92, colour <= vec3f(0.04045));
}
