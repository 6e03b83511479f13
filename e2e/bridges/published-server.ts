import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { GatewayConfig } from '../gateway/start-gateway.ts';

type BackendDocument = GatewayConfig['backends'][number];

/** Returns a backend that runs a published server of the MCP project over stdio, e.g. `memory`. */
export function publishedServer(name: string, ...args: string[]): BackendDocument {
  const manifest = createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/package.json`);
  const entry = join(manifest, '..', 'dist', 'index.js');
  return {
    ...{ name, transport: 'stdio', command: process.execPath, args: [entry, ...args] },
    stdio_process: 'perSession',
  };
}
