import { describe, expect, it } from '@jest/globals';
import { readImage } from './read-image.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('readImage', () => {
  it.each([
    ['grafana/mcp-grafana', 'docker.io', 'grafana/mcp-grafana', 'latest'],
    ['redis:7', 'docker.io', 'redis', '7'],
    ['ghcr.io/o/r:v1', 'ghcr.io', 'o/r', 'v1'],
    ['localhost/o/r', 'localhost', 'o/r', 'latest'],
    ['127.0.0.1:5000/r:v1', '127.0.0.1:5000', 'r', 'v1'],
    [`ghcr.io/o/r:v1@${DIGEST}`, 'ghcr.io', 'o/r', DIGEST],
  ])('resolves %s as a container engine does', (image, registry, repository, reference) => {
    expect(readImage(image)).toMatchObject({ registry, repository, reference });
    expect(readImage(image)?.pinned(DIGEST)).toBe(`${image.split('@')[0]}@${DIGEST}`);
  });

  it.each(['npx://a-package', '--privileged', 'a b', '', 'host.example:99999/r'])('returns undefined: %j', (image) => {
    expect(readImage(image)).toBeUndefined();
  });
});
