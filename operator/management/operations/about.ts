import { z } from 'zod';
import { NoBody, NoParams, NoQuery, operation } from '../operation.ts';

export const getVersion = operation({
  id: 'getVersion',
  method: 'GET',
  path: '/version',
  summary: 'Version of vmcp',
  params: NoParams,
  query: NoQuery,
  body: NoBody,
  success: 200,
  result: z.object({ version: z.string() }),
  problems: [],
  touches: () => [],
  run: (_, { version }) => Promise.resolve({ body: { version } }),
});
