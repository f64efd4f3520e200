"""The front refuses to serve an engine that tells a failed INSERT as done."""

from front.engine import Engine
from front.errors import Refusal
from front.spool import Spool
from fronts import SOURCES


class Losing(Engine):
    """An engine with the fault: errors of an INSERT are lost."""

    def run(self, statement, **more):
        try:
            return super().run(statement, **more)
        except Refusal:
            if statement.startswith("INSERT"):
                return None
            raise


def test_self_check(tmp_path, monkeypatch):
    config, log = str(SOURCES / "config.xml"), str(tmp_path / "log")
    spool = Spool(str(tmp_path / "spool"))
    monkeypatch.chdir(tmp_path)
    engine = Engine(str(tmp_path / "data"), config, log, parallel=1)
    assert engine.check(spool)
    engine.__class__ = Losing
    assert not engine.check(spool)
    engine.close()
