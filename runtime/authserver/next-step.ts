import type { Browser } from './browser/browsers.ts';
import type { Answer } from './handler.ts';
import type { LoginRow } from './storage/rows.ts';

/**
 * Goes on with a login that was taken, or never stored: to its next leg, past those that are linked, or to its end.
 * With purpose link all that remain are visited.
 */
export type NextStep = (login: LoginRow, browser: Browser) => Promise<Answer>;
