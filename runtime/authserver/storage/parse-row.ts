import type { CodeRow, LinkRow, LiveSession } from './rows.ts';
import { type PlainRows, StorageUnavailable } from './storage.ts';

export interface StoredRows extends PlainRows {
  code: CodeRow;
  session: LiveSession;
  link: LinkRow;
}

// Rows are trusted as far as whoever may write to the storage is; tokens in them are sealed. What decides about access is
// looked at before it is believed: a row that was cut short, or written by something else, is no row.
const LOOKS_RIGHT: { readonly [Kind in keyof StoredRows]: (row: Partial<StoredRows[Kind]>) => boolean } = {
  client: ({ client_id, redirect_uris }) => isText(client_id) && Array.isArray(redirect_uris),
  login: ({ id, browser, ends_at }) => isText(id) && isText(browser) && isNumber(ends_at),
  browser: ({ user, logged_in_at, consents, ends_at }) =>
    isText(user?.sub) && isNumber(logged_in_at) && Array.isArray(consents) && isNumber(ends_at),
  ticket: ({ sub, provider }) => isText(sub) && isText(provider),
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

/** @throws StorageUnavailable where the text is no such row */
export function parseRow<Kind extends keyof StoredRows>(kind: Kind, text: string): StoredRows[Kind] {
  return checkRow(kind, parseJson(text));
}

/** @throws StorageUnavailable where this is no such row */
export function checkRow<Kind extends keyof StoredRows>(kind: Kind, row: unknown): StoredRows[Kind] {
  const known = typeof row === 'object' && row !== null && LOOKS_RIGHT[kind](row);
  if (!known) throw new StorageUnavailable(`a ${kind} in the storage is malformed`);
  return row as StoredRows[Kind];
}

/** @throws StorageUnavailable where it is none */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new StorageUnavailable('a row in the storage is no JSON');
  }
}

const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => typeof value === 'number';
