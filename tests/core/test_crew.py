from concurrent.futures import ThreadPoolExecutor

from panlearn.core import crew


def taken(board, side=0):
    """Take shares until there are none."""
    found = []
    while (share := crew.take(board, side)) >= 0:
        found.append(share)
        crew.finish(board)
    return found


def test_every_share_is_taken_once_whoever_comes():
    board = crew.board(0)
    with ThreadPoolExecutor(3) as pool:
        for _ in range(50):
            crew.offer(board)
            comers = [pool.submit(taken, board, i % 2) for i in range(3)]
            shares = [share for comer in comers for share in comer.result()]
            assert sorted(shares) == list(range(crew.SHARES))
            assert not crew.unfinished(board)


def test_a_job_is_under_way_until_its_last_share_is_done():
    board = crew.board(0)
    assert crew.take(board, 0) == -1  # nothing was offered
    crew.offer(board)
    shares = [crew.take(board, 0) for _ in range(crew.SHARES)]
    assert crew.take(board, 0) == crew.take(board, 0) == -1
    for _ in shares:
        assert crew.unfinished(board)
        crew.finish(board)
    assert not crew.unfinished(board)
    crew.offer(board)  # those who came in vain do not count in the next
    assert taken(board) == list(range(crew.SHARES))


def test_those_of_a_side_go_on_from_where_they_are_and_then_help_the_other():
    board, half = crew.board(0), crew.SHARES // 2
    crew.offer(board)
    assert [crew.take(board, side) for side in (0, 1, 0, 1)] == [0, half, 1, half + 1]
    assert taken(board, 1) == [*range(half + 2, 2 * half), *range(2, half)]
