// Preloaded by jest: starts each of its workers in a network of its own.
import { join } from 'node:path';

if (process.env.JEST_WORKER_ID === undefined) process.execPath = join(import.meta.dirname, 'own-network.sh');
