"""Drives `tengen analyze` with KaTrain's own code, without its window; called by scripts/gtp-clients.

katrain_client.py ENGINE MODEL
"""

import math
import os
import shlex
import sys
import time

os.environ.update(KIVY_NO_ARGS="1", KIVY_NO_CONSOLELOG="1", KIVY_NO_FILELOG="1")

from katrain.core.ai import generate_ai_move
from katrain.core.base_katrain import KaTrainBase
from katrain.core.constants import AI_DEFAULT, AI_POLICY, AI_SIMPLE_OWNERSHIP, OUTPUT_ERROR
from katrain.core.engine import KataGoEngine
from katrain.core.game import Game, KaTrainSGF
from pysgf import Move

sys.stderr = sys.__stderr__  # Kivy has replaced it with its log.
VISITS = 40
FAST_VISITS = 8


class WithoutWindow(KaTrainBase):
    """KaTrain with its settings and its log but without a user interface."""

    pondering = False

    def __init__(self):
        self.messages = []
        super().__init__(force_package_config=True)
        self.controls = self

    def set_status(self, *_args, **_kwargs):
        pass

    def log(self, message, level=0):
        self.messages.append((level, str(message)))

    def __call__(self, *args, **_kwargs):
        raise AssertionError(f"KaTrain tried to use its window: {args}")

    def errors(self):
        return [message for level, message in self.messages if level == OUTPUT_ERROR]


def start(katrain, *more):
    # KaTrain runs the command in a shell and terminates only that shell; exec replaces it with the engine.
    command = "exec " + shlex.join([sys.argv[1], "analyze", "--model", sys.argv[2], *more])
    settings = {"backend": "custom", "altcommand": command, "max_visits": VISITS, "fast_visits": FAST_VISITS}
    settings["allow_recovery"] = False  # Without a window, KaTrain cannot ask what to do when the engine exits.
    return KataGoEngine(katrain, {**katrain.config("engine"), **settings})


def wait(what, condition, katrain, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"no {what} within {seconds} s: {katrain.messages[-5:]}"
        time.sleep(0.01)


def idle(engine):
    wait("end of all queries", engine.is_idle, engine.katrain)


def game(katrain, engine, rules, moves, size=9, **properties):
    made = Game(katrain, engine, game_properties={"SZ": size, "KM": 7, "RU": rules, **properties})
    katrain.game = made
    for number, move in enumerate(moves.split()):
        made.play(Move.from_gtp(move, player="BW"[number % 2]))
    nodes = made.current_node.nodes_from_root
    wait("analysis of every node", lambda: all(node.analysis_complete for node in nodes), katrain)
    return made


def check(node, size=9):
    """Checks everything that KaTrain shows about a node."""
    assert 0 <= node.winrate <= 1 and math.isfinite(node.score), (node.winrate, node.score)
    assert len(node.ownership) == size**2 and all(-1 <= value <= 1 for value in node.ownership)
    assert len(node.policy) == size**2 + 1
    assert abs(sum(p for p in node.policy if p > 0) - 1) < 1e-3
    assert node.root_visits == VISITS, node.root_visits
    best, *_ = node.candidate_moves
    assert best["order"] == 0 and best["pv"][0] == best["move"] and "pointsLost" in best
    assert len(best["ownership"]) == size**2
    node.comment(details=True)


katrain = WithoutWindow()
engine = start(katrain)
begin = time.monotonic()
played = game(katrain, engine, "tromp-taylor", "E5 C3 G7 D6 pass pass")
nodes = played.current_node.nodes_from_root
for node in nodes:
    check(node)

# After B2 on 3x3 and White's pass, Black owns everything, and the analysis shows it regardless of the side to move.
won = game(katrain, engine, "tromp-taylor", "B2 pass", size=3)
assert won.current_node.winrate > 0.6 and won.current_node.candidate_moves[0]["move"] == "pass"
assert won.current_node.candidate_moves[0]["scoreLead"] == 2, "nine points minus seven points of komi"

# Extra analysis in all of KaTrain's modes.
katrain.game = played
played.undo(2)
node = played.current_node
played.analyze_extra("extra")
wait("deeper analysis", lambda: node.root_visits == 2 * VISITS, katrain)
for mode in ["equalize", "sweep", "alternative"]:
    known = len(node.analysis["moves"])
    played.analyze_extra(mode)
    idle(engine)
    assert len(node.analysis["moves"]) >= known
assert len(node.analysis["moves"]) == sum(p >= 0 for p in node.policy), "the sweep covered every legal move"
played.set_region_of_interest([0, 3, 0, 3])
played.analyze_extra("extra")
idle(engine)
played.set_region_of_interest([0, 0, 0, 0])
played.analyze_extra("ponder")
wait("growing visits", lambda: node.root_visits > 4 * VISITS, katrain)
first = node.root_visits
wait("growing visits", lambda: node.root_visits > first, katrain)
played.analyze_extra("stop")
idle(engine)

# Moves of KaTrain's AI players, by win rate, by policy, and by ownership.
for strategy in [AI_DEFAULT, AI_POLICY, AI_SIMPLE_OWNERSHIP]:
    move, made = generate_ai_move(played, strategy, katrain.config(f"ai/{strategy}") or {})
    assert made is played.current_node and move.gtp() != ""
    wait("analysis", lambda: played.current_node.analysis_complete, katrain)

# A handicap game, with stones on the board before the first move.
handicap = Game(katrain, engine, game_properties={"SZ": 9, "KM": 0.5, "RU": "aga", "HA": 2, "AB": ["gc", "cg"]})
wait("analysis", lambda: handicap.root.analysis_complete, katrain)
check(handicap.root)
assert handicap.root.next_player == "W" and handicap.root.winrate >= 0.5

# What KaTrain writes to its files can be read back.
stored = KaTrainSGF.parse_sgf(played.root.sgf(save_analysis=True)).children[0]
assert stored.load_analysis() and stored.analysis["root"]["winrate"] == nodes[1].winrate
assert katrain.errors() == [], katrain.errors()

# Japanese rules are refused with a reason that KaTrain shows, unless an option of the engine sets the rules to use.
refused = Game(katrain, engine, game_properties={"SZ": 9, "KM": 6.5, "RU": "japanese"})
wait("refusal", katrain.errors, katrain)
assert "japanese2008" in katrain.errors()[0], katrain.errors()
engine.shutdown(finish=True)
overridden = start(katrain, "--rules", "tromp_taylor")
check(game(katrain, overridden, "japanese", "E5").current_node)
overridden.katago_process.stdin.close()
assert overridden.katago_process.wait(10) == 0, "the engine exits at the end of its input"
warnings = sum("warning" in message for _, message in katrain.messages)
print(
    f"katrain: {len(nodes)} nodes, a sweep of {len(node.analysis['moves'])} moves, {first} visits while pondering, "
    f"3 AI moves, handicap, files, and refusals in {time.monotonic() - begin:.1f} s; {warnings} warnings received"
)
os._exit(0)
