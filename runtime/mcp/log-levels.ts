/** RFC 5424 §6.2.1, as MCP spells them: the most verbose first. */
export const LOG_LEVELS: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

/** Whether a message of this level passes for a client that wants `least` and above. An unknown `least` passes nothing. */
export function isLogged(level: unknown, least: string | undefined): boolean {
  const from = LOG_LEVELS.indexOf(least ?? '');
  return from >= 0 && LOG_LEVELS.indexOf(String(level)) >= from;
}
