import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/client';
import { findFreePort } from '../gateway/find-free-port.ts';
import { sdkServerCommand } from '../sdk-servers/start-sdk-server.ts';
import { connect } from './call-tool.ts';
import { eventually, makeWorkplace, type Workplace } from './run-vmcp.ts';

const API = 'apiVersion: vmcp.dev/v1alpha1';

let place: Workplace;
let [group, own] = [0, 0];

/**
 * A server without logins, whose policies forbid `pol_fail`, in front of an SDK server whose own policies forbid
 * `echo`.
 */
const manifests = () => `${API}
kind: VirtualMCPServer
metadata: {name: demo}
spec:
  config: {groupRef: demo}
  incomingAuth:
    type: anonymous
    resourceUrl: http://127.0.0.1:${group}/mcp
    authzConfig:
      type: inline
      inline:
        policies:
          - permit(principal == Client::"anonymous", action, resource);
          - forbid(principal, action, resource == Tool::"pol_fail");
---
${API}
kind: MCPGroup
metadata: {name: demo}
spec: {}
---
${API}
kind: MCPServer
metadata: {name: pol}
spec:
  groupRef: demo
  command: ${JSON.stringify([sdkServerCommand('new').command, ...sdkServerCommand('new').args])}
  proxyPort: ${own}
  authzConfig:
    type: inline
    inline:
      policies:
        - permit(principal, action, resource);
        - forbid(principal, action, resource == Tool::"echo");
`;

beforeAll(async () => {
  place = makeWorkplace();
  [group, own] = [await findFreePort(), await findFreePort()];
  place.manifest('all.yaml', manifests());
  const { code, stderr } = await place.run(['up', 'manifests', '--detach']);
  expect([code, stderr]).toEqual([0, '']);
});
afterAll(() => place.close());

async function at(port: number, use: (client: Client) => Promise<void>): Promise<void> {
  const client = await connect(`http://127.0.0.1:${port}/mcp`);
  try {
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    await eventually(names, (listed) => listed.length > 3);
    await use(client);
  } finally {
    await client.close();
  }
}

const namesAt = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
const refusal = { code: -32602 };

describe('policies on one machine', () => {
  it('refuse a tool by its own name at both endpoints', async () => {
    for (const [port, prefix] of [
      [own, ''],
      [group, 'pol_'],
    ] as const) {
      await at(port, async (client) => {
        expect(await namesAt(client)).not.toContain(`${prefix}echo`);
        const call = client.callTool({ name: `${prefix}echo`, arguments: { text: 'x' } });
        await expect(call).rejects.toMatchObject(refusal);
        const counted = await client.callTool({ name: `${prefix}count`, arguments: {} });
        expect(counted.isError).not.toBe(true);
      });
    }
  });

  it('apply to callers without a token', async () => {
    await at(group, async (client) => {
      expect(await namesAt(client)).not.toContain('pol_fail');
      await expect(client.callTool({ name: 'pol_fail', arguments: {} })).rejects.toMatchObject(refusal);
    });
    const { conditions } = await place.status();
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Anonymous', status: 'True' }));
  });
});
