"""Reads exports of tengen with third-party tools and checks them against an independent replay. See scripts/read-back.

Nothing here is taken from tengen's own code: the rules below are written directly from the rules texts.
"""

import glob
import hashlib
import json
import math
import os
import random
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
from sgfmill import sgf

CHECKED = {}


def count(what, number=1):
    """Keeps count of what was checked for the summary at the end."""
    CHECKED[what] = CHECKED.get(what, 0) + number


def equal(found, expected, where):
    if found != expected:
        sys.exit(f"read-back: {where}: expected {expected!r}, found {found!r}")


# ---- The rules, following their texts: reach, clear, ko, suicide, area score ----

# For each rule set replayed here: what a play must not repeat, and whether suicide is allowed. All use area scoring.
RULES = {
    "tromp_taylor": ("any earlier grid", True),
    "chinese_written": ("any earlier grid", False),
    "aga": ("any earlier grid with the same side to move", False),
    "chinese_practice": ("the grid before the last turn", False),
}


class Game:
    """A game of Go: Black is 1, White -1, empty 0; points in reading order."""

    def __init__(self, width, height, start=None, to_move=1, rules="tromp_taylor"):
        self.width, self.height, self.area = width, height, width * height
        self.grid = tuple(start or [0] * self.area)
        self.to_move, self.passes = to_move, 0
        self.ko, self.suicide = RULES[rules]
        # What the ko rule compares with, after every turn; under basic ko, only the grid before the last turn.
        self.history = {self.term(self.grid, to_move)} if "earlier" in self.ko else set()
        # Grids since the last pass, with the side to move: under basic ko, a repetition ties the game.
        self.made, self.is_tied = set(), False
        self.near = []
        for point in range(self.area):
            row, column = divmod(point, width)
            near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
            self.near.append([r * width + c for r, c in near if 0 <= r < height and 0 <= c < width])

    def region(self, grid, point):
        """The points connected to a point through its color, and the colors they touch."""
        color, found, touched, todo = grid[point], {point}, set(), [point]
        while todo:
            for near in self.near[todo.pop()]:
                if grid[near] != color:
                    touched.add(grid[near])
                elif near not in found:
                    found.add(near)
                    todo.append(near)
        return found, touched

    def clear(self, grid, color):
        """Empties every point of a color that does not reach empty."""
        grid, seen = list(grid), set()
        gone = []
        for point in range(self.area):
            if grid[point] == color and point not in seen:
                chain, touched = self.region(grid, point)
                seen |= chain
                if 0 not in touched:
                    gone += chain
        for point in gone:
            grid[point] = 0
        return tuple(grid)

    def after(self, point):
        grid = list(self.grid)
        grid[point] = self.to_move
        return self.clear(self.clear(grid, -self.to_move), self.to_move)

    def term(self, grid, to_move):
        """What the ko rule compares: the grid, and under some rules the side to move."""
        return (grid, to_move) if "side to move" in self.ko else grid

    def judge(self, point):
        """The grid after a play on an empty point, whether it is suicide, and whether the ko rule forbids it."""
        grid = self.after(point)
        is_suicide = grid[point] == 0
        return grid, is_suicide, self.term(grid, -self.to_move) in self.history

    def marks(self):
        """Legal moves (pass last) and points banned only by the ko rule, as lists of 0 and 1."""
        legal, banned = [0] * self.area + [1], [0] * self.area
        for point in range(self.area):
            if self.grid[point] == 0:
                _, is_suicide, is_repeated = self.judge(point)
                if not is_suicide or self.suicide:
                    (banned if is_repeated else legal)[point] = 1
        return legal, banned

    def play(self, move):
        assert self.passes < 2 and not self.is_tied, "the game is over"
        before = self.grid
        if move == self.area:
            self.passes += 1
            self.made.clear()
        else:
            assert self.grid[move] == 0, "occupied"
            grid, is_suicide, is_repeated = self.judge(move)
            assert self.suicide or not is_suicide, "suicide"
            assert not is_repeated, "ko"
            self.grid, self.passes = grid, 0
            made = (grid, -self.to_move)
            self.is_tied = "earlier" not in self.ko and made in self.made
            self.made.add(made)
        self.to_move = -self.to_move
        if "earlier" in self.ko:
            self.history.add(self.term(self.grid, self.to_move))
        else:
            self.history = {before}

    def owners(self):
        owners = list(self.grid)
        for point in range(self.area):
            if self.grid[point] == 0:
                touched = self.region(self.grid, point)[1] - {0}
                owners[point] = touched.pop() if len(touched) == 1 else 0
        return owners


