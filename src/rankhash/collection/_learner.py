"""Learning of a collection without a hasher, in a background thread, while it is searched and changed.

::

    few vectors   every search compares all of them
    many          learn ─▶ one transaction: cells, and the codes of all items ─▶ every handle follows
    1.5 times     calibrate the effort of searches again; learn again if the distribution of vectors has changed
    10 times      learn again
"""

from __future__ import annotations

from .. import _kernels
from ..errors import BusyError, InvalidInputError, StorageError
from ..index.background import Background
from ..vector_index.learned import is_worth_learning
from ..vector_index.numbered import NumberedVectors
from ._database import Database
from ._encoding import Encoding
from ._reader import Reader


class Learner:
    """The learning of a handle that may change the file."""

    def __init__(self, database: Database, reader: Reader) -> None:
        self._database = database
        self._reader = reader
        self._thread = Background("rankhash-learning")

    @property
    def at_work(self) -> bool:
        """Whether something is being learned in the background."""
        return self._thread.at_work

    def consider(self, n_items: int) -> None:
        """Start to learn in the background, if that is due."""
        if self._database.connections.writable and is_due(self._database.encoding, n_items):
            self._thread.run(self._run)

    def learn(self, *, anew: bool) -> None:
        """Learn now if learning is due, or with ``anew`` in any case."""
        self._database.connections.check_writable()
        self._thread.wait()
        n_threads = _kernels.default_threads()
        if anew:
            self._once(anew=True, n_threads=n_threads)
        while self._once(anew=False, n_threads=n_threads):
            pass

    def stop(self) -> None:
        """Abort learning; the file stays unchanged."""
        self._thread.stop()
        self._thread.wait()

    def _run(self) -> None:
        n_threads = max(1, _kernels.default_threads() // 2)  # searches continue meanwhile
        try:
            while not self._thread.is_over and self._once(anew=False, n_threads=n_threads):
                pass
        except _OverError:
            pass
        except (BusyError, StorageError):
            pass  # another writer is busy, or the handle is closed; the next change starts learning again
        except InvalidInputError:
            pass  # the file holds vectors that nothing can be learned from; `learn` says which

    def _once(self, *, anew: bool, n_threads: int) -> bool:
        with self._reader.view() as view:
            encoding = view.encoding
            if encoding.hasher is not None or not view.n_items or not (anew or is_due(encoding, view.n_items)):
                return False
            vectors = view.memory.frozen()
        if anew or vectors.should_relearn():
            return self._install(encoding, vectors, n_threads)
        learned = vectors.calibrate(self._check, n_threads)
        with self._database.transaction() as transaction:
            if transaction.encoding.number != encoding.number:
                return False
            transaction.recalibrate(learned)
        return True

    def _install(self, encoding: Encoding, vectors: NumberedVectors, n_threads: int) -> bool:
        learned, numbers, rows = vectors.learn(self._check, n_threads)
        with self._database.transaction() as transaction:
            if transaction.encoding.number != encoding.number:  # another handle was faster
                return False
            transaction.recode(encoding.with_learned(learned), numbers, rows)
        return True

    def _check(self) -> None:
        if self._thread.is_over:
            raise _OverError


class _OverError(Exception):
    """Ends the learning."""


def is_due(encoding: Encoding, n_items: int) -> bool:
    """Whether a collection of ``n_items`` items should learn."""
    if encoding.hasher is not None or encoding.n_features is None:
        return False
    if encoding.learned is None:
        return is_worth_learning(n_items, encoding.n_features)
    return encoding.learned.is_due(n_items)
