import type { CodeRow, LinkRow, ActiveSession } from './rows.ts';
import { type PlainRows, StorageUnavailable } from './storage.ts';

export interface StoredRows extends PlainRows {
  code: CodeRow;
  session: ActiveSession;
  link: LinkRow;
}

// Rejects truncated or foreign rows by the members that decide about access. The storage's writers are trusted; tokens are sealed.
const LOOKS_RIGHT: { readonly [Kind in keyof StoredRows]: (row: Partial<StoredRows[Kind]>) => boolean } = {
  client: ({ client_id, redirect_uris }) => isText(client_id) && Array.isArray(redirect_uris),
  login: ({ id, browser, ends_at }) => isText(id) && isText(browser) && isNumber(ends_at),
  browser: ({ user, logged_in_at, consents, ends_at }) =>
    isText(user?.sub) && isNumber(logged_in_at) && Array.isArray(consents) && isNumber(ends_at),
  ticket: ({ sub, provider }) => isText(sub) && isText(provider),
  assertion: ({ used_at }) => isNumber(used_at),
  slot: ({ session }) => isText(session),
  revocation: ({ not_before }) => isNumber(not_before),
  answer: ({ sealed, made_at }) => isText(sealed) && isNumber(made_at),
  code: ({ request, user }) => isText(request?.client_id) && isText(request.code_challenge) && isText(user?.sub),
  session: ({ client_id, sub, scope, user, kid, gen, ends_at }) =>
    isText(client_id) &&
    isText(sub) &&
    user?.sub === sub &&
    Array.isArray(scope) &&
    isText(kid) &&
    Number.isSafeInteger(gen) &&
    isNumber(ends_at),
  link: ({ sealed, version }) => isText(sealed) && Number.isSafeInteger(version),
};

/** Parses a stored row. @throws StorageUnavailable when it is malformed */
export function parseRow<Kind extends keyof StoredRows>(kind: Kind, text: string): StoredRows[Kind] {
  return checkRow(kind, parseJson(text));
}

/** Checks a stored row. @throws StorageUnavailable when it is malformed */
export function checkRow<Kind extends keyof StoredRows>(kind: Kind, row: unknown): StoredRows[Kind] {
  const known = typeof row === 'object' && row !== null && LOOKS_RIGHT[kind](row);
  if (!known) throw new StorageUnavailable(`a ${kind} in the storage is malformed`);
  return row as StoredRows[Kind];
}

/** Parses JSON. @throws StorageUnavailable when it is malformed */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new StorageUnavailable('a row in the storage is no JSON');
  }
}

const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => typeof value === 'number';
