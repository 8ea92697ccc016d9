"""Runs exported networks in onnxruntime and PyTorch and compares them with tengen's own outputs. See scripts/read-back.

Positions are encoded by the exported tengen.py from the rows of an export; tengen plays the same games itself and says
with kata-raw-nn what its network predicts. The weights are random in every tensor, so that no part can be left out.
"""

import json
import os
import subprocess
import sys

import numpy as np
import onnxruntime
import pyarrow.parquet as pq
from safetensors import safe_open
from safetensors.numpy import save_file

TOLERANCE = 1e-4
POSITIONS = 1000
PLAIN = "network.nested_blocks=false"
SHAPES = {
    "plain": [PLAIN],
    "nested": ["network.nested_blocks=true", "network.blocks=2", "network.pool_every=1"],
    "heads": [PLAIN, "network.reply_head=true", "network.soft_policy_head=true", "network.short_term_head=true"],
}


def tengen(program, *args):
    done = subprocess.run([program, *args], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"read-back: {' '.join(args)}: {done.stderr}")
    return done.stdout


def randomize(source, target, seed):
    """Writes a weights file with random values in every tensor."""
    rng = np.random.default_rng(seed)
    with safe_open(source, "np") as file:
        names, metadata = list(file.keys()), file.metadata()
        shapes = {name: file.get_slice(name).get_shape() for name in names}
    tensors = {}
    for name, shape in shapes.items():
        inputs = int(np.prod(shape[1:])) or 1
        values = rng.normal(0, (2 / inputs) ** 0.5 if len(shape) > 1 else 0.3, shape)
        if name.endswith(("variance", "scale")):
            values = 0.5 + np.abs(values)
        tensors[name] = values.astype(np.float32)
    save_file(tensors, target, metadata)


class Gtp:
    def __init__(self, program, model):
        command = [program, "gtp", "--model", f"model:{model}", "--dtype", "fp32"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        lines = []
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"read-back: the engine ended at {command}")
            if not line.strip():
                break
            lines.append(line.rstrip("\n"))
        if not lines[0].startswith("="):
            sys.exit(f"read-back: {command}: {lines}")
        return [lines[0][1:].strip(), *lines[1:]]


