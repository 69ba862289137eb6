-- The store's schema, one section a version. A new store runs all of them, an older one those it
-- lacks, in one transaction. Never edit a section that was released: add the next one.
--
-- Every table is append-only (triggers below): what was measured is never changed, a verdict is
-- only ever computed again. JSON columns hold canonical JSON (sorted keys, no spaces).

-- version 1

-- The machine a run was started on: versions of packages, CPU, system.
CREATE TABLE hosts (
  id INTEGER PRIMARY KEY,
  info TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('correctness', 'latency', 'nightly')),
  host_id INTEGER NOT NULL REFERENCES hosts (id),
  argv TEXT NOT NULL,
  started REAL NOT NULL                     -- Unix seconds
) STRICT;

-- A run without a row here was cut short: its results are good, it has no verdict.
CREATE TABLE run_ends (
  run_id INTEGER PRIMARY KEY REFERENCES runs (id),
  verdict TEXT NOT NULL,
  finished REAL NOT NULL
) STRICT;

-- One physical or virtual device. board_id is the MAC of a real one.
CREATE TABLE boards (
  id INTEGER PRIMARY KEY,
  target TEXT NOT NULL,
  board_id TEXT NOT NULL,
  virtual INTEGER NOT NULL CHECK (virtual IN (0, 1)),
  UNIQUE (target, board_id, virtual)
) STRICT;

-- What ran on it. config is the build configuration, without what changes with every commit.
CREATE TABLE firmware (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL,
  config TEXT NOT NULL,
  UNIQUE (hash, config)
) STRICT;

-- One board in one run.
CREATE TABLE run_boards (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs (id),
  board_id INTEGER NOT NULL REFERENCES boards (id),
  firmware_id INTEGER NOT NULL REFERENCES firmware (id),
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  hello TEXT NOT NULL
) STRICT;
CREATE INDEX run_boards_run ON run_boards (run_id);

-- What is run: the same row on every board and in every night.
CREATE TABLE cases (
  id INTEGER PRIMARY KEY,
  identity TEXT NOT NULL UNIQUE,            -- canonical JSON of the columns below
  name TEXT NOT NULL,
  level TEXT NOT NULL CHECK (level IN ('kernel', 'program')),
  case_group TEXT NOT NULL,
  variant TEXT,
  route TEXT,
  model TEXT,
  params TEXT NOT NULL
) STRICT;

-- One execution of a case. Attempts are numbered from 1; a repeated case keeps them all.
CREATE TABLE attempts (
  id INTEGER PRIMARY KEY,
  run_board_id INTEGER NOT NULL REFERENCES run_boards (id),
  case_id INTEGER NOT NULL REFERENCES cases (id),
  attempt INTEGER NOT NULL,
  at REAL NOT NULL,                         -- Unix seconds when it was stored
  UNIQUE (run_board_id, case_id, attempt)
) STRICT;

-- The output of an attempt against one reference.
CREATE TABLE numerics (
  id INTEGER PRIMARY KEY,
  attempt_id INTEGER NOT NULL REFERENCES attempts (id),
  reference TEXT NOT NULL,
  elements INTEGER NOT NULL,
  max_abs_diff INTEGER NOT NULL,
  mismatches INTEGER NOT NULL,
  violations INTEGER NOT NULL,
  signed_mean REAL NOT NULL,
  histogram TEXT NOT NULL,                  -- difference in LSB -> elements
  first_bad_index INTEGER,
  expected INTEGER,
  got INTEGER,
  verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'error', 'not-run')),
  detail TEXT NOT NULL,
  fault TEXT NOT NULL,
  ticks INTEGER,
  at REAL NOT NULL
) STRICT;
CREATE INDEX numerics_attempt ON numerics (attempt_id);

-- Device and link counters of an attempt.
CREATE TABLE counters (
  id INTEGER PRIMARY KEY,
  attempt_id INTEGER NOT NULL REFERENCES attempts (id),
  counts TEXT NOT NULL
) STRICT;
CREATE INDEX counters_attempt ON counters (attempt_id);

-- The timing of an attempt. Raw samples are ticks as the device counted them; the figures beside
-- them are net of overhead and can be computed from them again.
CREATE TABLE latency (
  id INTEGER PRIMARY KEY,
  attempt_id INTEGER NOT NULL REFERENCES attempts (id),
  unit TEXT NOT NULL CHECK (unit IN ('cycles', 'ns', 'instructions')),
  hz INTEGER,
  elements INTEGER NOT NULL,
  first_ticks INTEGER NOT NULL,
  overhead_ticks INTEGER NOT NULL,
  sample_count INTEGER NOT NULL,
  samples BLOB NOT NULL,                    -- bench/store/samples.py
  operators TEXT NOT NULL,                  -- operator -> ticks of one call, in order
  median REAL,                              -- null without samples
  mad REAL,
  verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'error', 'not-run')),
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX latency_attempt ON latency (attempt_id);

-- What a board printed outside frames, in order, as it came.
CREATE TABLE console (
  id INTEGER PRIMARY KEY,
  run_board_id INTEGER NOT NULL REFERENCES run_boards (id),
  at REAL NOT NULL,
  text BLOB NOT NULL
) STRICT;
CREATE INDEX console_run_board ON console (run_board_id);

CREATE TRIGGER hosts_keep_u BEFORE UPDATE ON hosts BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER hosts_keep_d BEFORE DELETE ON hosts BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER runs_keep_u BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER runs_keep_d BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER run_ends_keep_u BEFORE UPDATE ON run_ends BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER run_ends_keep_d BEFORE DELETE ON run_ends BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER boards_keep_u BEFORE UPDATE ON boards BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER boards_keep_d BEFORE DELETE ON boards BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER firmware_keep_u BEFORE UPDATE ON firmware BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER firmware_keep_d BEFORE DELETE ON firmware BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER run_boards_keep_u BEFORE UPDATE ON run_boards BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER run_boards_keep_d BEFORE DELETE ON run_boards BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER cases_keep_u BEFORE UPDATE ON cases BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER cases_keep_d BEFORE DELETE ON cases BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER attempts_keep_u BEFORE UPDATE ON attempts BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER attempts_keep_d BEFORE DELETE ON attempts BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER numerics_keep_u BEFORE UPDATE ON numerics BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER numerics_keep_d BEFORE DELETE ON numerics BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER counters_keep_u BEFORE UPDATE ON counters BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER counters_keep_d BEFORE DELETE ON counters BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER latency_keep_u BEFORE UPDATE ON latency BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER latency_keep_d BEFORE DELETE ON latency BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER console_keep_u BEFORE UPDATE ON console BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER console_keep_d BEFORE DELETE ON console BEGIN SELECT RAISE(ABORT, 'append-only'); END;
