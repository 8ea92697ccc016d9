"""Reads SGF files of ours with sgfmill and replays them on its boards.

Every game on a square board must be a legal sequence for sgfmill (its boards know captures and suicide), name its
players, and, where it was counted, have the result that sgfmill's own area count gives.
"""

import sys

from sgfmill import boards, sgf, sgf_grammar


def margin(game):
    """Black's area minus White's on the final board, before komi."""
    board = boards.Board(game.get_size())
    for node in game.get_main_sequence():
        for colour, name in (("b", "AB"), ("w", "AW")):
            for row, column in node.get(name) if node.has_property(name) else ():
                board.play(row, column, colour)
        colour, move = node.get_move()
        if colour and move:
            board.play(*move, colour)
    return board.area_score()


def result(points):
    """The margin after komi as SGF writes it."""
    if points == 0:
        return "0"
    return ("B+" if points > 0 else "W+") + f"{abs(points):g}"


def check(path):
    """Returns how many games of the file were read and how many were counted; fails on the first that is wrong."""
    with open(path, "rb") as file:
        trees = sgf_grammar.parse_sgf_collection(file.read())
    counted = 0
    for number, tree in enumerate(trees):
        game = sgf.Sgf_game.from_coarse_game_tree(tree)
        root = game.get_root()
        where = f"{path}: game {number}"
        assert root.get("PB") and root.get("PW") and root.get("RU"), f"{where}: a header field is missing"
        said = root.get("RE")
        found = result(margin(game) - game.get_komi())
        if "." in said or said[2:].isdigit() or said == "0":
            assert said == found, f"{where}: RE[{said}], but sgfmill counts {found}"
            counted += 1
    return len(trees), counted


if __name__ == "__main__":
    for name in sys.argv[1:]:
        games, counted = check(name)
        print(f"{name}: sgfmill read {games} games and counted {counted} as we did")
