"""A network of Tengen in PyTorch, and its view of the rows of `tengen data export --what positions`.

    network = tengen.Network(folder)                 # a folder with weights.safetensors and model.json
    planes, globals, komi = tengen.encode(rows)      # rows as dictionaries, boards of one size
    out = network(planes, globals, komi)             # policy, ownership, margin_logits, win, loss, margin
All from the viewpoint of the side to move; the rules need area scoring and no points for handicap stones."""
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch.nn import functional as F


class Network(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.config = json.loads(Path(folder, "model.json").read_text())["architecture"]
        if self.config.get("attention_every"):
            raise ValueError("networks with attention blocks are not supported")
        for name, tensor in load_file(Path(folder, "weights.safetensors")).items():
            self.register_buffer(name.replace(".", "-"), tensor)

    def get(self, name):
        return self._buffers.get(name.replace(".", "-"))

    def conv(self, x, name, norm):  # with its normalization
        norms = [self.get(f"{norm}.{part}") for part in ("mean", "variance", "scale", "shift")]
        return F.batch_norm(F.conv2d(x, self.get(f"{name}.weight"), padding="same"), *norms, eps=1e-5)

    def linear(self, x, name):
        return F.linear(x, self.get(f"{name}.weight"), self.get(f"{name}.bias"))

    def pool(self, x, mask):
        mean = x.sum((2, 3)) / mask.sum((2, 3))
        return torch.cat([mean, mean * (mask.sum((2, 3)).sqrt() - 14) * 0.1, x.amax((2, 3))], 1)

    def block(self, x, mask, name, nested):
        y = self.conv(x, f"{name}.conv1", f"{name}.norm1").relu() * mask
        if nested:
            y = self.block(self.block(y, mask, f"{name}.inner0", False), mask, f"{name}.inner1", False)
        elif self.get(f"{name}.pool.weight") is not None:
            x = x + self.linear(self.pool(y, mask), f"{name}.pool")[:, :, None, None]
        return (self.conv(y, f"{name}.conv2", f"{name}.norm2") + x).relu() * mask

    def forward(self, planes, globals, komi):
        mask, komi = planes[:, -1:], komi[:, None]
        areas, off_board = mask.sum((2, 3)), mask[:, 0] == 0
        x = self.conv(planes, "input.conv", "input.norm") + self.linear(globals, "input.globals")[:, :, None, None]
        x = x.relu() * mask
        for number in range(self.config["blocks"]):
            x = self.block(x, mask, f"blocks.{number}", self.config.get("nested_blocks", False))
        head = self.conv(x, "heads.conv", "heads.norm").relu() * mask
        pooled, points = self.pool(head, mask), self.linear(head.permute(0, 2, 3, 1), "heads.points")
        plays, ownership = points[..., 0].masked_fill(off_board, -1e30), points[..., 1].tanh() * mask[:, 0]
        lead = ownership.sum((1, 2))[:, None] + komi
        terms = torch.cat([pooled, lead.tanh(), (lead / 4).tanh(), lead / areas], 1)
        margins = torch.arange(-361, 362, dtype=lead.dtype, device=lead.device)[None]
        logits = self.linear(self.linear(terms, "score.hidden").relu(), "score.margin")
        logits = logits.masked_fill(margins.abs() > areas, -1e30)
        parts = (margins + komi > 0.25, margins + komi < -0.25, margins + komi)
        win, loss, margin = ((logits.softmax(1) * part).sum(1) for part in parts)
        policy = torch.cat([plays.flatten(1), self.linear(pooled, "heads.pass")], 1)
        return dict(policy=policy, ownership=ownership, margin_logits=logits, win=win, loss=loss, margin=margin)


def regions(board):  # the color of each connected region, its points, and the points next to it
    left, grid = set(np.ndindex(board.shape)), set(np.ndindex(board.shape))
    while left:
        region, edge = [left.pop()], set()
        for row, column in region:  # grows while it is read
            for near in {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)} & grid:
                if board[near] != board[row, column]:
                    edge.add(near)
                elif near in left:
                    left.remove(near)
                    region.append(near)
        yield board[region[0]], tuple(zip(*region)), edge


def encode_one(row):
    board = np.reshape(row["board"], (row["height"], row["width"])) * row["to_move"]
    planes = np.zeros((9, *board.shape), np.float32)
    planes[0], planes[1], planes[8] = board == 1, board == -1, 1
    planes[5] = np.reshape(row["superko_banned"], board.shape)
    for color, points, edge in regions(board):
        liberties, touched = sum(board[point] == 0 for point in edge), {board[point] for point in edge}
        if color and 1 <= liberties <= 3:
            planes[1 + liberties][points] = 1
        for plane, owner in ((6, 1), (7, -1)):
            planes[plane][points] = color == owner or (color == 0 and touched == {owner})
    komi = -row["to_move"] * row["komi"]
    numbers = komi / board.size, row["consecutive_passes"], np.tanh(((planes[6] - planes[7]).sum() + komi) / 5)
    return planes, numbers, komi


def encode(rows):
    return [torch.tensor(np.array(part, np.float32)) for part in zip(*map(encode_one, rows))]
