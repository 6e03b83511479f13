import { SESSIONS_PER_USER } from '../bounds.ts';

// Every statement checks `ends_at > now`, so expired rows are invisible before a sweep.

export const PUT = 'INSERT OR REPLACE INTO plain (kind, id, row, ends_at) VALUES (?, ?, ?, ?)';
export const SIZE = 'SELECT count(*) AS size FROM plain WHERE kind = ? AND id <> ? AND ends_at > ?';
export const DROP_OLDEST = `DELETE FROM plain WHERE kind = ? AND id IN (
  SELECT id FROM plain WHERE kind = ? AND id <> ? AND ends_at > ? ORDER BY ends_at LIMIT ?)`;
export const GET = 'SELECT row FROM plain WHERE kind = ? AND id = ? AND ends_at > ?';
export const REMOVE = 'DELETE FROM plain WHERE kind = ? AND id = ?';
export const LENGTHEN = 'UPDATE plain SET ends_at = ? WHERE kind = ? AND id = ? AND ends_at > ? AND ends_at < ?';

export const GET_CODE = 'SELECT row, sub, session FROM codes WHERE id = ? AND ends_at > ?';
export const PUT_CODE = 'INSERT OR REPLACE INTO codes (id, sub, row, session, ends_at) VALUES (?, ?, ?, NULL, ?)';

export const GET_SESSION = 'SELECT row FROM sessions WHERE id = ? AND ends_at > ?';
export const PUT_SESSION = 'INSERT OR REPLACE INTO sessions (id, sub, kid, row, ends_at) VALUES (?, ?, ?, ?, ?)';
export const SESSIONS_OF = 'SELECT id FROM sessions WHERE sub = ? AND ends_at > ?';
/** Sessions and unredeemed codes, which count against the limit of a user. */
const HELD = `SELECT id, ends_at, 'session' AS held FROM sessions WHERE sub = ?1 AND ends_at > ?2
  UNION ALL SELECT id, ends_at, 'code' FROM codes WHERE sub = ?1 AND session IS NULL AND ends_at > ?2`;
export const HELD_ANY = `${HELD} LIMIT 1`;
/** Excess entries: all except this one and those with the latest end. */
export const HELD_OVER = `SELECT id, held FROM (${HELD}) ORDER BY id = ?3 DESC, ends_at DESC LIMIT -1 OFFSET ${SESSIONS_PER_USER}`;

export const LINKS_OF = 'SELECT provider, version, row FROM links WHERE sub = ? AND ends_at > ?';
export const GET_LINK = 'SELECT version, row FROM links WHERE sub = ? AND provider = ? AND ends_at > ?';
export const PUT_LINK =
  'INSERT OR REPLACE INTO links (sub, provider, kid, version, row, ends_at) VALUES (?, ?, ?, ?, ?, ?)';
export const REPLACE_LINK = `UPDATE links SET kid = ?, version = version + 1, row = ?
  WHERE sub = ? AND provider = ? AND version = ? AND ends_at > ?`;
export const LENGTHEN_LINKS = 'UPDATE links SET ends_at = ? WHERE sub = ? AND ends_at > ? AND ends_at < ?';

export const END_LINKS = 'DELETE FROM links WHERE sub = ?';
export const UNLINK = 'DELETE FROM links WHERE sub = ? AND provider = ?';
export const LINKS_END = 'SELECT max(ends_at) AS ends_at FROM links WHERE sub = ? AND ends_at > ?';

export const USE_CODE = 'UPDATE codes SET session = ? WHERE id = ?';
export const END_CODE = 'DELETE FROM codes WHERE id = ?';
export const END_CODES_OF = 'DELETE FROM codes WHERE sub = ? AND session IS NULL';
export const AMEND_SESSION = 'UPDATE sessions SET row = ? WHERE id = ?';
export const END_SESSION = 'DELETE FROM sessions WHERE id = ?';
export const END_SESSIONS_OF = 'DELETE FROM sessions WHERE sub = ?';

export const LEASE = `INSERT INTO leases (id, holder, ends_at) VALUES (?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at WHERE leases.ends_at <= ?`;
export const RELEASE = 'DELETE FROM leases WHERE id = ? AND holder = ?';
export const COUNT = `INSERT INTO counts (id, counted, ends_at) VALUES (?1, 1, ?2)
  ON CONFLICT (id) DO UPDATE SET counted = iif(counts.ends_at > ?3, counts.counted + 1, 1),
    ends_at = iif(counts.ends_at > ?3, counts.ends_at, excluded.ends_at)
  RETURNING counted`;

export const SIZES = `SELECT
  (SELECT count(*) FROM plain WHERE kind = 'client' AND ends_at > ?1) AS clients,
  (SELECT count(*) FROM plain WHERE kind = 'login' AND ends_at > ?1) AS logins,
  (SELECT count(*) FROM sessions WHERE ends_at > ?1) AS sessions,
  (SELECT count(*) FROM links WHERE ends_at > ?1) AS links`;
export const SECRETS_IN_USE = `SELECT kid, count(*) AS needed FROM (
  SELECT kid FROM sessions WHERE ends_at > ?1 UNION ALL SELECT kid FROM links WHERE ends_at > ?1) GROUP BY kid`;
