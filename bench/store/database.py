"""Opens the store's SQLite file: versions, migration, and errors people can act on."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from bench.errors import BenchError

# "BNCH": tells the store from any other SQLite file (PRAGMA application_id).
APPLICATION_ID = 0x424E4348

# How long a bench waits for another one's commit. Commits take well under a millisecond, so only
# a stopped or hung writer ever comes near it.
BUSY_SECONDS = 30.0

_SECTION = re.compile(r"^-- version (\d+)$", re.MULTILINE)


def migrations(schema: str | None = None) -> list[str]:
    """Return the schema's sections, in order; a store at version n has run the first n."""
    text = schema or resources.files("bench.store").joinpath("schema.sql").read_text("utf-8")
    parts = _SECTION.split(text)
    numbers, sections = [int(n) for n in parts[1::2]], parts[2::2]
    assert numbers == list(range(1, len(numbers) + 1)), numbers
    return sections


def statements(section: str) -> Iterator[str]:
    """Split a section into statements; ``executescript`` would commit in the middle."""
    statement = ""
    for line in section.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def one_line(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line that says what is wrong and what to do.

    Raises:
        BenchError: In place of any ``sqlite3.Error``.
    """
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if "full" in text:
            advice = "the disk is full; what was stored before is safe: free some space, run again"
        elif "I/O error" in text:
            advice = (
                "it cannot be written (disk, quota or file size limit); what was stored before is "
                "safe: check the disk, run again"
            )
        elif "locked" in text:
            advice = f"another bench has kept it locked for {BUSY_SECONDS:.0f} s: stop that one"
        elif "readonly" in text or "unable to open" in text:
            advice = "it is not writable: change its permissions or choose another folder"
        elif "not a database" in text or "malformed" in text:
            advice = "it is damaged or no SQLite file: move it away and keep it, then run again"
        else:
            advice = f"SQLite says '{text}'"
        raise BenchError(f"result store {path}: {advice}") from error


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open the store at `path`, creating it or bringing it to this version's schema.

    The journal is a WAL with ``synchronous=NORMAL``: a commit appends to the log and does not wait
    for the disk, which makes one commit a result cheap, and readers never stop a writer. What was
    committed survives the death of the bench (also by SIGKILL); a power cut may take the last
    commits, never the store, and `checkpoint` makes a finished run safe from that too. Where the
    file system cannot share memory (some network mounts) SQLite stays with its rollback journal,
    which is slower and just as safe.

    Raises:
        BenchError: Not writable, not ours, damaged, or written by a newer bench.
    """
    with one_line(path):
        name = str(path)
        if read_only:
            # Where nothing can be written, a file in WAL mode opens only if SQLite is told that
            # nobody else writes either; with a log beside it that would hide the log's results.
            logged = Path(f"{path}-wal").exists()
            name = f"{path.absolute().as_uri()}?{'mode=ro' if logged else 'immutable=1'}"
        connection = sqlite3.connect(
            name,
            uri=read_only,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.row_factory = sqlite3.Row
        try:
            _prepare(connection, path, read_only)
        except BaseException:
            connection.close()
            raise
    return connection


def checkpoint(connection: sqlite3.Connection) -> None:
    """Bring the log into the store's file and wait for the disk, if no reader is in the way."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _prepare(connection: sqlite3.Connection, path: Path, read_only: bool) -> None:
    sections = migrations()
    version = _version(connection, path, len(sections))
    if read_only:
        if version < len(sections):
            raise BenchError(
                f"result store {path} has the older schema {version} (this bench: {len(sections)}) "
                "and is read-only: make it writable once, so that it can be brought up to date"
            )
        return
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if version == len(sections):
        return
    connection.execute("BEGIN EXCLUSIVE")
    try:
        # Another bench may have migrated it while this one waited.
        version = _version(connection, path, len(sections))
        for section in sections[version:]:
            for statement in statements(section):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(sections)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: Path, newest: int) -> int:
    """Return the file's schema version, 0 for an empty file."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if tables and not ours:
        raise BenchError(
            f"{path} is an SQLite file of something else: choose another results folder"
        )
    if version > newest:
        raise BenchError(
            f"result store {path} has schema {version}, written by a newer bench (this one knows "
            f"up to {newest}): update the bench or choose another results folder"
        )
    return version
