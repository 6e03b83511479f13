import { readFile, rename, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { connect, getCACertificates, rootCertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { send, sendModern, type Rpc } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const testdata = new URL('../../runtime/incoming/testdata/', import.meta.url);
const pem = (name: string) => readFile(new URL(name, testdata), 'utf8');

/** Sends one call of revision 2026-07-28 over TLS, with trust in this certificate. */
function callTool(port: number, ca: string): Promise<Rpc> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'a_tool_0', arguments: { text: 'x' }, _meta };
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'a_tool_0',
  };
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers, ca, agent: false });
    asked.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve(JSON.parse(text) as Rpc));
    });
    asked.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
  });
}

/** Opens a connection. Returns it with the subject of the server's certificate. */
async function openSocket(port: number): Promise<{ socket: TLSSocket; subject: string | undefined }> {
  // The test examines the certificate itself.
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  closing({ close: () => socket.destroy() });
  const { CN } = socket.getPeerCertificate().subject;
  return { socket, subject: typeof CN === 'string' ? CN : undefined };
}

describe('the public port with a certificate', () => {
  it('accepts only TLS, and calls pass', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const cert = await pem('loopback-cert.pem');
    const gateway = await gatewayTo(
      { a: backend.url },
      { listen: { port: 0, private_port: 0, tls: { cert_file: 'cert', key_file: 'key' } } },
      { files: { cert, key: await pem('loopback-key.pem') } },
    );
    const { port } = gateway.runtime.address;
    expect((await callTool(port, cert)).result).toHaveProperty('content');
    await expect(send(`http://127.0.0.1:${port}/mcp`, 'GET', {})).rejects.toThrow(/hang up|ECONNRESET|EPIPE/);
  });

  it('uses a renewed certificate for new connections, and keeps open ones', async () => {
    const [cert, renewed] = [await pem('loopback-cert.pem'), await pem('renewed-cert.pem')];
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo(
      { a: backend.url },
      { listen: { port: 0, private_port: 0, tls: { cert_file: 'cert', key_file: 'key' } } },
      { files: { cert, key: await pem('loopback-key.pem') } },
    );
    const { port } = gateway.runtime.address;
    const before = await openSocket(port);
    expect(before.subject).toBe('vmcp test');
    for (const [name, content] of [
      ['key', await pem('renewed-key.pem')],
      ['cert', renewed],
    ] as const) {
      await writeFile(join(gateway.folder, `${name}.new`), content);
      await rename(join(gateway.folder, `${name}.new`), join(gateway.folder, name));
    }
    for (let i = 0; i < 200 && (await openSocket(port)).subject === before.subject; i++)
      await new Promise((resolve) => setTimeout(resolve, 25));
    expect((await openSocket(port)).subject).toBe('vmcp test, renewed');
    expect((await callTool(port, renewed)).result).toHaveProperty('content');
    const answered = new Promise<string>((resolve) => before.socket.once('data', (part) => resolve(String(part))));
    before.socket.write(`GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    expect(await answered).toMatch(/^HTTP\/1\.1 404/);
  });

  it('uses a certificate at another path in a new configuration, and refuses one without its key', async () => {
    const files = {
      ...{ cert: await pem('loopback-cert.pem'), key: await pem('loopback-key.pem') },
      ...{ 'cert-2': await pem('renewed-cert.pem'), 'key-2': await pem('renewed-key.pem') },
    };
    const listen = (cert_file: string, key_file: string) => ({
      listen: { port: 0, private_port: 0, tls: { cert_file, key_file } },
    });
    const gateway = await gatewayTo({}, listen('cert', 'key'), { files });
    const { port } = gateway.runtime.address;
    await gateway.reconfigure(configTo({}, listen('cert-2', 'key')));
    expect((await openSocket(port)).subject).toBe('vmcp test');
    expect(gateway.log()).toContain('listen.tls: cert-2 and key cannot be served');
    await gateway.reconfigure(configTo({}, listen('cert-2', 'key-2')));
    expect((await openSocket(port)).subject).toBe('vmcp test, renewed');
  });
});

describe('a backend with a certificate', () => {
  it('passes verification by its CA bundle or by the default authorities', async () => {
    const plain = closing(await servePlain({ tools: 1 }));
    const cert = await pem('loopback-cert.pem');
    const secure = await gatewayTo(
      { a: plain.url },
      { listen: { port: 0, private_port: 0, tls: { cert_file: 'cert', key_file: 'key' } } },
      { files: { cert, key: await pem('loopback-key.pem') } },
    );
    const url = `https://127.0.0.1:${secure.runtime.address.port}/mcp`;
    const trusting = async (ca: string) => gatewayTo({ b: { url, ca_bundle_file: 'ca' } }, {}, { files: { ca } });
    const tools = async ({ url: of }: { url: string }) => (await sendModern(of, 'tools/list')).answer.result?.tools;
    const has = async (gateway: { url: string }) => (await tools(gateway)) !== undefined;
    const [other = ''] = rootCertificates;
    const known = await trusting(cert);
    await until('the list of a backend that its bundle knows', () => has(known));
    expect(await tools(await trusting(other))).toBeUndefined();
    const usual = getCACertificates('default');
    closing({ close: () => setDefaultCACertificates(usual) });
    setDefaultCACertificates([...usual, cert]);
    // Another bundle than above, because Node caches the authorities of that one.
    const besides = await trusting(rootCertificates[1] ?? '');
    await until('the list of a backend that the usual authorities know', () => has(besides));
  });
});
