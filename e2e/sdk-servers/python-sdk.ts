import { homedir } from 'node:os';
import { join } from 'node:path';

export const PYTHON_SDK = 'mcp==1.30.0';

/** A folder for each version, so that checkouts of different versions do not disturb each other. */
export const PYTHON_FOLDER = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'vmcp',
  PYTHON_SDK.replace('==', '-'),
);
export const PYTHON = join(PYTHON_FOLDER, 'bin', 'python');
/** Written when the installation is complete. */
export const PYTHON_INSTALLED = join(PYTHON_FOLDER, 'installed');
