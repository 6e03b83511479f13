import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { ANSWERS, connectOldClient, type ClientAnswers } from '../sdk-servers/connect-sdk-client.ts';

afterEach(closeAll);

const EVERYTHING = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);

/** Lists and calls with this client. Returns the warnings of the status, and the names of the listed tools. */
async function serve(stdio_process: 'shared' | 'perSession', answers: ClientAnswers) {
  const gateway = closing(
    await serveGateway({
      incoming: { type: 'anonymous' },
      backends: [{ name: 'a', transport: 'stdio', command: process.execPath, args: [EVERYTHING], stdio_process }],
    }),
  );
  const client = closing(await connectOldClient(new URL(gateway.url), { answers }));
  const { tools } = await client.listTools();
  await client.callTool({ name: 'a_echo', arguments: { message: 'hi' } });
  const status = await fetch(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`);
  const { warnings } = (await status.json()) as { warnings: string[] };
  return { warnings, names: tools.map(({ name }) => name) };
}

describe('a process that all sessions share', () => {
  it('adds a warning to the status when a client declares a feature that it suppresses', async () => {
    const { warnings, names } = await serve('shared', ANSWERS);
    expect(warnings).toEqual([
      'backend "a" is one process for all sessions and cannot ask its clients: they offer elicitation, sampling, roots, which it is not told of, ' +
        'and its log messages are dropped: write stdioProcess: perSession in its MCPServer where its tools need that',
    ]);
    expect(names).not.toContain('a_trigger-elicitation-request');
  });

  it('adds no warning while no client declares such a feature', async () => {
    expect((await serve('shared', {})).warnings).toEqual([]);
  });

  it('offers tools that ask the client and adds no warning under perSession', async () => {
    const { warnings, names } = await serve('perSession', ANSWERS);
    expect(warnings).toEqual([]);
    expect(names).toContain('a_trigger-elicitation-request');
  });
});
