import type { Config } from 'jest';

const config: Config = {
  testEnvironment: './scripts/jest/shared-environment.ts',
  runtime: './scripts/jest/shared-runtime.ts',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2024', parser: { syntax: 'typescript' }, experimental: { keepImportAttributes: true } },
        module: { type: 'es6' },
      },
    ],
  },
  testMatch: ['**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/\\.vmcp/'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/dist/'],
  watchman: false,
  testSequencer: './scripts/longest-first.ts',
  // Tests of one file that run concurrently start several processes each.
  maxConcurrency: 3,
  // Ends what hangs, also on a machine that is slow and busy: no test is about its own pace.
  testTimeout: 120_000,
};

export default config;
