"""Positions of `tengen data export --what positions` (parquet or arrow) as a PyTorch dataset.

    data = PositionDataset("data/positions/v1/train", size=9)
    for batch in torch.utils.data.DataLoader(data, batch_size=256, num_workers=4):
        batch["planes"], batch["policy"], batch["value"]

Row groups are shared out among the loader's workers and, with torch.distributed, among processes: each row comes once
per epoch. Files are read in a random order and rows pass a shuffle buffer; set_epoch changes both. All values are from
the viewpoint of the side to move. Needs torch, numpy and pyarrow. Run it to measure samples per second:

    python position_dataset.py FOLDER SIZE [WORKERS]
"""
import random
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

COLUMNS = ["width", "height", "to_move", "board", "legal", "policy", "outcome", "komi"]


class PositionDataset(IterableDataset):
    """Rows of one board size with a policy target and a result, as dictionaries of float32 tensors: planes
    [4, size, size] (own stones, opponent's stones, legal plays, ones), komi for the mover in points [], policy
    [size * size + 1], value [] (1 win, 0 tie, -1 loss)."""

    def __init__(self, folder, size, buffer=8192, seed=0):
        self.files = sorted(Path(folder).glob("part-*"))
        if not self.files:
            raise FileNotFoundError(f"no part-* files in {folder}: give the folder data, train, validation or test")
        self.size, self.buffer, self.seed, self.epoch = size, buffer, seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def groups(self):
        """This worker's row groups: files, and the numbers of groups in them."""
        together = torch.distributed.is_available() and torch.distributed.is_initialized()
        rank, ranks = (torch.distributed.get_rank(), torch.distributed.get_world_size()) if together else (0, 1)
        worker = get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        groups = [(file, group) for file in self.files for group in range(count_groups(file))]
        random.Random(f"{self.seed} {self.epoch}").shuffle(groups)
        return groups[rank * workers + number::ranks * workers]

    def __iter__(self):
        groups, draw, waiting = self.groups(), random.Random(f"{self.seed} {self.epoch} {get_worker_info()}"), []
        for file, group in groups:
            for row in self.rows(read_group(file, group)):
                if len(waiting) < self.buffer:
                    waiting.append(row)
                    continue
                place = draw.randrange(self.buffer)
                waiting[place], row = row, waiting[place]
                yield row
        draw.shuffle(waiting)
        yield from waiting

    def rows(self, table):
        """The rows of a table as samples."""
        is_mine = (column(table, "width") == self.size) & (column(table, "height") == self.size)
        is_mine &= table["policy"].is_valid().to_numpy() & table["outcome"].is_valid().to_numpy()
        table = table.filter(pa.array(is_mine))
        count, area, side = table.num_rows, self.size**2, (self.size, self.size)
        mover = column(table, "to_move").astype(np.float32)
        stones = items(table, "board").reshape(count, *side) * mover[:, None, None]
        legal = items(table, "legal").reshape(count, area + 1)[:, :area].reshape(count, *side)
        planes = np.stack([stones == 1, stones == -1, legal == 1, np.ones_like(legal)], 1).astype(np.float32)
        policy = items(table, "policy").reshape(count, area + 1).astype(np.float32)
        value = column(table, "outcome").astype(np.float32) * mover
        komi = column(table, "komi").astype(np.float32) * -mover
        for row in range(count):
            yield {"planes": planes[row], "komi": komi[row], "policy": policy[row], "value": value[row]}


def count_groups(file):
    if file.suffix == ".parquet":
        return pq.ParquetFile(file).num_row_groups
    return pa.ipc.open_file(pa.memory_map(str(file))).num_record_batches


def read_group(file, group):
    if file.suffix == ".parquet":
        return pq.ParquetFile(file).read_row_group(group, columns=COLUMNS)
    batch = pa.ipc.open_file(pa.memory_map(str(file))).get_batch(group)
    return pa.Table.from_batches([batch]).select(COLUMNS)


def column(table, name):
    return table[name].to_numpy()


def items(table, name):
    """The items of a column of lists, one list after the other."""
    return table[name].combine_chunks().flatten().to_numpy()


if __name__ == "__main__":
    workers = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    data = PositionDataset(sys.argv[1], int(sys.argv[2]))
    began, samples = time.time(), 0
    for batch in DataLoader(data, batch_size=256, num_workers=workers):
        samples += len(batch["value"])
    seconds = time.time() - began
    print(f"{samples:,} samples in {seconds:.1f} s, {samples / seconds:,.0f} per second, {workers} workers")
