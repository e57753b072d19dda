"""The fold of what the JIT did: functions, graphs, runs of passes, rewrites, code, frames and steps."""

from __future__ import annotations

from functools import cached_property

from engine.inspect.history.fold import Tables
from engine.inspect.history.table import Table, ends_of


class JitTables:
    """The tables of the JIT; each is built when it is first asked for."""

    def __init__(self, tables: Tables):
        self.tables = tables
        self.of = tables.of

    @cached_property
    def functions(self) -> Table:
        return self.tables.moments("FUNCTION_NEW", id="a", name="b", how="c", file="d")

    @cached_property
    def syntax(self) -> Table:
        return self.tables.moments("SYNTAX", function="a")

    @cached_property
    def graphs(self) -> Table:
        """Whole graphs as they were told; `phase` is the string of the pass or phase before."""
        return self.tables.moments("GRAPH", function="a", id="b", phase="c", nodes="d")

    @cached_property
    def runs(self) -> Table:
        """Runs of passes, from PASS_BEGIN to PASS_END; one that never ended goes on for ever."""
        since, new = self.of("PASS_BEGIN")
        over, end = self.of("PASS_END")
        until = ends_of(new["a"], end["a"], over)
        return Table(
            since, until, id=new["a"], function=new["b"], graph=new["c"], name=new["d"],
            index=new["e"],
        )  # fmt: skip

    @cached_property
    def ends(self) -> Table:
        return self.tables.moments("PASS_END", run="a", changes="b", ns="c", failed="d")

    @cached_property
    def rewrites(self) -> Table:
        return self.tables.moments("REWRITE", run="a", index="b", rule="c", line="d")

    @cached_property
    def codes(self) -> Table:
        return self.tables.moments("CODE", function="a", id="b", graph="c", size="d")

    @cached_property
    def frames(self) -> Table:
        """Frames of the interpreter, from JIT_FRAME to JIT_FRAME_END."""
        since, new = self.of("JIT_FRAME")
        over, end = self.of("JIT_FRAME_END")
        until = ends_of(new["a"], end["a"], over)
        return Table(since, until, id=new["a"], code=new["b"], parent=new["c"], function=new["d"])

    @cached_property
    def steps(self) -> Table:
        return self.tables.moments("JIT_STEP", frame="a", pc="b", written="c", depth="d")

    @cached_property
    def guards(self) -> Table:
        return self.tables.moments("GUARD", code="a", frame="b", ok="c", pc="d")

    @cached_property
    def bail_outs(self) -> Table:
        return self.tables.moments("BAIL_OUT", code="a", frame="b", pc="c", to="d")

    @cached_property
    def specialisations(self) -> Table:
        return self.tables.moments("SPECIALISE", function="a", code="b", runs="c")

    @cached_property
    def kernels(self) -> Table:
        return self.tables.moments("FUSED_NEW", id="a", graph="b", steps="c", tile="d")

    @cached_property
    def launches(self) -> Table:
        return self.tables.moments(
            "FUSED_RUN", kernel="a", frame="b", elements="c", tiles="d", threads="e"
        )

    @cached_property
    def traced(self) -> Table:
        return self.tables.moments("TRACED", graph="a", node="b", call="c", op="d")

    @cached_property
    def warnings(self) -> Table:
        return self.tables.moments("JIT_WARNING", function="a", line="b")

    @property
    def any(self) -> bool:
        """Whether the JIT did anything at all."""
        return bool(len(self.functions) or len(self.graphs) or len(self.codes) or len(self.traced))