# ---- Running tengen ----


class Tengen:
    def __init__(self, binary):
        self.binary = binary

    def __call__(self, *args, fails=None):
        done = subprocess.run([self.binary, *map(str, args)], capture_output=True, text=True, check=False)
        if fails is None and done.returncode != 0 or fails is not None and done.returncode != fails:
            sys.exit(f"read-back: tengen {' '.join(map(str, args))}: code {done.returncode}\n{done.stderr}")
        return done.stdout

    def json(self, *args):
        return json.loads(self(*args, "--json"))


def manifest_of(folder):
    """Returns the manifest after checking every file against it."""
    with open(f"{folder}/MANIFEST.json", encoding="utf-8") as file:
        manifest = json.load(file)
    for entry in manifest["files"] + [manifest["readme"]]:
        with open(f"{folder}/{entry['path']}", "rb") as file:
            data = file.read()
        equal((len(data), hashlib.sha256(data).hexdigest()), (entry["bytes"], entry["sha256"]), entry["path"])
        count("files by size and SHA-256")
    equal(sum(entry["rows"] for entry in manifest["files"]), manifest["rows"], "rows of the manifest")
    with open(f"{folder}/README.md", encoding="utf-8") as file:
        readme = file.read()
    for column in manifest["columns"] if manifest["format"] != "sgf" else []:
        equal(f"| `{column['name']}` |" in readme, True, f"README explains {column['name']}")
    return manifest


# ---- Parquet, with four readers ----


