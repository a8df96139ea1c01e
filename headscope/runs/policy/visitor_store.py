"""The store as a page has it: what anybody may click is limited, and what strangers share they cannot take away."""

from __future__ import annotations

from headscope.runs.policy.limits import demo
from headscope.runs.store import Store


class VisitorStore(Store):
    """The runs that a visitor sees. Nobody resumes more than may be asked for.

    In a demo without a login all visitors have the same runs, so nobody renames or deletes them there.
    """

    @property
    def shared(self) -> bool:
        """Whether strangers have the same runs."""
        return self.owner is None and demo()

    def resume(self, run_id: str, limited: bool = True) -> None:
        """Queues a run again; a ValueError says that too many wait or run already."""
        super().resume(run_id, limited)

    def rename(self, run_id: str, title: str) -> None:
        """Gives a run another title."""
        self._check_not_shared("renamed")
        super().rename(run_id, title)

    def delete(self, run_id: str) -> None:
        """Forgets a run; where strangers share it, only an answer that no history lists and that is asked for anew."""
        if self.is_kept(run_id):
            self._check_not_shared("deleted")
        super().delete(run_id)

    def prune(self, seconds: float, kept: bool = True) -> int:
        """Deletes all runs that ended more than so many seconds ago."""
        self._check_not_shared("deleted")
        return super().prune(seconds, kept)

    def _check_not_shared(self, what: str) -> None:
        if self.shared:
            raise ValueError(f"this is a demo, whose runs all visitors share; none is {what} here")
