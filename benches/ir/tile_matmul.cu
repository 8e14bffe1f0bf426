// c = a x b for square row-major f32 matrices whose side is a multiple of 16: one thread an element, tiles of 16 x 16 in
// shared memory, nothing cleverer.
#define TILE 16
extern "C" __global__ void tile_matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                       unsigned n) {
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE];
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    unsigned row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (unsigned t = 0; t < n; t += TILE) {
        as[ty][tx] = a[row * n + t + tx];
        bs[ty][tx] = b[(t + ty) * n + column];
        __syncthreads();
        for (unsigned k = 0; k < TILE; k++) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
