"""Cells of recurrent networks, which PyTorch computes by kernels of its own on cards: the steps of `nn.LSTM`, `nn.GRU` and their cells.

Invariant: what a cell keeps for its gradient is read by the row of that gradient alone.
"""

import torch

_aten = torch.ops.aten


def _biased(gates, bias):
    return gates if bias is None else gates + bias


def _lstm(input_gates, hidden_gates, cell, input_bias=None, hidden_bias=None):
    """Keeps what the four gates let through: of the input, of the old cell, what is new, and of the output."""
    i, f, g, o = (_biased(input_gates, input_bias) + _biased(hidden_gates, hidden_bias)).chunk(4, 1)
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    new = f * cell + i * g
    return o * torch.tanh(new), new, torch.cat([i, f, g, o], 1)


def _lstm_backward(grad_hidden, grad_cell, old, new, kept, has_bias):
    i, f, g, o = kept.chunk(4, 1)
    bounded = torch.tanh(new)
    grad_hidden = torch.zeros_like(new) if grad_hidden is None else grad_hidden
    through = grad_hidden * o * (1 - bounded * bounded)
    through = through if grad_cell is None else through + grad_cell
    gates = [through * g * i * (1 - i), through * old * f * (1 - f), through * i * (1 - g * g), grad_hidden * bounded * o * (1 - o)]
    grad_gates = torch.cat(gates, 1)
    return grad_gates, through * f, grad_gates.sum(0)


def _gru(input_gates, hidden_gates, hidden, input_bias=None, hidden_bias=None):
    """Keeps the two gates, what is new, the old state, and what the first gate let through of it."""
    ir, iz, new_in = _biased(input_gates, input_bias).chunk(3, 1)
    hr, hz, new_hidden = _biased(hidden_gates, hidden_bias).chunk(3, 1)
    r, z = torch.sigmoid(ir + hr), torch.sigmoid(iz + hz)
    n = torch.tanh(new_in + r * new_hidden)
    return (hidden - n) * z + n, torch.cat([r, z, n, hidden, new_hidden], 1)


def _gru_backward(gradient, kept, has_bias):
    r, z, n, hidden, new_hidden = kept.chunk(5, 1)
    grad_n = gradient * (1 - z) * (1 - n * n)
    grad_r = grad_n * new_hidden * (1 - r) * r
    grad_z = gradient * (hidden - n) * (1 - z) * z
    of_input, of_hidden = torch.cat([grad_r, grad_z, grad_n], 1), torch.cat([grad_r, grad_z, grad_n * r], 1)
    return of_input, of_hidden, gradient * z, of_input.sum(0), of_hidden.sum(0)


ROWS = {
    _aten._thnn_fused_lstm_cell.default: _lstm,
    _aten._thnn_fused_lstm_cell_backward_impl.default: _lstm_backward,
    _aten._thnn_fused_gru_cell.default: _gru,
    _aten._thnn_fused_gru_cell_backward.default: _gru_backward,
}