def plain(value):
    """Converts a value to plain Python, with NaN as text and times in milliseconds."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if hasattr(value, "timestamp"):
        return round(value.timestamp() * 1000)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value


def read_arrow(folder):
    """Reads all rows of Arrow files with pyarrow, and their number with pandas and polars."""
    paths = [f"{folder}/{entry['path']}" for entry in manifest_of(folder)["files"]]
    rows = []
    for path in paths:
        table = ipc.open_file(path).read_all()
        found = [{key: plain(value) for key, value in row.items()} for row in table.to_pylist()]
        equal((len(pd.read_feather(path)), pl.read_ipc(path).height), (len(found),) * 2, f"{path}: rows")
        rows += found
    count("rows of Arrow files", len(rows))
    return rows


def read_parquet(folder):
    """Reads all rows with pyarrow and compares every value with pandas, polars, and DuckDB."""
    paths = [f"{folder}/{entry['path']}" for entry in manifest_of(folder)["files"]]
    rows = []
    for path in paths:
        rows += [{key: plain(value) for key, value in row.items()} for row in pq.read_table(path).to_pylist()]
    frame = pd.read_parquet(paths)
    equal(len(frame), len(rows), f"{folder}: rows by pandas")
    parts = sorted({os.path.dirname(path) for path in paths})
    for name, length in {
        "pandas": lambda part: len(pd.read_parquet(part)),
        "pyarrow": lambda part: pq.read_table(part).num_rows,
        "polars": lambda part: pl.scan_parquet(part).collect().height,
    }.items():
        equal(sum(map(length, parts)), len(rows), f"{folder}: rows of its folders by {name}")
    for name in frame.columns:
        for row, value in zip(rows, frame[name]):
            missing = row[name] is None or row[name] == "nan"
            found = plain(value)
            if missing:
                equal(found in (None, "nan") or value is pd.NA, True, f"pandas {name} null")
            elif isinstance(row[name], bool):
                equal(bool(found), row[name], f"pandas {name}")
            else:
                equal(found, row[name], f"pandas {name}")
    count("values by pandas", frame.size)
    for row, other in zip(rows, pl.read_parquet(paths).iter_rows(named=True), strict=True):
        equal({key: plain(value) for key, value in other.items()}, row, "polars")
    count("values by polars", frame.size)
    names = [f"epoch_ms({name}) AS {name}" if name == "start_time" else f'"{name}"' for name in frame.columns]
    query = f"SELECT {', '.join(names)} FROM read_parquet({paths!r})"
    found = duckdb.sql(query).fetchall() if rows else []
    for row, other in zip(rows, found, strict=True):
        equal([plain(value) for value in other], list(row.values()), "DuckDB")
    count("values by DuckDB", frame.size)
    count("values by pyarrow", frame.size)
    return rows


# ---- Rows compared with the replay ----


def replayable(row):
    return row["rules"] in RULES


def check_end(game, row):
    """Checks result, score, and owners in a row (a game or position) against the final board."""
    settled = row["end_reason"] == "settled"
    finished = game.passes == 2 or settled
    equal(row["end_reason"] == "two_passes", game.passes == 2, f"{row['game_id']}: end")
    equal(row["end_reason"] == "long_cycle", game.is_tied, f"{row['game_id']}: cycle")
    if game.is_tied:
        equal(row["outcome"], 0, f"{row['game_id']}: a long cycle ties the game")
        count("rows of games that a long cycle ties")
    if not finished:
        scores = (row["score"], row["area_margin"], row["ownership"])
        equal(scores, (None, None, None), "an unfinished game has no score")
        return
    owners = game.owners()
    margin = sum(owners)
    equal(row["ownership"], owners, f"{row['game_id']}: owners")
    equal(row["area_margin"], margin, f"{row['game_id']}: area margin")
    equal(row["score"], margin - row["komi"], f"{row['game_id']}: score")
    equal(row["outcome"], (row["score"] > 0) - (row["score"] < 0), f"{row['game_id']}: outcome")
    count("scores and owners recounted")


def check_position(game, row):
    where = f"{row['game_id']} ply {row['ply']}"
    legal, banned = game.marks()
    equal(row["board"], list(game.grid), f"{where}: board")
    equal((row["to_move"], row["consecutive_passes"]), (game.to_move, game.passes), f"{where}: side and passes")
    equal(row["legal"], legal, f"{where}: legal moves")
    equal(row["superko_banned"], banned, f"{where}: superko")
    equal(row["margin_now"], sum(game.owners()), f"{where}: margin now")
    if row["policy"] is not None:
        equal(abs(sum(row["policy"]) - 1) < 1e-3, True, f"{where}: policy sums to 1")
        equal([p for p, ok in zip(row["policy"], legal) if p and not ok], [], f"{where}: policy of illegal moves")
    count(f"positions replayed under {row['rules']}")
    count(f"points banned by the ko rule of {row['rules']}", sum(banned))


def check_positions(rows):
    """Checks every position of whole games against a replay of these games."""
    games = {}
    for row in rows:
        games.setdefault(row["game_id"], []).append(row)
    for plies in games.values():
        equal([row["ply"] for row in plies], list(range(plies[0]["game_plies"])), "plies of a whole game")
        game = Game(plies[0]["width"], plies[0]["height"], rules=plies[0]["rules"])
        for row in plies:
            check_position(game, row)
            game.play(row["move"])
        for row in plies:
            check_end(game, row)


def check_games(rows):
    for row in rows:
        first = row["movers"][0] if row["movers"] else 1
        game = Game(row["width"], row["height"], row["start_board"], first, row["rules"])
        equal(len(row["moves"]), row["plies"], "plies")
        for move, mover in zip(row["moves"], row["movers"], strict=True):
            equal(game.to_move, mover, f"{row['game_id']}: mover")
            game.play(move)
        equal(row["final_board"], list(game.grid), f"{row['game_id']}: last board")
        equal(sum(row["policy_counts"]), len(row["policy_moves"]), f"{row['game_id']}: policies")
        check_end(game, row)
        count("games replayed")


def draw(purpose, seed, game_id, ply=None):
    """The hash used for sampling and splitting, as the dataset's README defines it."""
    text = f"{purpose}\n{seed}\n{game_id}" + ("" if ply is None else f"\n{ply}")
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def images(row, *names):
    """The images of some columns under all symmetries of the board."""
    shape = (row["height"], row["width"])
    planes = [np.reshape(row[name], shape) for name in names]
    turns = range(4) if shape[0] == shape[1] else (0, 2)
    for turn in turns:
        for flip in (False, True):
            yield tuple(
                tuple(np.rot90(plane[:, ::-1] if flip else plane, turn).ravel().tolist()) for plane in planes
            )


