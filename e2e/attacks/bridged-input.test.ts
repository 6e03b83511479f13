import { afterEach, describe, expect, it } from '@jest/globals';
import { serveLegacy, type RunTool } from '../bridges/serve-legacy.ts';
import { serveModern } from '../bridges/modern-server.ts';
import { sendModern, SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';

afterEach(closeAll);

const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const tools: Record<string, RunTool> = {
  ask: async ({ ask }) => text((await ask('elicitation/create', { message: 'Name?' })).result),
};

/** Starts a gateway in front of two equal backends, and parks a call at one of them. */
async function park() {
  const [a, b] = [closing(await serveLegacy({ tools })), closing(await serveLegacy({ tools }))];
  const { url } = await gatewayTo({ a: a.url, b: b.url });
  const send = async (method: string, params: object) =>
    (await sendModern(url, method, { name: 'a_ask', arguments: {}, ...params, _meta })).answer;
  const { requestState } = (await send('tools/call', {})).result ?? {};
  const called = () => a.count('tools/call') + b.count('tools/call');
  return { send, called, requestState: String(requestState) };
}

const answer = (name: string) => ({ 'elicitation-1': { action: 'accept', content: { name } } });

describe('the state of a call that waits for input', () => {
  it.each([
    ['at another backend', 'tools/call', { name: 'b_ask' }],
    ['with another method', 'prompts/get', {}],
  ])('fails with -32602 %s', async (_where, method, params) => {
    const { send, called, requestState } = await park();
    const { error } = await send(method, { ...params, requestState, inputResponses: answer('Eve') });
    expect(error?.code).toBe(-32602);
    expect((await send('tools/call', { requestState, inputResponses: answer('Ada') })).result).toMatchObject(
      text(answer('Ada')['elicitation-1']),
    );
    expect(called()).toBe(1);
  });

  it.each([1_000_000, 3_000_000])('fails with -32602 if it is huge: %d characters', async (length) => {
    const { send, called } = await park();
    const { error } = await send('tools/call', { requestState: 'x'.repeat(length), inputResponses: answer('Eve') });
    expect(error?.code).toBe(-32602);
    expect(called()).toBe(1);
  });

  it('leads an answer to its call, and no answer comes without it', async () => {
    const { send, called, requestState } = await park();
    // Without the state, it is another call.
    const other = await send('tools/call', { inputResponses: answer('Eve') });
    expect(other.result).toMatchObject({ resultType: 'input_required' });
    const own = await send('tools/call', { requestState, inputResponses: answer('Ada') });
    expect(own.result).toMatchObject(text(answer('Ada')['elicitation-1']));
    const second = { requestState: other.result?.requestState, inputResponses: answer('Bea') };
    expect((await send('tools/call', second)).result).toMatchObject(text(answer('Bea')['elicitation-1']));
    expect(called()).toBe(2);
  });
});

describe('an argument that a header repeats', () => {
  it('adds no header and no line', async () => {
    const server = closing(await serveModern());
    const { url } = await gatewayTo({ a: server.url });
    const client = await SessionClient.open(url);
    const region = 'eu\r\nx-evil: 1\r\n\r\nGET / HTTP/1.1';
    expect((await client.call('a_region', { region })).answer.result).toMatchObject({ content: [{ text: region }] });
    expect(server.lastHeaders().get('x-evil')).toBeNull();
    expect(server.lastHeaders().get('mcp-param-region')).toMatch(/^=\?base64\?/);
  });
});
