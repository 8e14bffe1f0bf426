"""Steps of optimizers that PyTorch has as one operation (`fused=True`), and what `torch.amp.GradScaler` calls.

A step is traced as a whole: one kernel changes a parameter and all that an optimizer keeps of it. Rates are given as tensors: a schedule needs no plan for each.
Invariants: where an infinite gradient was found, nothing is changed; the host learns nothing of it. Numbers of 16 bits are computed in `float32`.
"""

import functools
import math

import torch

from girih.torch.library import Library

_aten = torch.ops.aten
_library = Library("aten", "IMPL")
_SHORT = (torch.float16, torch.bfloat16)


def _wide(tensors):
    return [tensor.float() if tensor.dtype in _SHORT else tensor for tensor in tensors]


def _gradients(given, scale, maximize):
    """The gradients to go by, and those to leave behind, where there is a scale."""
    unscaled = _wide(given)
    if scale is not None:
        unscaled = [gradient / scale for gradient in unscaled]
    return [-gradient for gradient in unscaled] if maximize else unscaled, unscaled if scale is not None else []


def _write(found_inf, *changes) -> None:
    """Changes lists of tensors, each given with what becomes of it; what becomes of one does not depend on another one's change.

    Each tensor has a copy of its own: Inductor computes an operation on a list where it is used, and would read some of these when they are changed already.
    """
    for targets, values in changes:
        for target, value in zip(targets, values):
            target.copy_(value if found_inf is None else torch.where(found_inf == 1, target, value.to(target.dtype)))


def _bias(beta, steps):
    """1 - beta ** step, without a difference of neighbours."""
    rate = torch.log(beta) if isinstance(beta, torch.Tensor) else math.log(beta) if beta else -math.inf
    return [-torch.expm1(step * rate) for step in steps]


def _adam(is_decoupled):
    def step(parameters, gradients, means, squares, largest, steps, *, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale=None, found_inf=None):
        read, left = _gradients(gradients, grad_scale, maximize)
        old, new_means, new_squares = _wide(parameters), [], []
        new, new_largest = [], []
        places = zip(old, read, _wide(means), _wide(squares), _wide(largest) if amsgrad else old, _bias(beta1, steps), _bias(beta2, steps))
        for parameter, gradient, mean, square, most, first, second in places:
            if is_decoupled:
                parameter = parameter * (1 - lr * weight_decay)
            else:
                gradient = gradient + parameter * weight_decay
            mean = mean + (gradient - mean) * (1 - beta1)
            square = square * beta2 + gradient * gradient * (1 - beta2)
            most = torch.maximum(most, square) if amsgrad else square
            new.append(parameter - mean * (lr / first) / (torch.sqrt(most) / torch.sqrt(second) + eps))
            for values, value in ((new_means, mean), (new_squares, square), (new_largest, most)):
                values.append(value)
        changes = [(parameters, new), (means, new_means), (squares, new_squares), (largest if amsgrad else [], new_largest)]
        _write(found_inf, *changes, (gradients if left else [], left))

    return step


def _sgd(parameters, gradients, momenta, *, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step, grad_scale=None, found_inf=None):
    read, left = _gradients(gradients, grad_scale, maximize)
    old = _wide(parameters)
    read = [gradient + parameter * weight_decay for gradient, parameter in zip(read, old)]
    moved = read
    if momenta:
        moved = read if is_first_step else [mean * momentum + gradient * (1 - dampening) for mean, gradient in zip(_wide(momenta), read)]
    new = [gradient + mean * momentum if nesterov else mean for gradient, mean in zip(read, moved)]
    moving = (parameters, [parameter - change * lr for parameter, change in zip(old, new)])
    _write(found_inf, moving, (momenta, moved), (gradients if left else [], left))


def _adagrad(parameters, gradients, sums, steps, *, lr, lr_decay, weight_decay, eps, maximize, grad_scale=None, found_inf=None):
    read, left = _gradients(gradients, grad_scale, maximize)
    old = _wide(parameters)
    read = [gradient + parameter * weight_decay for gradient, parameter in zip(read, old)]
    total = [before + gradient * gradient for before, gradient in zip(_wide(sums), read)]
    rates = [lr / (1 + (step - 1) * lr_decay) for step in steps]
    new = [parameter - gradient * rate / (torch.sqrt(square) + eps) for parameter, gradient, rate, square in zip(old, read, rates, total)]
    _write(found_inf, (parameters, new), (sums, total), (gradients if left else [], left))


def _update_scale(scale, tracker, found_inf, growth, backoff, interval):
    """The next scale of gradients, and how many steps in a row had finite ones."""
    is_found, steps = found_inf > 0, tracker + 1
    is_time = steps == interval
    grown = scale * growth
    grown = torch.where(is_time & grown.isfinite(), grown, scale)
    tracker.copy_(torch.where(is_found | is_time, 0, steps))
    scale.copy_(torch.where(is_found, scale * backoff, grown))


_STEPS = {"_fused_adam_": _adam(False), "_fused_adamw_": _adam(True), "_fused_sgd_": _sgd, "_fused_adagrad_": _adagrad}
_TRACED = {f"aten::{name}": step for name, step in _STEPS.items()} | {"aten::_amp_update_scale_": _update_scale}


@functools.cache
def step(operation):
    """What an operation does, in simpler ones that change its arguments in place; `None` where it is none of these."""
    return _TRACED.get(operation._schema.name)


def _stepped(run, operation, *args, lr, **kwargs):
    """A step whose rate is a number: calls that differ in it alone have one plan."""
    dtype = torch.float64 if args[0] and args[0][0].dtype == torch.float64 else torch.float32
    return run(operation, *args, lr=torch.tensor(lr, dtype=dtype), **kwargs) if args[0] else None


def _unscale(run, gradients, found_inf, inv_scale):
    """Unscales gradients, and says whether one is not finite."""
    if not gradients:
        return
    peaks = torch.stack([_aten.linalg_vector_norm.default(gradient, math.inf).float() for gradient in gradients if gradient.numel()] or [found_inf.new_zeros(())])
    found_inf.copy_(torch.maximum(found_inf, (~peaks.isfinite()).any().to(found_inf.dtype)))
    torch._foreach_mul_(gradients, inv_scale.reshape(()))


def register(run) -> None:
    """Registers them. `run` runs any call."""
    for name in _STEPS:
        _library.impl(name, functools.partial(_stepped, run, getattr(_aten, name).tensor_lr), "PrivateUse1")
    _library.impl("_amp_foreach_non_finite_check_and_unscale_", functools.partial(_unscale, run), "PrivateUse1")
