import { describe, expect, it } from '@jest/globals';
import { decidesWhatRuns } from './decides-what-runs.ts';

describe('decidesWhatRuns', () => {
  it.each([
    'PATH',
    'LD_PRELOAD',
    'DYLD_INSERT_LIBRARIES',
    'NODE_OPTIONS',
    'NODE_TLS_REJECT_UNAUTHORIZED',
    'npm_config_registry',
    'NPM_CONFIG_REGISTRY',
    'UV_INDEX_URL',
    'PIP_INDEX_URL',
    'PYTHONPATH',
    'GIT_SSH_COMMAND',
    'BASH_ENV',
    'https_proxy',
    'DOCKER_HOST',
    'CONTAINERS_CONF',
    'JAVA_TOOL_OPTIONS',
    '_JAVA_OPTIONS',
  ])('returns true for %s', (name) => {
    expect(decidesWhatRuns(name)).toBe(true);
  });

  it.each([
    'GITHUB_TOKEN',
    'NODE_ENV',
    'PYTHONUNBUFFERED',
    'GIT_AUTHOR_NAME',
    'DOCKER_TOKEN',
    'TS_API_KEY',
    'KUBECONFIG',
    'ENV',
  ])('returns false for %s', (name) => {
    expect(decidesWhatRuns(name)).toBe(false);
  });
});
