/** Requests of a client whose result may require input (MCP 2026-07-28). */
const TAKING_INPUT: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Requests of a server that its client answers, and the capability that each of them needs. */
export const INPUT_CAPABILITIES: ReadonlyMap<string, string> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
]);

export function takesInput(method: string): boolean {
  return TAKING_INPUT.has(method);
}
