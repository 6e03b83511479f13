import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { tgzOf } from './testdata/archives.ts';
import { type ArtifactServer, serveArtifacts } from './testdata/serve-artifacts.ts';
import { openSkillsFixture, skillText, type SkillsFixture } from './testdata/skills-fixture.ts';

type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean;

let server: ArtifactServer;
let intercept: Intercept;
let fixture: SkillsFixture;
beforeEach(async () => {
  intercept = () => false;
  server = await serveArtifacts((request, response) => intercept(request, response));
  fixture = await openSkillsFixture();
});
afterEach(async () => {
  await fixture.close();
  await server.close();
});

const layer = () => tgzOf([{ name: 'SKILL.md', text: skillText('notes') }]);
const install = (where = fixture) => where.install({ name: `${server.host}/o/notes:v1`, allow_private_ip: true });

/** Rejects requests without this token, and names the token endpoint. */
function tokenFrom(realm: string): Intercept {
  return (request, response) => {
    if (request.url?.startsWith('/token')) {
      response.end(JSON.stringify({ token: 'a-token' }));
      return true;
    }
    if (request.headers.authorization === 'Bearer a-token') return false;
    const challenge = `Bearer realm="${realm}",service="reg",scope="repository:other:push"`;
    response.writeHead(401, { 'www-authenticate': challenge }).end();
    return true;
  };
}

describe('fetchOci', () => {
  it('requests an anonymous token for reading when the registry requires one', async () => {
    server.put('o/notes', 'v1', await layer());
    intercept = tokenFrom(`http://${server.host}/token`);
    expect((await install()).status).toBe(201);
    const [tokens] = [server.asked.filter(({ path }) => path.startsWith('/token'))];
    expect(tokens).toEqual([
      { path: '/token?service=reg&scope=repository%3Ao%2Fnotes%3Apull', authorization: undefined },
    ]);
  });

  it.each(['nowhere', 'file:///etc/passwd', 'http://example.com/token', 'https://u:p@127.0.0.1/token'])(
    'does not follow a token endpoint of %s',
    async (realm) => {
      server.put('o/notes', 'v1', await layer());
      intercept = tokenFrom(realm);
      expect((await install()).status).toBeGreaterThanOrEqual(400);
      expect(fixture.installed()).toEqual([]);
    },
  );

  it('asks once for a token that does not work', async () => {
    intercept = (request, response) => {
      if (request.url?.startsWith('/token')) return tokenFrom('')(request, response);
      response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${server.host}/token"` }).end();
      return true;
    };
    const { status, body } = await install();
    expect([status, body.detail, server.asked.length]).toEqual([400, expect.stringContaining('login'), 3]);
  });

  it('reports a malformed answer without repeating it', async () => {
    for (const answer of ['hunter2', '{"layers":"hunter2"}', '[]', 'null']) {
      intercept = (_request, response) => {
        response.end(answer);
        return true;
      };
      const { status, body } = await install();
      expect([400, 500]).toContain(status);
      expect(JSON.stringify(body)).not.toContain('hunter2');
    }
  });

  it('does not request a layer whose declared size exceeds the limit of a skill', async () => {
    server.put('o/notes', 'v1', await layer(), 600 * 1024 * 1024);
    const { status, body } = await install();
    expect([status, body.detail]).toEqual([400, expect.stringContaining('bytes')]);
    expect(server.asked.map(({ path }) => path)).toEqual(['/v2/o/notes/manifests/v1']);
  });

  it('rejects a layer whose size differs from the declared one', async () => {
    const bytes = await layer();
    for (const size of [bytes.length - 1, bytes.length + 1]) {
      server.put('o/notes', 'v1', bytes, size);
      expect((await install()).body.code).toBe('source_failed');
    }
    expect(fixture.installed()).toEqual([]);
  });

  it('gives up an answer that never ends, at the deadline', async () => {
    server.put('o/notes', 'v1', await layer());
    const closed: Promise<unknown>[] = [];
    intercept = (request, response) => {
      if (!request.url?.includes('/blobs/')) return false;
      closed.push(new Promise((resolve) => request.socket.once('close', resolve)));
      response.writeHead(200).write('x');
      return true;
    };
    const hasty = await openSkillsFixture({}, { deadline: 1000 });
    const { status, body } = await install(hasty);
    expect([status, body.code]).toEqual([503, 'unavailable']);
    await Promise.all(closed);
    expect([closed.length, hasty.installed()]).toEqual([1, []]);
    await hasty.close();
  });
});