def point(row, index):
    if index == row["width"] * row["height"]:
        return "pass"
    return "ABCDEFGHJKLMNOPQRST"[index % row["width"]] + str(row["height"] - index // row["width"])


def own_output(engine, row):
    """What tengen itself predicts: policy, ownership, win - loss, and margin for the side to move."""
    lines = engine.ask("kata-raw-nn 0")
    values = {line.split()[0]: line.split()[1:] for line in lines if line and line.split()[0].isalpha()}
    rows_of = lambda key: lines[lines.index(key) + 1:][:row["height"]]
    numbers = lambda key: [float(word) for line in rows_of(key) for word in line.split()]
    sign = -row["to_move"]
    policy = np.array(numbers("policy") + [float(values["policyPass"][0])])
    win = 2 * float(values["whiteWin"][0]) - 1
    return np.nan_to_num(policy), sign * np.array(numbers("whiteOwnership")), sign * win, \
        sign * float(values["whiteLead"][0])


def expected_outputs(program, model, rows):
    engine, expected, game = Gtp(program, model), [], None
    for row in rows:
        if row["game_id"] != game:
            game = row["game_id"]
            for command in (f"boardsize {row['width']}", "clear_board", f"komi {row['komi']}"):
                engine.ask(command)
        expected.append(own_output(engine, row))
        color = "b" if row["to_move"] == 1 else "w"
        engine.ask(f"play {color} {point(row, row['move'])}")
    engine.ask("quit")
    return expected


def compare(name, out, rows, expected):
    worst = 0.0
    for number, (row, (policy, ownership, value, margin)) in enumerate(zip(rows, expected)):
        logits = np.where(np.array(row["legal"]) == 1, out["policy"][number].astype(np.float64), -np.inf)
        shares = np.exp(logits - logits.max())
        differences = [
            np.abs(shares / shares.sum() - policy).max(),
            np.abs(out["ownership"][number].reshape(-1) - ownership).max(),
            abs(out["win"][number] - out["loss"][number] - value),
            abs(out["margin"][number] - margin) - 5e-5,  # tengen prints four decimals
        ]
        worst = max(worst, *map(float, differences))
        if not worst <= TOLERANCE:
            sys.exit(f"read-back: {name}: game {row['game_id']} ply {row['ply']}: differences {differences}")
    print(f"read-back: {name}: {len(rows)} positions agree with tengen, largest difference {worst:.1e}")


def pad(planes, size):
    """The same boards on a larger canvas."""
    batch, count, height, width = planes.shape
    padded = np.zeros((batch, count, size, size), planes.dtype)
    padded[:, :, :height, :width] = planes
    return padded


def check_shape(program, work, name, settings):
    store, folder = os.path.join(work, f"net-{name}"), os.path.join(work, f"export-{name}")
    sets = [word for setting in settings for word in ("--set", setting)]
    games = ["--config", "configs/5x5.toml", "--games", "60", "--session", "1"]
    tengen(program, "selfplay", "--store", store, *games, *sets)
    id = json.loads(tengen(program, "model", "list", store, "--json"))["models"][0]["id"]
    weights = os.path.join(work, f"{name}.safetensors")
    randomize(os.path.join(store, "models", id, "weights.safetensors"), weights, 7)
    onnx = os.path.join(folder, "net.onnx")
    script = os.path.join(folder, "net.pt")
    for kind, out in (("onnx", onnx), ("torchscript", script), ("pytorch", os.path.join(folder, "torch"))):
        tengen(program, "model", "export", f"model:{weights}", "--format", kind, "--out", out)
    data = os.path.join(folder, "positions")
    tengen(program, "data", "export", store, "--out", data)
    table = pq.read_table(os.path.join(data, "v1/data/part-00000.parquet"))
    rows = sorted(table.to_pylist(), key=lambda row: (row["game_id"], row["ply"]))[:POSITIONS]
    expected = expected_outputs(program, weights, rows)
    inputs = encode(os.path.join(folder, "torch"), rows)
    session = onnxruntime.InferenceSession(onnx)
    names = [output.name for output in session.get_outputs()]
    out = dict(zip(names, session.run(None, inputs)))
    compare(f"{name} in onnxruntime", out, rows, expected)
    larger = dict(zip(names, session.run(None, {**inputs, "planes": pad(inputs["planes"], 7)})))
    for key in ("win", "loss", "margin"):
        if np.abs(larger[key] - out[key]).max() > TOLERANCE:
            sys.exit(f"read-back: {name}: {key} differs on a larger canvas")
    run_torch(name, os.path.join(folder, "torch"), script, rows, expected)


def encode(folder, rows):
    """The inputs by tengen.py, which needs torch; without torch, the same functions with arrays instead of tensors."""
    module = load(folder)
    return {key: np.asarray(part) for key, part in zip(("planes", "globals", "komi"), module.encode(rows))}


def load(folder):
    sys.path.insert(0, folder)
    sys.modules.pop("tengen", None)
    if not has_torch():
        stub_torch()
    import tengen as module
    sys.path.pop(0)
    return module


def has_torch():
    try:
        import torch
        return hasattr(torch, "__version__")
    except ImportError:
        return False


def stub_torch():
    """Enough of torch to import tengen.py and encode; the network itself is then not run."""
    import types
    torch, nn = types.ModuleType("torch"), types.ModuleType("torch.nn")
    nn.Module, nn.functional, torch.nn, torch.tensor = object, None, nn, np.asarray
    loader = types.ModuleType("safetensors.torch")
    loader.load_file = None
    sys.modules.update({"torch": torch, "torch.nn": nn, "safetensors.torch": loader})


def run_torch(name, folder, script, rows, expected):
    if not has_torch():
        print(f"*** read-back: {name} in PyTorch: SKIPPED, torch is not installed", file=sys.stderr)
        return
    import torch
    module = load(folder)
    metadata = {"tengen.json": ""}
    programs = {
        "PyTorch": module.Network(folder),
        "TorchScript": torch.jit.load(script, _extra_files=metadata),
    }
    for kind, network in programs.items():
        with torch.no_grad():
            out = network(*module.encode(rows))
        compare(f"{name} in {kind}", {key: value.numpy() for key, value in out.items()}, rows, expected)
    if "points on the board" not in json.loads(metadata["tengen.json"])["planes"]:
        sys.exit(f"read-back: {name}: the TorchScript file does not name its planes")


def check_loader(program, work):
    """The example of a PyTorch dataset gives every row once, whatever the format and the number of workers."""
    if not has_torch():
        print("*** read-back: docs/examples/position_dataset.py: SKIPPED, torch is not installed", file=sys.stderr)
        return
    sys.path.insert(0, "docs/examples")
    from position_dataset import PositionDataset
    from torch.utils.data import DataLoader
    store, found = os.path.join(work, "net-plain"), {}
    for kind in ("parquet", "arrow"):
        folder = os.path.join(work, f"loader-{kind}")
        tengen(program, "data", "export", store, "--out", folder, "--format", kind, "--rows-per-part", "300")
        for workers in (0, 3):
            data = PositionDataset(f"{folder}/v1/data", 5, buffer=100)
            rows = [batch for batch in DataLoader(data, batch_size=1, num_workers=workers)]
            found[kind, workers] = sorted(b"".join(row[key].numpy().tobytes() for key in sorted(row)) for row in rows)
    table = pq.read_table(os.path.join(work, "loader-parquet/v1/data"), columns=["policy", "outcome"])
    expected = table.num_rows - sum(row["policy"] is None or row["outcome"] is None for row in table.to_pylist())
    if any(rows != found["arrow", 3] or len(rows) != expected for rows in found.values()):
        sys.exit(f"read-back: position_dataset.py: {[len(rows) for rows in found.values()]} rows of {expected}")
    print(f"read-back: position_dataset.py: {expected} rows, the same from both formats with 0 and 3 workers")


if __name__ == "__main__":
    for name, settings in SHAPES.items():
        check_shape(sys.argv[1], sys.argv[2], name, settings)
    check_loader(sys.argv[1], sys.argv[2])
