import { Stalled, Waiting } from '../errors.ts';
import type { Finding } from './finding.ts';

/** Maps fields of a VirtualMCPServer to those of a single MCPServer. The first match wins. */
const PLACES: readonly (readonly [RegExp, string])[] = [
  [/\bincomingAuth\.resourceUrl\b/g, 'oidcConfig.resourceUrl'],
  [/\bincomingAuth\.type oidc\b/g, 'oidcConfig'],
  [/\bincomingAuth\.(?=oidcConfig|authzConfig)/g, ''],
  [/\bincomingAuth\b/g, 'oidcConfig'],
  [/\bauthServerConfig\b/g, 'embeddedAuthServer'],
];

function inOwnWords(message: string): string {
  return PLACES.reduce((text, [field, own]) => text.replaceAll(field, own), message);
}

export function nameOwnFields(finding: Finding): Finding {
  return { ...finding, message: inOwnWords(finding.message) };
}

export function problemInOwnFields(problem: unknown): unknown {
  if (problem instanceof Stalled) return new Stalled(problem.reason, inOwnWords(problem.message), { cause: problem });
  if (!(problem instanceof Waiting)) return problem;
  const { reason, message, retryIn } = problem;
  return new Waiting(reason, inOwnWords(message), { retryIn, cause: problem });
}
