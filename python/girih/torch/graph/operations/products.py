"""Products of matrices and convolutions, as `core/tensor` lowers them."""

from girih.torch.graph.operations.table import writes
from girih.torch.graph.values import Missing


@writes("mm.default", "bmm.default")
def product(w, a, b):
    return w.op("matmul", a, b)


@writes("addmm.default", "baddbmm.default")
def added_product(w, x, a, b, beta=1, alpha=1):
    made = w.op("matmul", a, b)
    made = made if alpha == 1 else w.binary("mul", made, alpha)
    if beta == 0:
        return made
    return w.binary("add", x if beta == 1 else w.binary("mul", x, beta), made)


class Convolution:
    """A convolution in one or two dimensions. One dimension is the width of a picture of height 1."""

    def __init__(self, w, x, weights, stride, padding, dilation, transposed, output_padding, groups):
        if x.rank not in (3, 4):
            raise Missing(f"it is a convolution in {x.rank - 2} dimensions")
        if any(number < 0 for number in (*padding, *output_padding)):
            raise Missing("it has a padding that is negative")
        self.w, self.is_flat, self.is_transposed = w, x.rank == 3, transposed
        pair = lambda numbers, one: [one, *numbers] if self.is_flat else list(numbers)
        self.attributes = {"stride": pair(stride, 1), "padding": pair(padding, 0), "dilation": pair(dilation, 1), "groups": [groups]}
        self.more = pair(output_padding, 0)
        self.x, self.weights = self.deep(x), self.deep(weights)

    def deep(self, x):
        return self.w.reshape(x, [*x.sizes[:2], 1, x.sizes[2]]) if self.is_flat else x

    def flat(self, x):
        return self.w.reshape(x, [*x.sizes[:2], x.sizes[3]]) if self.is_flat else x

    def forward(self):
        if not self.is_transposed:
            return self.flat(self.w.op("conv2d", self.x, self.weights, **self.attributes))
        # The derivative with respect to the input of the convolution that goes the other way: that input is what this one gives.
        given = self.w.full(0, self.x.dtype, self._sizes())
        return self.flat(self.w.derivatives("conv2d", [given, self.weights], self.x, [0], **self.attributes)[0])

    def backward(self, derivative, mask):
        """The derivatives with respect to the input and the weights, where they are wanted."""
        derivative = self.deep(derivative)
        by = [place for place in (0, 1) if mask[place]]
        if not self.is_transposed:
            made = self.w.derivatives("conv2d", [self.x, self.weights], derivative, by, **self.attributes) if by else []
        else:
            made = [self._backward_transposed(derivative, place) for place in by]
        found = dict(zip(by, map(self.flat, made)))
        return found.get(0), found.get(1)

    def _backward_transposed(self, derivative, place):
        if place == 0:
            return self.w.op("conv2d", derivative, self.weights, **self.attributes)
        # The convolution that goes the other way takes the derivative for its input, and has the input for its derivative.
        return self.w.derivatives("conv2d", [derivative, self.weights], self.x, [1], **self.attributes)[0]

    def _sizes(self):
        """The sizes of the result of a transposed convolution."""
        stride, padding, dilation = (self.attributes[name] for name in ("stride", "padding", "dilation"))
        length = lambda i: (self.x.sizes[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (self.weights.sizes[2 + i] - 1) + self.more[i] + 1
        return [self.x.sizes[0], self.weights.sizes[1] * self.attributes["groups"][0], length(0), length(1)]


@writes("convolution.default")
def convolution(w, x, weights, bias, stride, padding, dilation, transposed, output_padding, groups):
    made = Convolution(w, x, weights, stride, padding, dilation, transposed, output_padding, groups).forward()
    return made if bias is None else w.binary("add", made, w.reshape(bias, [bias.sizes[0], *[1] * (made.rank - 2)]))


@writes("convolution_backward.default")
def convolution_backward(w, derivative, x, weights, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    planned = Convolution(w, x, weights, stride, padding, dilation, transposed, output_padding, groups)
    of_bias = w.along("sum", derivative, [0, *range(2, derivative.rank)]) if mask[2] else None
    return *planned.backward(derivative, mask), of_bias
