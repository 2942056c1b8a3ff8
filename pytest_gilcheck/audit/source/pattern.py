"""A pattern that a source rule found, and how it could be proved."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pattern:
    """One hit of one rule.

    Attributes:
        code: of the catalogue.
        file, line: where.
        message: what is there, with its names.
        function: the qualified name of the function that it is in; empty at module level and in C.
        variable: the shared name.
        callable_without_arguments: whether that function can be called as it stands: a module's own, with no required argument.
    """

    code: str
    file: str
    line: int
    message: str
    function: str = ""
    variable: str = ""
    callable_without_arguments: bool = False

    @property
    def key(self) -> str:
        """The same after lines were moved."""
        return f"{self.file} {self.function} {self.variable}"

    @property
    def module(self) -> str:
        """The dotted name of the file's module, as far as its path tells."""
        parts = self.file.removesuffix(".py").split("/")
        while parts and (parts[0] in ("src", "lib", "python") or not parts[0].isidentifier()):
            parts = parts[1:]
        return ".".join(parts[:-1] if parts and parts[-1] == "__init__" else parts)

    @property
    def proof(self) -> str:
        """The call of the fuzz engine that would show it; empty for patterns in C."""
        if not self.function or not self.file.endswith(".py"):
            return ""
        name = f"{self.module}.{self.function}"
        reset = (
            f"setup=lambda: setattr({self.module}, {self.variable!r}, <its first value>), " if self.variable.isidentifier() else ""
        )
        call = f"lambda *state: {name}({'' if self.callable_without_arguments else '...'})"
        return f"gilcheck.fuzz({reset}threads=[{call}] * 2)"
