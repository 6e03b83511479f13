import type { Backend } from '#runtime/mcp/backends/backend';

/** Instructions that a backend sent to one user are not shown to another. */
export function instructionsOf({ name, credential, health }: Pick<Backend, 'name' | 'credential' | 'health'>) {
  return { backend: name, instructions: credential.perUser ? undefined : health.capabilities?.instructions };
}

export function mergeInstructions(
  all: readonly { backend: string; instructions: string | undefined }[],
): string | undefined {
  const given = all.filter((one) => one.instructions !== undefined && one.instructions !== '');
  if (given.length === 0) return undefined;
  if (given.length === 1) return given[0]?.instructions;
  return given.map((one) => `## ${one.backend}\n${one.instructions ?? ''}`).join('\n\n');
}
