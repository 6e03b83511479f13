import { z } from 'zod';
import { operation, PLAIN } from '../operation.ts';

const about = { ...PLAIN, method: 'GET', namespaced: false } as const;

const getVersion = operation({
  ...about,
  id: 'getVersion',
  path: '/version',
  summary: 'Version of vmcp',
  result: z.strictObject({ version: z.string().describe('Version of this program.') }),
  problems: {},
  permissions: () => [],
  run: (_, { version }) => Promise.resolve({ body: { version } }),
});

const getOpenApi = operation({
  ...about,
  id: 'getOpenApi',
  path: '/openapi.json',
  summary: 'This API as an OpenAPI 3.1 document',
  result: z.looseObject({ openapi: z.literal('3.1.1') }),
  problems: {},
  permissions: () => [],
  run: (_, { openApi }) => Promise.resolve({ body: openApi }),
});

export const aboutOperations = [getVersion, getOpenApi];
