// How many of at most `limit` steps z -> z*z + c stay within 2 of zero, for each point of a square of `size` x `size`.
// Compiled without contraction, so that every product and sum is rounded as the IR rounds it.
extern "C" __global__ void mandelbrot(unsigned *__restrict__ counts, unsigned size, unsigned limit) {
    unsigned px = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= size || py >= size) return;
    float step = 3.0f / (float)size;
    float cx = (float)px * step - 2.25f;
    float cy = (float)py * step - 1.5f;
    float x = 0.0f, y = 0.0f;
    unsigned k = 0;
    while (k < limit) {
        float x2 = x * x, y2 = y * y;
        if (!(x2 + y2 <= 4.0f)) break;
        y = (2.0f * x) * y + cy;
        x = (x2 - y2) + cx;
        k++;
    }
    counts[py * size + px] = k;
}
