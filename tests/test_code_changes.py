"""The command that changes the code: its changes are code, and differ from what they change."""

import ast

from tests.code_changes import ROOT, draw, read_reasons


def test_changes_can_be_run_differ_and_have_names_of_their_own() -> None:
    changes = draw(200, seed=1)
    assert len({change.name for change in changes}) == 200
    for change in changes:
        whole = (ROOT / change.file).read_bytes()
        changed = ast.parse(change.apply(whole))
        assert ast.dump(changed) != ast.dump(ast.parse(whole)), change.name


def test_the_same_seed_draws_the_same_changes() -> None:
    assert draw(50, seed=0) == draw(100, seed=0)[:50]
    assert draw(50, seed=0) != draw(50, seed=1)


def test_reasons_name_files_that_exist() -> None:
    reasons = read_reasons()
    assert reasons
    for name, reason in reasons.items():
        assert (ROOT / name.split()[0]).exists(), name
        assert reason.strip().endswith("."), name
