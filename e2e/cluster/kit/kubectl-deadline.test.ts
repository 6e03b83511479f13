import { expect, it } from '@jest/globals';
import { kubectlDeadline } from '../use-cluster.ts';

it.each([
  ['one that waits ends by itself first', ['wait', '--for=condition=Ready', '--timeout=90s', 'pod/a'], 150_000],
  ['one that does not wait is ended after a minute', ['get', 'pods'], 60_000],
])('kubectlDeadline leaves kubectl its time: %s', (_, args, deadline) => {
  expect(kubectlDeadline(args)).toBe(deadline);
});
