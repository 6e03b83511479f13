import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { tgzOf } from './testdata/archives.ts';
import { type ArtifactServer, serveArtifacts } from './testdata/serve-artifacts.ts';
import { openSkillsPlace, skillText, type SkillsPlace } from './testdata/skills-place.ts';

type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean;

let server: ArtifactServer;
let intercept: Intercept;
let place: SkillsPlace;
beforeEach(async () => {
  intercept = () => false;
  server = await serveArtifacts((request, response) => intercept(request, response));
  place = await openSkillsPlace();
});
afterEach(async () => {
  await place.close();
  await server.close();
});

const layer = () => tgzOf([{ name: 'SKILL.md', text: skillText('notes') }]);
const install = (where = place) => where.install({ name: `${server.host}/o/notes:v1`, allow_private_ip: true });

/** Lets nobody in without this token, and says where to get it. */
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

describe('a registry', () => {
  it('that wants a token gets one for reading, which it gives to anybody', async () => {
    server.put('o/notes', 'v1', await layer());
    intercept = tokenFrom(`http://${server.host}/token`);
    expect((await install()).status).toBe(201);
    const [tokens] = [server.asked.filter(({ path }) => path.startsWith('/token'))];
    expect(tokens).toEqual([
      { path: '/token?service=reg&scope=repository%3Ao%2Fnotes%3Apull', authorization: undefined },
    ]);
  });

  it.each(['nowhere', 'file:///etc/passwd', 'http://example.com/token', 'https://u:p@127.0.0.1/token'])(
    'that sends for a token to %s is not followed',
    async (realm) => {
      server.put('o/notes', 'v1', await layer());
      intercept = tokenFrom(realm);
      expect((await install()).status).toBeGreaterThanOrEqual(400);
      expect(place.installed()).toEqual([]);
    },
  );

  it('whose token is of no use is asked once', async () => {
    intercept = (request, response) => {
      if (request.url?.startsWith('/token')) return tokenFrom('')(request, response);
      response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${server.host}/token"` }).end();
      return true;
    };
    const { status, body } = await install();
    expect([status, body.detail, server.asked.length]).toEqual([400, expect.stringContaining('login'), 3]);
  });

  it('that answers nonsense is told as such, and not in its words', async () => {
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

  it('whose layer says to be larger than a skill may be is not asked for it', async () => {
    server.put('o/notes', 'v1', await layer(), 600 * 1024 * 1024);
    const { status, body } = await install();
    expect([status, body.detail]).toEqual([400, expect.stringContaining('bytes')]);
    expect(server.asked.map(({ path }) => path)).toEqual(['/v2/o/notes/manifests/v1']);
  });

  it('whose layer is longer or shorter than it says is refused', async () => {
    const bytes = await layer();
    for (const size of [bytes.length - 1, bytes.length + 1]) {
      server.put('o/notes', 'v1', bytes, size);
      expect((await install()).body.code).toBe('source_failed');
    }
    expect(place.installed()).toEqual([]);
  });

  it('that never ends its answer is given up when that is due', async () => {
    server.put('o/notes', 'v1', await layer());
    const closed: Promise<unknown>[] = [];
    intercept = (request, response) => {
      if (!request.url?.includes('/blobs/')) return false;
      closed.push(new Promise((resolve) => request.socket.once('close', resolve)));
      response.writeHead(200).write('x');
      return true;
    };
    const hasty = await openSkillsPlace({}, { deadline: 1000 });
    const { status, body } = await install(hasty);
    expect([status, body.code]).toEqual([503, 'unavailable']);
    await Promise.all(closed);
    expect([closed.length, hasty.installed()]).toEqual([1, []]);
    await hasty.close();
  });
});
