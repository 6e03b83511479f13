import { describe, expect, it } from '@jest/globals';
import { CHECKED_IMAGE, tellCheckedImage } from './checked-image.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const image = `ghcr.io/o/r:v1@${digest}`;
const checked = { result: 'verified', image, digest, identity: 'signer', issuer: 'https://issuer.example' };
const tell = (spec: object): string =>
  tellCheckedImage({ annotations: { [CHECKED_IMAGE]: JSON.stringify(checked) }, spec: { image, ...spec } });
const template = (container: object): object => ({
  podTemplateSpec: { spec: { containers: [{ name: 'mcp', ...container }] } },
});

describe('tellCheckedImage', () => {
  it.each([
    ['its own settings', { args: ['--verbose'], env: [{ name: 'A', value: 'b' }] }],
    ['a pod template that runs nothing else', template({ resources: { limits: { cpu: '1' } } })],
    ['a pod template with a text that looks like a command', template({ env: [{ name: 'A', value: '"command":' }] })],
  ])('reports a verified image with %s', (_, spec) => {
    expect(tell(spec)).toContain('Its image is verified');
  });

  it.each([
    ['another image', { image: `ghcr.io/o/r:v2@${digest}` }],
    ['a command', { command: ['sh'] }],
    ['a URL, which is used in its place', { remoteUrl: 'https://evil.example/mcp' }],
    ['another image in a pod template', template({ image: 'evil' })],
    ['a command in a pod template', template({ command: ['sh'] })],
    ['arguments in a pod template', template({ args: ['-c', 'evil'] })],
    [
      'a command that runs when a pod begins',
      template({ lifecycle: { postStart: { exec: { command: ['sh', '-c', 'evil'] } } } }),
    ],
  ])('reports an unverified image with %s', (_, spec) => {
    expect(tell(spec)).toContain('Its image is not verified: what runs was changed');
  });

  it('reports an unverified image if the image reference lacks the signed digest', () => {
    const tag = 'ghcr.io/o/r:v1';
    const annotations = { [CHECKED_IMAGE]: JSON.stringify({ ...checked, image: tag }) };
    expect(tellCheckedImage({ annotations, spec: { image: tag } })).toContain('not verified: what runs was changed');
  });
});
