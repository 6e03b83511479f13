import tseslint from 'typescript-eslint';

// A wall lists imports that a folder may not have, and why. Patterns are regular expressions: ESLint reads a `group` that
// starts with # as a comment.

const kubernetesClient = {
  regex: '^@kubernetes/',
  message: 'The Kubernetes client belongs to operator/kubernetes, management and cli.',
};
const express = { regex: '^express$', message: 'express belongs to routes.ts files and http/ folders.' };
const cedar = { regex: '^@cedar-policy/', message: 'Cedar belongs to crds/policy and runtime/policy.' };
const ioredis = { regex: '^ioredis(/|$)', message: 'ioredis belongs to storage/ folders.' };
const zodOnly = {
  regex: '^(?!zod$|node:(crypto|net)$|\\.|#crds/)',
  message: 'crds imports zod, node:crypto and node:net only.',
};
const PLANS_WITH = 'snapshot|errors|content-hash|gzip-text|yaml-text';
const planOnly = {
  regex: `^(?!#crds/|#operator/(${PLANS_WITH})$|\\./|\\.\\./(${PLANS_WITH})\\.ts$)`,
  message:
    'plan/ is pure: it imports crds, snapshot.ts, errors.ts, content-hash.ts, gzip-text.ts and yaml-text.ts only.',
};
const connectionsOnly = {
  regex: '^(?!undici$|ioredis($|/)|node:(crypto|dns|net)$|\\.|#(crds|lib)/)',
  message: 'lib/connections imports undici, ioredis, node:crypto, node:dns and node:net only.',
};
const libOnly = {
  regex: '^(?!undici$|ioredis($|/)|winston$|node:|\\.|#(crds|lib)/)',
  message: 'lib imports undici, ioredis, winston and Node.js only.',
};

/** What each program may import of the others. */
const PROGRAMS = {
  crds: [],
  lib: ['crds'],
  runtime: ['crds', 'lib'],
  operator: ['crds', 'lib'],
  local: ['crds', 'lib', 'operator'],
  management: ['crds', 'lib', 'operator', 'local'],
  cli: ['crds', 'lib', 'operator', 'local', 'management'],
};
const others = (/** @type {keyof typeof PROGRAMS} */ program) => {
  /** @type {readonly string[]} */
  const allowed = PROGRAMS[program];
  const closed = Object.keys(PROGRAMS).filter((name) => name !== program && !allowed.includes(name));
  const message = `Of the programs ${program}/ imports only ${[program, ...allowed].join(', ')}.`;
  return { regex: `^(#|(\\.\\./)+)(${closed.join('|')})/`, message };
};

const walls = (...patterns) => ({ 'no-restricted-imports': ['error', { patterns }] });
const tests = ['**/*.test.ts', '**/*.contract.ts', 'e2e/**'];

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', '**/.vmcp/**', 'coverage/**'] },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      complexity: ['error', 12],
      'max-lines': ['error', { max: 300, skipBlankLines: false, skipComments: false }],
      'max-lines-per-function': ['error', { max: 50, skipBlankLines: true, skipComments: true }],
      'max-depth': ['error', 4],
      'no-console': 'error',
      eqeqeq: 'error',
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only main.ts reads the environment.' },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
        {
          selector:
            ':matches(Program, ExportNamedDeclaration) > VariableDeclaration > VariableDeclarator > Literal[regex.flags=/y/]',
          message: 'It keeps its place between readings: make it in the function that reads.',
        },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ['crds/**/*.ts'],
    ignores: ['crds/policy/**', 'crds/generate.ts', 'crds/generate/**', ...tests],
    rules: walls(zodOnly, others('crds')),
  },
  { files: ['crds/policy/**/*.ts'], ignores: tests, rules: walls(kubernetesClient, express, ioredis, others('crds')) },
  { files: ['lib/**/*.ts'], ignores: tests, rules: walls(libOnly, others('lib')) },
  { files: ['lib/connections/**/*.ts'], ignores: tests, rules: walls(connectionsOnly, others('lib')) },
  {
    files: ['operator/**/*.ts'],
    ignores: tests,
    rules: walls(kubernetesClient, express, cedar, ioredis, others('operator')),
  },
  { files: ['operator/plan/**/*.ts'], ignores: tests, rules: walls(planOnly) },
  { files: ['operator/kubernetes/**/*.ts'], ignores: tests, rules: walls(express, cedar, others('operator')) },
  {
    files: ['local/**/*.ts'],
    ignores: tests,
    rules: walls(kubernetesClient, express, cedar, ioredis, others('local')),
  },
  { files: ['management/**/*.ts'], ignores: tests, rules: walls(express, cedar, others('management')) },
  { files: ['management/routes.ts'], rules: walls(cedar, others('management')) },
  { files: ['cli/**/*.ts'], ignores: tests, rules: walls(express, cedar, ioredis, others('cli')) },
  { files: ['cli/storage/**/*.ts'], ignores: tests, rules: walls(kubernetesClient, express, cedar, others('cli')) },
  {
    files: ['runtime/**/*.ts'],
    ignores: tests,
    rules: walls(kubernetesClient, express, cedar, ioredis, others('runtime')),
  },
  {
    files: ['runtime/policy/**/*.ts'],
    ignores: tests,
    rules: walls(kubernetesClient, express, ioredis, others('runtime')),
  },
  {
    files: ['runtime/http/**/*.ts', 'runtime/**/routes.ts'],
    ignores: tests,
    rules: walls(kubernetesClient, cedar, ioredis, others('runtime')),
  },
  {
    files: ['runtime/**/storage/**/*.ts'],
    ignores: tests,
    rules: walls(kubernetesClient, express, cedar, others('runtime')),
  },
  { files: ['**/main.ts', 'scripts/**', 'e2e/**'], rules: { 'no-restricted-properties': 'off' } },
  {
    files: ['cli/**', 'scripts/**', 'e2e/**', 'crds/generate.ts', 'examples/**'],
    rules: { 'no-console': 'off' },
  },
  // Scripts for the browser, whose types are not in the program.
  { files: ['e2e/apps/*-page.js'], ...tseslint.configs.disableTypeChecked },
  { files: ['*.config.*'], rules: { 'no-restricted-syntax': 'off', '@typescript-eslint/no-deprecated': 'off' } },
  {
    files: tests,
    rules: {
      'max-lines': ['error', { max: 600 }],
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
);
