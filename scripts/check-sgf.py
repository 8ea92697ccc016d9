"""Reads our SGF files with sgfmill and replays them on its boards.

Every game on a square board must be a legal sequence for sgfmill (its boards handle captures and suicide), must name
its players, and, if it was counted, must have the result that sgfmill's own area count gives.
"""

import sys

from sgfmill import boards, sgf, sgf_grammar


def margin(game):
    """Black's area minus White's on the final board, before komi."""
    board = boards.Board(game.get_size())
    for node in game.get_main_sequence():
        for color, name in (("b", "AB"), ("w", "AW")):
            for row, column in node.get(name) if node.has_property(name) else ():
                board.play(row, column, color)
        color, move = node.get_move()
        if color and move:
            board.play(*move, color)
    return board.area_score()


def result(points):
    """Formats the margin after komi the way SGF does."""
    if points == 0:
        return "0"
    return ("B+" if points > 0 else "W+") + f"{abs(points):g}"


def check(path):
    """Returns how many games of the file were read and how many were counted; fails on the first mismatch."""
    with open(path, "rb") as file:
        trees = sgf_grammar.parse_sgf_collection(file.read())
    counted = 0
    for number, tree in enumerate(trees):
        game = sgf.Sgf_game.from_coarse_game_tree(tree)
        root = game.get_root()
        where = f"{path}: game {number}"
        assert root.get("PB") and root.get("PW") and root.get("RU"), f"{where}: a header field is missing"
        stated = root.get("RE")
        found = result(margin(game) - game.get_komi())
        if "." in stated or stated[2:].isdigit() or stated == "0":
            assert stated == found, f"{where}: RE[{stated}], but sgfmill counts {found}"
            counted += 1
    return len(trees), counted


if __name__ == "__main__":
    for name in sys.argv[1:]:
        games, counted = check(name)
        print(f"{name}: sgfmill read {games} games; its count agrees with ours in all {counted} that were counted")
