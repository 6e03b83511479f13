import type { Command } from 'commander';
import { bash } from './completion/bash.ts';
import { fish } from './completion/fish.ts';
import { type CommandWords, wordsOf } from './completion/words-of.ts';
import { zsh } from './completion/zsh.ts';
import type { Output } from './context.ts';
import { EXIT_CODES } from './exit-codes.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

const SCRIPTS: Record<Shell, (commands: readonly CommandWords[]) => string> = { bash, zsh, fish };

export function completion(shell: Shell, program: Command, { out }: { out: Output }): number {
  out.write(SCRIPTS[shell](wordsOf(program)));
  return EXIT_CODES.ok;
}