def mirror_key(row):
    fixed = (row["width"], row["height"], row["rules"], row["komi"], row["to_move"], row["consecutive_passes"])
    return fixed + min(images(row, "board", "superko_banned"))


# ---- Formats compared with each other ----


def check_npz(folder, rows, key):
    """Checks every array of every archive against the same rows in Parquet."""
    manifest = manifest_of(folder)
    by_key = {key(row): row for row in rows}
    seen = 0
    for entry in manifest["files"]:
        data = np.load(f"{folder}/{entry['path']}", allow_pickle=False)
        seen += entry["rows"]
        number = entry["rows"]
        columns = {}
        for column in manifest["columns"]:
            name, array = column["name"], data[column["name"]]
            if column["shape"] == "many":
                ends = data[f"{name}_offsets"]
                columns[name] = [plain(array[ends[i] : ends[i + 1]]) for i in range(number)]
                continue
            equal(len(array), number, f"{name} in {entry['path']}")
            if name == "start_time":
                array = array.astype("datetime64[ms]").astype(np.int64)
            columns[name] = [plain(item.ravel()) if getattr(item, "ndim", 0) else plain(item) for item in array]
            if column["null_when"]:
                known = data[f"{name}_known"]
                columns[name] = [item if ok else None for item, ok in zip(columns[name], known)]
        for i in range(number):
            row = {name: values[i] for name, values in columns.items()}
            equal(row, by_key[key(row)], f"npz row {i} of {entry['path']}")
            equal(f"{row['width']}x{row['height']}", entry["size"], "size of the part")
        count("values by NumPy", number * len(columns))
    equal(seen, len(rows), f"{folder}: rows of all archives")


def check_sgf(folder, rows):
    """Reads every game of the collections with sgfmill and checks it against its row."""
    manifest, found = manifest_of(folder), []
    for entry in manifest["files"]:
        with open(f"{folder}/{entry['path']}", "rb") as file:
            found += split_collection(file.read())
    equal(len(found), len(rows), "games in SGF")
    for text, row in zip(found, rows):
        if row["width"] != row["height"]:
            # sgfmill supports only square boards.
            equal(f"SZ[{row['width']}:{row['height']}]".encode() in text, True, "SZ of a rectangle")
            count("rectangular games that sgfmill cannot read; only SZ checked")
            continue
        game = sgf.Sgf_game.from_bytes(text)
        root = game.get_root()
        equal(root.get("GN"), row["game_id"], "GN")
        equal(root.get("KM"), row["komi"], "KM")
        equal(game.get_size(), row["width"], "SZ")
        height = game.get_size()
        moves = []
        for node in game.get_main_sequence()[1:]:
            color, move = node.get_move()
            # sgfmill counts rows from the bottom.
            index = row["width"] * row["height"] if move is None else (height - 1 - move[0]) * row["width"] + move[1]
            moves.append((1 if color == "b" else -1, index))
        equal(moves, list(zip(row["movers"], row["moves"])), f"moves of {row['game_id']}")
        check_claims_in_sgf(root, row)
        winner = {1: "b", -1: "w", 0: None, None: None}[row["outcome"]]
        equal(game.get_winner(), winner, f"result of {row['game_id']}")
        count("games by sgfmill")


# ---- Imported games and what their files claim ----

