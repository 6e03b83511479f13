import { join } from 'node:path';

/** Clients that are too large to install for every test run, with exact versions. */
export const OUTSIDE = {
  npm: ['mcporter@0.12.3', '@openai/codex@0.169.0', '@anthropic-ai/claude-code@2.1.197'],
  pypi: ['fastmcp==4.1.0'],
} as const;

/** Folder of their installation. The next `npm ci` removes it. */
export const OUTSIDE_FOLDER = join(import.meta.dirname, '..', '..', 'node_modules', '.outside-clients');
export const PYTHON = join(OUTSIDE_FOLDER, 'python', 'bin', 'python');
