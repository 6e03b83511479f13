import { expect, it } from '@jest/globals';
import type { ManagementApi } from '../management/management-api.ts';
import { contextWith } from '../testdata/context-with.ts';
import { addWorkload } from './add-workload.ts';

const never = () => Promise.reject(new Error('was asked'));
const api: ManagementApi = {
  place: 'namespace team-a',
  running: true,
  call: never,
  read: () => {
    throw new Error('was asked');
  },
  close: () => Promise.resolve(),
};
const nothing = { plain: new Map(), secrets: new Map() };
const wish = { args: [], variables: nothing, headers: nothing, provider: 'kubernetes' as const };

it.each(['npx://cups', 'uvx://cups'])(
  'does not ask for the secrets of a package, which a cluster cannot start: %s',
  async (source) => {
    await expect(addWorkload(api, { ...wish, source, inCluster: true }, contextWith({}))).rejects.toMatchObject({
      exitCode: 2,
      message: `${source} is a package, which a cluster cannot start: name an image, or a URL`,
    });
    await expect(addWorkload(api, { ...wish, source, inCluster: false }, contextWith({}))).rejects.toThrow('was asked');
  },
);
