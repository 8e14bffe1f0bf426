"""Times a step of training of a model on a device: `python3 benches/torch/train.py girih resnet --on cuda`, and the rival: `.. cuda resnet`.

The models are torchvision's and transformers', with random weights. A step is forward and backward, compiled by `torch.compile` unless `--eager`, and SGD with momentum, eagerly. The first
step, with all compilers, is told apart; then five losses, by which two devices are compared, and the median of twenty steps. Processes that are given the same folder by `--turns FOLDER/COUNT` begin
at the same time, compile at the same time, and are measured one after the other, when all COUNT have compiled. `--kernels` lists what the card spent its time on in three more steps, by PyTorch's profiler.
"""

import argparse
import collections
import contextlib
import fcntl
import json
import pathlib
import statistics
import tempfile
import time

import torch
import torch.nn.functional as F


class Logits(torch.nn.Module):
    """A model of transformers that gives one of its results."""

    def __init__(self, model, result):
        super().__init__()
        self.model, self.result = model, result

    def forward(self, x):
        return getattr(self.model(x), self.result)


def cnn():
    """Three convolutions with pooling, as for cats and dogs; in float32."""
    nn = torch.nn
    convolution = lambda a, b: [nn.Conv2d(a, b, 3), nn.ReLU(), nn.MaxPool2d(2)]
    dense = [nn.Flatten(), nn.Linear(128 * 17 * 17, 512), nn.ReLU(), nn.Linear(512, 1), nn.Flatten(0)]
    model = nn.Sequential(*convolution(3, 32), *convolution(32, 64), *convolution(64, 128), *dense)
    return model, torch.randn(64, 3, 150, 150), torch.rand(64).round(), F.binary_cross_entropy_with_logits, None


def resnet():
    """ResNet-50, 64 pictures of 224x224, channels-last, float16."""
    import torchvision

    order = torch.channels_last
    model, x = torchvision.models.resnet50().to(memory_format=order), torch.randn(64, 3, 224, 224).to(memory_format=order)
    return model, x, torch.randint(0, 1000, (64,)), F.cross_entropy, torch.float16


def vit():
    """ViT-B/16, 32 pictures of 224x224, bfloat16."""
    import torchvision

    return torchvision.models.vit_b_16(), torch.randn(32, 3, 224, 224), torch.randint(0, 1000, (32,)), F.cross_entropy, torch.bfloat16


def gpt2():
    """GPT-2 small, 4 texts of 1024 tokens, bfloat16."""
    import transformers

    config = transformers.GPT2Config(attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, use_cache=False)
    x = torch.randint(0, config.vocab_size, (4, 1024))
    loss = lambda y, wanted: F.cross_entropy(y.view(-1, y.shape[-1]), wanted.reshape(-1))
    return Logits(transformers.GPT2LMHeadModel(config), "logits"), x, x, loss, torch.bfloat16


def bert():
    """BERT-base, 16 texts of 256 tokens, bfloat16."""
    import transformers

    config = transformers.BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    x, wanted = torch.randint(0, config.vocab_size, (16, 256)), torch.randint(0, config.hidden_size, (16,))
    return Logits(transformers.BertModel(config), "pooler_output"), x, wanted, F.cross_entropy, torch.bfloat16


MODELS = {function.__name__: function for function in (cnn, resnet, vit, gpt2, bert)}


def synchronize_of(device, on):
    """What waits for a device."""
    if device != "girih":
        return getattr(torch, device).synchronize
    import girih.torch

    girih.torch.use(on)
    return girih.torch.synchronize


@contextlib.contextmanager
def turn(given):
    """Waits until all processes have compiled, and until it is this one's turn."""
    if given.turns is None:
        yield
        return
    folder, count = given.turns.rsplit("/", 1)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{given.device}-{given.model}-{given.on}-{given.eager}.ready").touch()
    while len(list(folder.glob("*.ready"))) < int(count):
        time.sleep(0.2)
    with open(folder / "turn", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def memory_of(device):
    """The most that tensors had at a time, in bytes."""
    if device == "girih":
        import girih.torch

        return girih.torch.current().memory()["peak"]
    return torch.cuda.max_memory_allocated()


def list_kernels(step, steps=3):
    """What a card spends its time on, the longest first: milliseconds of a step, launches of a step, name and grid."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(steps):
            step()
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace.json")
        profile.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    kernels = collections.defaultdict(list)
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            kernels[event["name"][:80], str(event["args"].get("grid", ""))].append(event["dur"])
    total, count = sum(map(sum, kernels.values())), sum(map(len, kernels.values()))
    print(f"kernels: {total / steps / 1e3:.2f} ms and {count / steps:.0f} launches of a step")
    for (name, grid), times in sorted(kernels.items(), key=lambda row: -sum(row[1]))[:80]:
        print(f"{sum(times) / steps / 1e3:9.3f} ms {len(times) / steps:6.1f}  {name} {grid}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", choices=["girih", "cuda"])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--on", default="cuda", help="where girih computes")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    parser.add_argument("--turns", metavar="FOLDER/COUNT", help="be measured while COUNT - 1 other processes wait")
    parser.add_argument("--kernels", action="store_true", help="list the kernels")
    given = parser.parse_args()
    synchronize = synchronize_of(given.device, given.on)
    torch.manual_seed(0)
    model, x, wanted, loss, precision = MODELS[given.model]()
    model, x, wanted = model.to(given.device), x.to(given.device), wanted.to(given.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def forward(x, wanted):
        with torch.autocast(given.device, precision or torch.bfloat16, enabled=precision is not None):
            made = model(x)
        return loss(made.float(), wanted)

    if not given.eager:
        forward = torch.compile(forward)

    def step():
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        value = forward(x, wanted)
        value.backward()
        optimizer.step()
        synchronize()
        return time.perf_counter() - began, value

    first, value = step()
    losses = [value.item()] + [step()[1].item() for _ in range(4)]
    with turn(given):
        step()
        seconds = statistics.median(step()[0] for _ in range(20))
        way = "eager" if given.eager else "compiled"
        print(f"{given.device} {given.model} {way}: first step {first:.1f} s, then {seconds * 1e3:.2f} ms; memory {memory_of(given.device) / 1e9:.2f} GB; losses {[round(loss, 4) for loss in losses]}")
        if given.device == "girih":
            import girih.torch

            print(f"on the host: {girih.torch.fallbacks()}")
        if given.kernels:
            list_kernels(step)


if __name__ == "__main__":
    main()