COLLECTION = """(;GM[1]SZ[5]KM[0.5]RE[B+24.5]PB[Ada]PW[Bo]BR[1d]WR[2k]DT[1998-11-05]EV[Cup]RU[Japanese];B[cc];W[];B[])
(;GM[1]SZ[5]KM[0.5]RE[B+3.5];B[cc];W[aa];B[];W[])
(;GM[1]SZ[5]KM[6,5]RE[W+2]HA[2]AB[bb][dd];W[cc];B[];W[])
(;GM[1]SZ[5]RE[W+R];B[cc];W[bb])
(;GM[1]SZ[4:3]RE[B+5]PB[名人];B[bb];W[cb])
(;GM[1]SZ[5];B[cc];W[];B[])
"""


def check_import(tengen, work):
    """Checks claim columns against the text of the files, and the compared results against our own count here."""
    for name, text in (("first.sgf", COLLECTION), ("second.sgf", "(;GM[1]SZ[5]KM[7]RE[W+T];B[aa])")):
        with open(f"{work}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    tengen("data", "import", f"{work}/first.sgf", f"{work}/second.sgf", "--store", f"{work}/imported")
    options = ["data", "export", f"{work}/imported", "--of", "imported"]
    export = lambda name, *args: tengen(*options, "--out", f"{work}/{name}", *args) and f"{work}/{name}/v1"
    games = read_parquet(export("claims", "--what", "games"))
    positions = read_parquet(export("claims-positions"))
    check_games(games)
    check_npz(export("claims-npz", "--what", "games", "--format", "npz"), games, lambda row: row["game_id"])
    check_sgf(export("claims-sgf", "--what", "games", "--format", "sgf"), games)
    files = {f"{work}/first.sgf": split_collection(COLLECTION.encode()), f"{work}/second.sgf": None}
    equal({row["source_file"] for row in games}, set(files), "source files")
    for row in games:
        check_claims(row, files[row["source_file"]])
    prefixes = ("source_", "claim", "played", "event")
    words = [name for name in games[0] if name.startswith(prefixes) or name.endswith("_rank")]
    by_id = {row["game_id"]: row for row in games}
    for row in positions:
        equal([row[name] for name in words], [by_id[row["game_id"]][name] for name in words], "claims of a position")
    checks = {"agrees", "other_margin", "other_winner", "no_claim", "resignation", "forfeit", "unfinished"}
    equal({row["claim_check"] for row in games}, checks, "every comparison")


def check_claims(row, texts):
    if texts is not None:
        text = texts[row["source_game"] - 1].decode()
        for name, column in (("RE", "claimed_result"), ("KM", "claimed_komi"), ("RU", "claimed_rules"),
                             ("HA", "claimed_handicap"), ("DT", "played_on"), ("EV", "event"), ("BR", "black_rank"),
                             ("WR", "white_rank")):
            word = text.split(f"{name}[")[1].split("]")[0] if f"{name}[" in text else None
            found = row[column]
            equal(None if found is None else str(found), word, f"{column} of game {row['source_game']}")
            count("claims against the text of their files")
    claim = row["claimed_result"] or ""
    if row["end_reason"] != "two_passes":
        expected = {"R": "resignation", "T": "forfeit"}.get(claim[2:], "unfinished")
    elif claim[2:].replace(".", "").isdigit():
        signed = float(claim[2:]) * (1 if claim[0] == "B" else -1)
        same = (signed > 0) == (row["score"] > 0) and row["score"] != 0
        expected = "agrees" if signed == row["score"] else "other_margin" if same else "other_winner"
    else:
        expected = "no_claim"
    equal(row["claim_check"], expected, f"claim of game {row['source_game']}")
    count("claimed results compared")


def check_claims_in_sgf(root, row):
    if row["kind"] != "import":
        return
    comment = root.get("GC")
    equal(f"against the rules: {row['claim_check']}." in comment, True, "GC states the comparison")
    equal(row["claimed_result"] is None or f"result {row['claimed_result']}" in comment, True, "GC states the claim")
    for name, column in (("BR", "black_rank"), ("EV", "event"), ("DT", "played_on")):
        equal(root.get(name) if root.has_property(name) else None, row[column], name)
    count("claims in SGF")


def split_collection(data):
    """Splits a collection into games, because sgfmill reads one game per text."""
    parts, depth, start, quoted, escaped = [], 0, 0, False, False
    for place, byte in enumerate(data):
        if escaped:
            escaped = False
        elif quoted:
            escaped, quoted = byte == ord("\\"), byte != ord("]")
        elif byte == ord("["):
            quoted = True
        elif byte == ord("("):
            start, depth = (place if depth == 0 else start), depth + 1
        elif byte == ord(")"):
            depth -= 1
            if depth == 0:
                parts.append(data[start : place + 1])
    return parts


# ---- Solved boards ----


def best(game, memo):
    """The margin with best play, found by exhaustive search."""
    if game.passes == 2:
        return sum(game.owners())
    key = (game.grid, game.to_move, game.passes, frozenset(game.history))
    if key not in memo:
        margins = list(move_margins(game, memo).values())
        memo[key] = max(margins) if game.to_move == 1 else min(margins)
    return memo[key]


def move_margins(game, memo):
    margins = {}
    before = (game.grid, game.to_move, game.passes, game.history)
    for move, legal in enumerate(game.marks()[0]):
        if legal:
            game.history = set(before[3])
            game.play(move)
            margins[move] = best(game, memo)
            game.grid, game.to_move, game.passes, game.history = before
    return margins


def check_solved(rows):
    memo = {}
    for row in rows:
        game = Game(row["width"], row["height"])
        for move in row["moves"]:
            game.play(move)
        equal((row["board"], row["to_move"]), (list(game.grid), game.to_move), "solved board")
        legal, banned = game.marks()
        equal((row["legal"], row["superko_banned"]), (legal, banned), "solved legal moves")
        margins = move_margins(game, memo)
        expected = [margins.get(move, "nan") for move in range(game.area + 1)]
        equal(row["move_margins"], expected, f"solved {row['moves']}")
        margin = max(margins.values()) if game.to_move == 1 else min(margins.values())
        equal(row["margin"], margin, f"solved {row['moves']}")
        equal(row["best_moves"], [int(item == margin) for item in expected], f"best moves {row['moves']}")
        count("solved states searched again")


# ---- Golden shards ----


def check_golden():
    paths = sorted(glob.glob("crates/shard/tests/data/golden-v*.parquet"))
    equal(len(paths) >= 2, True, "golden shards are found")
    for path in paths:
        metadata = pq.read_metadata(path).metadata
        equal(f"golden-v{metadata[b'tengen.format_version'].decode()}.parquet", os.path.basename(path), "version")
        for row in pq.read_table(path).to_pylist():
            check_golden_game(row)


def check_golden_game(row):
    area = row["width"] * row["height"]
    start = [0] * area
    for stone in row["setup"]:
        start[stone // 2] = -1 if stone % 2 else 1
    plies = len(row["moves"])
    for name in ("flags", "root_value", "root_score", "root_visits", "network_value", "weight", "policy_counts"):
        equal(len(row[name]), plies, f"golden {row['game_id']}: {name}")
    entries = iter(zip(row["policy_moves"], row["policy_probabilities"], strict=True))
    for number in row["policy_counts"]:
        policy = [next(entries) for _ in range(number)]
        equal(number == 0 or abs(sum(p for _, p in policy) - 1) < 1e-3, True, "golden policy")
    equal(next(entries, None), None, "golden policies are used up")
    maps = row.get("expected_ownership_plies") or []
    equal(maps, sorted(set(maps) & set(range(plies))), f"golden {row['game_id']}: plies with expected owners")
    owners = row.get("expected_ownership") or []
    equal(len(owners), len(maps) * area, f"golden {row['game_id']}: expected owners")
    equal(all(-100 <= owner <= 100 for owner in owners), True, f"golden {row['game_id']}: percents")
    if not replayable(row) or (row["handicap"] and row.get("handicap_kind") != "fixed"):
        count("golden games under other rules, read but not replayed")
        return
    first = -1 if row.get("first_to_move") == "white" else 1
    game = Game(row["width"], row["height"], start, first, row["rules"])
    for move in row["moves"]:
        game.play(move)
    equal(row["end_reason"] == "two_passes", game.passes == 2, f"golden {row['game_id']}: end")
    if game.passes == 2:
        equal(row["ownership"], game.owners(), f"golden {row['game_id']}: owners")
        equal(row["score_half_points"], 2 * sum(game.owners()) - row["komi_half_points"], "golden score")
    count("golden games replayed")


# ---- Sampling on the Rust side ----


def check_sample(tengen, store, rows):
    by_key = {(row["game_id"], row["ply"]): row for row in rows}
    # The sample consists of the positions with the smallest hashes.
    draws = sorted(by_key, key=lambda key: draw("choose", 5, *key))[:25]
    sampled = tengen.json("data", "sample", store, "-n", 25, "--seed", 5)["positions"]
    equal({(item["game_id"], item["ply"]) for item in sampled}, set(draws), "the drawn positions")
    letters = {1: "X", -1: "O", 0: "."}
    for item in sampled:
        row = by_key[item["game_id"], item["ply"]]
        width, height = row["width"], row["height"]

        def name(index, width=width, height=height):
            if index == width * height:
                return "pass"
            return "ABCDEFGHJKLMNOPQRST"[index % width] + str(height - index // width)

        marked = lambda marks: [name(index) for index, mark in enumerate(marks) if mark]
        equal("".join(item["board"]), "".join(letters[stone] for stone in row["board"]), "sample: board")
        equal(item["legal"], marked(row["legal"]), "sample: legal")
        equal(item["superko_banned"], marked(row["superko_banned"]), "sample: banned")
        equal(item["move"], name(row["move"]), "sample: move")
        policy = {name(index): p for index, p in enumerate(row["policy"] or []) if p}
        equal({move: p for move, p in item["policy"].items() if p}, policy, "sample: policy")
        for column in ("komi", "score", "root_visits", "root_value", "network_value", "end_reason", "shard"):
            equal(item[column], row[column], f"sample: {column}")
        count("positions as tengen prints them")


# ---- Main program ----


BOARDS = '[{ size = "5x5", share = 0.5 }, { size = "4x3", share = 0.3 }, { size = "7x7", share = 0.2 }]'
SMALL_BOARDS = '[{ size = "4x4", share = 0.5 }, { size = "4x2", share = 0.5 }]'


def make_store(store, tengen, games, *settings):
    """Makes a store with games of an untrained network, full of suicides, ko bans, and passes."""
    settings += ("selfplay.games_per_group=16", "network.blocks=1", "network.channels=8", "network.nested_blocks=false")
    options = [part for setting in settings for part in ("--set", setting)]
    tengen("selfplay", "--store", store, "--config", "configs/5x5.toml", *options, "--games", games, "--session", 1)
    return store


def check_other_rules(tengen, work, rules):
    """Checks self-play and random games under other rules. The random moves come from here, so all must be legal."""
    store = make_store(f"{work}/{rules}", tengen, 24, f"rules={rules}", f"selfplay.boards={SMALL_BOARDS}")
    numbers, sizes = random.Random(f"games under {rules}"), [(3, 1), (2, 2), (3, 2), (3, 3), (4, 4), (6, 5)]
    with open(f"{work}/{rules}.sgf", "w", encoding="utf-8") as file:
        file.writelines(random_game(rules, *size, numbers) for size in sizes for _ in range(8))
    done = tengen.json("data", "import", f"{work}/{rules}.sgf", "--store", store, "--rules", rules)
    taken = (done["kept"] + done["duplicates"], done["illegal"], done["broken"])
    equal(taken, (48, 0, 0), f"random games under {rules}")
    folder = lambda what: f"{work}/{rules}-{what}"
    export = lambda what: tengen("data", "export", store, "--of", "all", "--what", what, "--out", folder(what))
    export("positions"), export("games")
    check_positions(read_parquet(f"{folder('positions')}/v1"))
    check_games(read_parquet(f"{folder('games')}/v1"))


def random_game(rules, width, height, numbers):
    """A game of random legal moves with few passes, as SGF; two passes end it if it gets long."""
    game, text = Game(width, height, rules=rules), f"(;GM[1]SZ[{width}:{height}]KM[0.5]PB[{numbers.random()}]"
    while game.passes < 2 and not game.is_tied:
        plays = [move for move, ok in enumerate(game.marks()[0][:-1]) if ok]
        passes = not plays or len(text) > 600 or numbers.random() < 0.02
        move = game.area if passes else numbers.choice(plays)
        row, column = divmod(move, width)
        place = "" if move == game.area else chr(97 + column) + chr(97 + row)
        text += f";{'B' if game.to_move == 1 else 'W'}[{place}]"
        game.play(move)
    return text + ")\n"


def main():
    tengen, work = Tengen(os.path.abspath(sys.argv[1])), sys.argv[2]
    check_golden()
    store = make_store(f"{work}/store", tengen, 96, f"selfplay.boards={BOARDS}")
    def export(name, *args):
        tengen("data", "export", store, "--out", f"{work}/{name}", *args)
        return f"{work}/{name}/v1"

    positions = read_parquet(export("positions"))
    games = read_parquet(export("games", "--what", "games"))
    check_positions(positions)
    check_games(games)
    check_sample(tengen, store, positions)

    parts = export("parts", "--rows-per-part", 500)
    equal(len(manifest_of(parts)["files"]) > 3, True, "several parts")
    equal(read_parquet(parts), positions, "the same rows in several parts")
    arrow = read_arrow(export("arrow", "--format", "arrow", "--rows-per-part", 500))
    equal(arrow, positions, "the same rows in Arrow files")
    arrays = export("npz", "--format", "npz", "--rows-per-part", 700)
    check_npz(arrays, positions, lambda row: (row["game_id"], row["ply"]))
    check_npz(export("games-npz", "--format", "npz", "--what", "games"), games, lambda row: row["game_id"])
    check_sgf(export("sgf", "--format", "sgf", "--what", "games", "--rows-per-part", 40), games)

    part = read_parquet(export("part", "--fraction", 0.2, "--seed", 3, "--size", "5x5,4x3"))
    taken = [row for row in positions if row["width"] < 7 and draw("sample", 3, row["game_id"], row["ply"]) < 0.2]
    equal(part, taken, "filter and fraction")
    few, drawn = read_parquet(export("few", "--per-game", 2, "--phase", "0.5..1", "--seed", 3)), []
    for game_id in dict.fromkeys(row["game_id"] for row in positions):
        late = [row for row in positions if row["game_id"] == game_id and 2 * row["ply"] >= row["game_plies"]]
        first = sorted(late, key=lambda row: draw("per game", 3, game_id, row["ply"]))[:2]
        drawn += [row for row in late if row in first]
    equal(few, drawn, "two late positions of each game")
    count("positions drawn per game", len(few))
    distinct, keys = read_parquet(export("distinct", "--distinct")), set()
    first = [row for row in positions if mirror_key(row) not in keys and not keys.add(mirror_key(row))]
    equal(distinct, first, "distinct positions")
    count("mirror images left out", len(positions) - len(first))
    split = export("split", "--split", "0.7,0.2,0.1")
    for entry in manifest_of(split)["files"]:
        for game_id in set(pq.read_table(f"{split}/{entry['path']}")["game_id"].to_pylist()):
            u = draw("split", 0, game_id)
            equal(entry["split"], "train" if u < 0.7 else "validation" if u < 0.7 + 0.2 else "test", "split")
            count("games in their split")

    for rules in RULES:
        if rules != "tromp_taylor":
            check_other_rules(tengen, work, rules)
    check_import(tengen, work)

    tengen("data", "solve", "--size", "1x2,1x3,2x1", "--plies", 4, "--out", f"{work}/solved")
    check_solved(read_parquet(f"{work}/solved/v1"))
    tengen("data", "export", store, "--out", f"{work}/positions", fails=1)
    for rules in RULES:
        equal(CHECKED[f"points banned by the ko rule of {rules}"] > 0, True, f"the ko rule of {rules} was exercised")
    equal(CHECKED["rows of games that a long cycle ties"] > 0, True, "a long cycle occurred")
    for what, number in CHECKED.items():
        print(f"{number:>10,} {what}")
    print("read-back: every value agrees")


main()
