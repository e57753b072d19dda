"""The fold of the JIT's events: functions, graphs, runs of passes, rewrites, code, frames and steps."""

from __future__ import annotations

from engine.inspect.history.fold import PartTables
from engine.inspect.history.table import Table, ends_of, indexed


class JitTables(PartTables):
    """The tables of the JIT; each is built on its first use."""

    @indexed
    def functions(self) -> Table:
        return self.tables.moments("FUNCTION_NEW", id="function")

    @indexed
    def syntax(self) -> Table:
        return self.tables.moments("AST")

    @indexed
    def graphs(self) -> Table:
        """Snapshots of graphs; `phase` is the string of the pass or phase before."""
        return self.tables.moments("GRAPH", id="graph")

    @indexed
    def runs(self) -> Table:
        """Runs of passes, from PASS_BEGIN to PASS_END; a run that did not end lasts forever."""
        since, new = self.of("PASS_BEGIN")
        over, end = self.of("PASS_END")
        until = ends_of(new["run"], end["run"], over)
        return Table(
            since, until, id=new["run"], function=new["function"], graph=new["graph"], name=new["pass"],
            index=new["index"],
        )  # fmt: skip

    @indexed
    def ends(self) -> Table:
        return self.tables.moments("PASS_END")

    @indexed
    def rewrites(self) -> Table:
        return self.tables.moments("REWRITE")

    @indexed
    def codes(self) -> Table:
        return self.tables.moments("CODE", id="code", size="instructions")

    @indexed
    def frames(self) -> Table:
        """Frames of the interpreter, from JIT_FRAME to JIT_FRAME_END."""
        since, new = self.of("JIT_FRAME")
        over, end = self.of("JIT_FRAME_END")
        until = ends_of(new["frame"], end["frame"], over)
        return Table(
            since,
            until,
            id=new["frame"],
            code=new["code"],
            parent=new["parent"],
            function=new["function"],
        )

    @indexed
    def steps(self) -> Table:
        return self.tables.moments("JIT_STEP", written="registers")

    @indexed
    def guards(self) -> Table:
        return self.tables.moments("GUARD")

    @indexed
    def bail_outs(self) -> Table:
        return self.tables.moments("BAIL_OUT", to="to_code")

    @indexed
    def specialisations(self) -> Table:
        return self.tables.moments("SPECIALISE")

    @indexed
    def kernels(self) -> Table:
        return self.tables.moments("FUSED_NEW", id="kernel")

    @indexed
    def launches(self) -> Table:
        return self.tables.moments("FUSED_RUN")

    @indexed
    def traced(self) -> Table:
        return self.tables.moments("TRACED")

    @indexed
    def warnings(self) -> Table:
        return self.tables.moments("JIT_WARNING")

    @property
    def any(self) -> bool:
        """Return whether there are any events of the JIT."""
        return bool(len(self.functions) or len(self.graphs) or len(self.codes) or len(self.traced))
