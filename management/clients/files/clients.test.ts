import { describe, expect, it } from '@jest/globals';
import { EXPECTED_CLIENTS, MOVED } from '../testdata/expected-clients.ts';
import { CLIENTS, findClient, type Home } from './clients.ts';
import { EDITORS } from './edit-config.ts';

const URL = 'http://127.0.0.1:4483/mcp';
const home = (platform: NodeJS.Platform, environment: NodeJS.ProcessEnv = {}): Home => ({
  platform,
  path: '/h',
  environment,
});

describe('CLIENTS', () => {
  it('has exactly the expected clients, in this order', () => {
    expect(CLIENTS.map(({ id }) => id)).toEqual(EXPECTED_CLIENTS.map(({ id }) => id));
  });

  describe.each(EXPECTED_CLIENTS)('$id', ({ id, file, moved, elsewhere, content, skills }) => {
    const client = findClient(id)!;

    it('reads its file in the folders of each platform and of the environment', () => {
      expect(client.file(home('linux'))).toBe(`/h/${file}`);
      expect(client.file(home('linux', MOVED))).toBe(moved ?? `/h/${file}`);
      expect(client.file(home('darwin'))).toBe(`/h/${elsewhere?.darwin ?? file}`);
      for (const [environment, roaming] of [
        [{}, '/h/AppData/Roaming'],
        [{ APPDATA: '/r' }, '/r'],
      ] as const)
        expect(client.file(home('win32', environment))).toBe(
          elsewhere ? `${roaming}/${elsewhere.win32}` : `/h/${file}`,
        );
    });

    it('gets an entry in the form of its table', () => {
      const text = EDITORS[client.format].print(client.table, 'x', client.entry('x', URL));
      expect(EDITORS[client.format].read(text)).toEqual(content(URL));
      expect(client.entry('x', URL)[client.url]).toBe(URL);
    });

    it('reads skills in the folders of the user and of a project', () => {
      expect([client.skills.user(home('linux')), client.skills.project]).toEqual([`/h/${skills[0]}`, skills[1]]);
    });

    it('describes the login of an endpoint as optional', () => {
      expect(client.after).toMatch(/; where the endpoint asks for a login, /);
    });
  });
});
