import { Stalled, Waiting } from '../errors.ts';
import type { Finding } from './finding.ts';

/** Where a field of a VirtualMCPServer stands in an MCPServer by itself; the first that fits counts. */
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

/** A finding that names fields as an MCPServer has them. */
export function nameOwnFields(finding: Finding): Finding {
  return { ...finding, message: inOwnWords(finding.message) };
}

/** The same of what was thrown. */
export function problemInOwnFields(problem: unknown): unknown {
  if (problem instanceof Stalled) return new Stalled(problem.reason, inOwnWords(problem.message), { cause: problem });
  if (!(problem instanceof Waiting)) return problem;
  const { reason, message, retryIn } = problem;
  return new Waiting(reason, inOwnWords(message), { retryIn, cause: problem });
}
