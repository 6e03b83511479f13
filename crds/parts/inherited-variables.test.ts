import { expect, it } from '@jest/globals';
import { inheritedVariables } from './inherited-variables.ts';

it('inheritedVariables returns only the variables needed to start and to reach the network', () => {
  const needed = {
    PATH: '/bin',
    HOME: '/home/a',
    HTTPS_PROXY: 'http://proxy:1',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    DOCKER_HOST: 'unix:///d',
  };
  expect(inheritedVariables({ ...needed, AWS_SECRET_ACCESS_KEY: 'hidden', NODE_OPTIONS: '--inspect' })).toEqual(needed);
});
