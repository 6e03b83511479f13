import tseslint from 'typescript-eslint';

// A wall names imports (by regex, as a `group` that starts with # matches nothing) that a place may not have, and why.

const kubernetesClient = {
  regex: '^@kubernetes/',
  message: 'The Kubernetes client belongs to operator/kubernetes and operator/management.',
};
const express = { regex: '^express$', message: 'express belongs to routes.ts files and http/ folders.' };
const cedar = { regex: '^@cedar-policy/', message: 'Cedar belongs to crds/policy and runtime/policy.' };
const ioredis = { regex: '^ioredis(/|$)', message: 'ioredis belongs to storage/ folders.' };
const runtime = { regex: '^(#runtime/|(\\.\\./)+runtime/)', message: 'The operator never imports the runtime.' };
const operator = {
  regex: '^(#operator/|(\\.\\./)+operator/)',
  message: 'The runtime never imports the operator.',
};
const connectionsOnly = {
  regex: '^(?!undici$|ioredis($|/)|node:(crypto|dns|net)$|\\.|#crds/)',
  message: 'crds/connections imports undici, ioredis, node:crypto, node:dns and node:net only.',
};
const zodOnly = { regex: '^(?!zod$|\\.|#crds/)', message: 'crds imports zod only.' };
const planOnly = {
  regex: '^(?!#crds/|#operator/(world|errors)$|\\./|\\.\\./(world|errors)\\.ts$)',
  message: 'plan/ is pure: it imports crds, world.ts and errors.ts only.',
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
    ignores: ['crds/policy/**', 'crds/connections/**', 'crds/generate.ts', 'crds/generate/**', ...tests],
    rules: walls(zodOnly),
  },
  {
    files: ['crds/policy/**/*.ts'],
    ignores: tests,
    rules: walls(kubernetesClient, express, ioredis, runtime, operator),
  },
  { files: ['crds/connections/**/*.ts'], ignores: tests, rules: walls(connectionsOnly) },
  { files: ['operator/**/*.ts'], ignores: tests, rules: walls(kubernetesClient, express, cedar, ioredis, runtime) },
  { files: ['operator/plan/**/*.ts'], ignores: tests, rules: walls(planOnly) },
  { files: ['operator/storage/**/*.ts'], ignores: tests, rules: walls(kubernetesClient, express, cedar, runtime) },
  {
    files: ['operator/kubernetes/**/*.ts', 'operator/management/**/*.ts'],
    ignores: tests,
    rules: walls(express, cedar, runtime),
  },
  { files: ['operator/management/routes.ts'], rules: walls(cedar, runtime) },
  { files: ['runtime/**/*.ts'], ignores: tests, rules: walls(kubernetesClient, express, cedar, ioredis, operator) },
  { files: ['runtime/policy/**/*.ts'], ignores: tests, rules: walls(kubernetesClient, express, ioredis, operator) },
  {
    files: ['runtime/http/**/*.ts', 'runtime/**/routes.ts'],
    ignores: tests,
    rules: walls(kubernetesClient, cedar, ioredis, operator),
  },
  { files: ['runtime/**/storage/**/*.ts'], ignores: tests, rules: walls(kubernetesClient, express, cedar, operator) },
  { files: ['**/main.ts', 'scripts/**', 'e2e/**'], rules: { 'no-restricted-properties': 'off' } },
  {
    files: ['operator/cli/**', 'scripts/**', 'e2e/**', 'crds/generate.ts', 'examples/**'],
    rules: { 'no-console': 'off' },
  },
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
