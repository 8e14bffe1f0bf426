"""Eleven small models, with an input and a loss for each, on torch alone."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Perceptron(nn.Module):
    """Two dense layers."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        return self.layers(x)


class CatsAndDogs(nn.Module):
    """Convolutions with pooling, then dense layers, and one probability."""

    def __init__(self):
        super().__init__()
        features = [nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2)]
        head = [nn.Flatten(), nn.Linear(16 * 36, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid()]
        self.layers = nn.Sequential(*features, *head)

    def forward(self, x):
        return self.layers(x)


class Residual(nn.Module):
    """A block of a ResNet: two convolutions, beside a short cut."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))
        self.second = nn.Sequential(nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        same = stride == 1 and channels == out
        self.short = nn.Identity() if same else nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.second(self.first(x)) + self.short(x))


class ResNet(nn.Module):
    """Three blocks, and the mean of all places."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 16, 1))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1).flatten(1))


class Inverted(nn.Module):
    """A block of a MobileNet: wider, a convolution for each channel, narrower."""

    def __init__(self, channels, wide, activation, squeeze):
        super().__init__()
        self.widen = nn.Sequential(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), activation())
        self.each = nn.Sequential(nn.Conv2d(wide, wide, 3, 1, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), activation())
        self.scale = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, wide, 1), nn.Hardsigmoid()) if squeeze else None
        self.narrow = nn.Sequential(nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.each(self.widen(x))
        return x + self.narrow(y if self.scale is None else y * self.scale(y))


class MobileNet(nn.Module):
    """Two of these blocks."""

    def __init__(self, activation, squeeze):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.blocks = nn.Sequential(*[Inverted(8, 24, activation, squeeze) for _ in range(2)])
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def double(channels, out):
    convolutions = [nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
    return nn.Sequential(*convolutions, nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Down twice and up twice, once by a transposed convolution and once by interpolation."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([double(3, 8), double(8, 16), double(16, 16)])
        self.up = nn.ConvTranspose2d(16, 16, 2, stride=2)
        self.merge = nn.ModuleList([double(32, 8), double(16, 8)])
        self.out = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](F.max_pool2d(a, 2))
        y = self.merge[0](torch.cat([self.up(self.down[2](F.max_pool2d(b, 2))), b], 1))
        y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=True)
        return self.out(self.merge[1](torch.cat([y, a], 1)))


class Attention(nn.Module):
    """Attention of several heads: written out, or PyTorch's own."""

    def __init__(self, width, heads, causal, fused):
        super().__init__()
        self.heads, self.causal, self.fused = heads, causal, fused
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        parts = self.project(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
            if self.causal:
                later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
                scores = scores.masked_fill(later, float("-inf"))
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))
            y = F.softmax(scores, -1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """A layer of a transformer, with the norms first or last."""

    def __init__(self, width, heads, causal=False, fused=True, norm_first=True):
        super().__init__()
        self.norm_first = norm_first
        self.attention = Attention(width, heads, causal, fused)
        self.dense = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attention(self.norms[0](x), mask)
            return x + self.dense(self.norms[1](x))
        x = self.norms[0](x + self.attention(x, mask))
        return self.norms[1](x + self.dense(x))


class Gpt(nn.Module):
    """A decoder whose first and last weights are the same."""

    def __init__(self, fused, width=32, words=65, length=16):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList([Layer(width, 4, True, fused) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class VisionTransformer(nn.Module):
    """Patches of a picture, a token for the class, and an encoder."""

    def __init__(self, width=32):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.randn(1, 17, width) * 0.02)
        self.layers = nn.Sequential(Layer(width, 4), Layer(width, 4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.layers(x))[:, 0])


class Encoder(nn.Module):
    """An encoder with the norms last, and a mask for what is padding."""

    def __init__(self, width=32, words=100):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(words, width), nn.Embedding(32, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList([Layer(width, 4, norm_first=False) for _ in range(2)])
        self.head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, words))

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.places(places) + self.kinds(torch.zeros_like(tokens)))
        mask = (tokens != 3)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)


def words_loss(scores, labels):
    return F.cross_entropy(scores.flatten(0, 1), labels.flatten())


def _picture():
    return torch.randn(2, 3, 32, 32)


def _labels():
    return torch.randint(0, 10, (2,))


def _tokens(words):
    return torch.randint(3, words, (2, 16))


# For each: the model, its input, its loss and what is wanted.
MODELS = {
    "mlp": lambda: (Perceptron(), torch.randn(4, 8, 8), F.cross_entropy, torch.randint(0, 10, (4,))),
    "cats_and_dogs": lambda: (CatsAndDogs(), _picture(), F.binary_cross_entropy, torch.rand(2, 1)),
    "resnet": lambda: (ResNet(), _picture(), F.cross_entropy, _labels()),
    "mobilenet": lambda: (MobileNet(nn.ReLU6, False), _picture(), F.cross_entropy, _labels()),
    "mobilenet_squeezed": lambda: (MobileNet(nn.Hardswish, True), _picture(), F.cross_entropy, _labels()),
    "unet": lambda: (UNet(), _picture(), F.cross_entropy, torch.randint(0, 2, (2, 32, 32))),
    "vit": lambda: (VisionTransformer(), _picture(), F.cross_entropy, _labels()),
    "gpt": lambda: (Gpt(False), _tokens(65), words_loss, _tokens(65)),
    "gpt_fused": lambda: (Gpt(True), _tokens(65), words_loss, _tokens(65)),
    "bert": lambda: (Encoder(), _tokens(100), words_loss, _tokens(100)),
    "gpt_wide": lambda: (Gpt(True, width=64), _tokens(65), words_loss, _tokens(65)),
}
