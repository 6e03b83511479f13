import { isLoopbackHost } from '#crds/parts/private-address';
import type { ServerSummary } from '../summarise-status.ts';
import { type Answer, ask, NoAnswer, type Question } from './probe.ts';

/** warning: some clients fail; skipped: the check could not run. */
type Verdict = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  check: string;
  verdict: Verdict;
  why: string;
  remedy?: string;
}

export interface Examination {
  /** URL as the user entered it. */
  url: string;
  token: string | undefined;
  /** A registration cannot be undone. */
  register: boolean;
  /** Absent: only the URL is known. */
  endpoint?: Pick<ServerSummary, 'backends' | 'conditions'> | undefined;
  challenge?: string;
  resource?: Record<string, unknown>;
  issuer?: string;
  server?: Record<string, unknown>;
  clientId?: string;
}

export const ok = (check: string, why: string): Finding => ({ check, verdict: 'ok', why });
export const failed = (check: string, why: string, remedy: string): Finding => ({
  check,
  verdict: 'failed',
  why,
  remedy,
});
export const warning = (check: string, why: string, remedy: string): Finding => ({
  check,
  verdict: 'warning',
  why,
  remedy,
});
export const skipped = (check: string, why: string, remedy?: string): Finding =>
  remedy === undefined ? { check, verdict: 'skipped', why } : { check, verdict: 'skipped', why, remedy };

export function textIn(document: Record<string, unknown> | undefined, member: string): string | undefined {
  const value = document?.[member];
  return typeof value === 'string' ? value : undefined;
}

export function listIn(document: Record<string, unknown> | undefined, member: string): string[] | undefined {
  const value = document?.[member];
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : undefined;
}

export async function tryToAsk(url: string, question: Question = {}): Promise<Answer | NoAnswer> {
  try {
    return await ask(url, question);
  } catch (problem) {
    if (problem instanceof NoAnswer) return problem;
    throw problem;
  }
}

/** Accepts https, or http on this machine. */
export function isSecure(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || isLoopbackHost(hostname);
}

export function differenceOf(a: string, b: string): string {
  if (a.replace(/\/$/, '') === b.replace(/\/$/, '')) return 'they differ by a slash at the end';
  if (!URL.canParse(a) || !URL.canParse(b)) return 'they differ';
  const [one, other] = [new URL(a), new URL(b)];
  if (one.href === other.href) return 'they differ in how they are written (case, port or escapes)';
  if (isLoopbackHost(one.hostname) && isLoopbackHost(other.hostname) && one.hostname !== other.hostname)
    return `to a client ${one.hostname} and ${other.hostname} are two hosts`;
  if (one.host !== other.host) return 'they name two hosts';
  return one.protocol === other.protocol ? 'they differ in their path' : 'one is http, the other https';
}
