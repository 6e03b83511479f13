import {
  Client as NewClient,
  SSEClientTransport as NewSseTransport,
  StreamableHTTPClientTransport as NewHttpTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdioTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as OldSseTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as OldStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

/** Answers of the client to server requests. The client declares a capability for each answer present. */
export interface ClientAnswers {
  elicit?: () => Promise<{ action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string> }>;
  sample?: () => Promise<{ role: 'assistant'; content: { type: 'text'; text: string }; model: string }>;
  roots?: () => Promise<{ roots: { uri: string }[] }>;
}

export interface ClientOptions {
  transport?: 'http' | 'sse';
  headers?: Record<string, string>;
  answers?: ClientAnswers;
  onLog?: (data: unknown) => void;
  fetch?: typeof fetch;
}

/** A program that speaks stdio, or the URL of a server. */
export type ServerAddress = URL | { command: string; args: string[] };

export const ANSWERS: Required<ClientAnswers> = {
  elicit: () => Promise.resolve({ action: 'accept', content: { name: 'Ada' } }),
  sample: () => Promise.resolve({ role: 'assistant', content: { type: 'text', text: 'word' }, model: 'test' }),
  roots: () => Promise.resolve({ roots: [{ uri: 'file:///work' }] }),
};

const capabilitiesOf = ({ elicit, sample, roots }: ClientAnswers) => ({
  ...(elicit && { elicitation: { form: {} } }),
  ...(sample && { sampling: {} }),
  ...(roots && { roots: {} }),
});

/** Connects the client of the SDK's 1.x line. */
export async function connectOldClient(to: ServerAddress, options: ClientOptions = {}): Promise<OldClient> {
  const { answers = {}, onLog, transport, fetch, headers } = options;
  const client = new OldClient({ name: 'old', version: '1' }, { capabilities: capabilitiesOf(answers) });
  if (answers.elicit) client.setRequestHandler(ElicitRequestSchema, answers.elicit);
  if (answers.sample) client.setRequestHandler(CreateMessageRequestSchema, answers.sample);
  if (answers.roots) client.setRequestHandler(ListRootsRequestSchema, answers.roots);
  if (onLog) client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => onLog(params.data));
  const init = { ...(headers && { requestInit: { headers } }), ...(fetch && { fetch }) };
  if (!(to instanceof URL)) await client.connect(new OldStdioTransport({ ...to, stderr: 'ignore' }));
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the transport of 2024-11-05 is what is asked for
  else await client.connect(transport === 'sse' ? new OldSseTransport(to, init) : new OldHttpTransport(to, init));
  return client;
}

/**
 * Connects the client of the SDK's 2.x line.
 *
 * @param options `revision` 2026-07-28 pins that revision; without it the client opens a session
 */
export async function connectNewClient(
  to: ServerAddress,
  options: ClientOptions & { revision?: '2026-07-28' } = {},
): Promise<NewClient> {
  const { answers = {}, onLog, transport, fetch, headers, revision } = options;
  const client = new NewClient(
    { name: 'new', version: '1' },
    {
      capabilities: capabilitiesOf(answers),
      ...(revision && { versionNegotiation: { mode: { pin: revision } } }),
    },
  );
  if (answers.elicit) client.setRequestHandler('elicitation/create', answers.elicit);
  if (answers.sample) client.setRequestHandler('sampling/createMessage', answers.sample);
  if (answers.roots) client.setRequestHandler('roots/list', answers.roots);
  if (onLog) client.setNotificationHandler('notifications/message', ({ params }) => onLog(params.data));
  const init = { ...(headers && { requestInit: { headers } }), ...(fetch && { fetch }) };
  if (!(to instanceof URL)) await client.connect(new NewStdioTransport({ ...to, stderr: 'ignore' }));
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the transport of 2024-11-05 is what is asked for
  else await client.connect(transport === 'sse' ? new NewSseTransport(to, init) : new NewHttpTransport(to, init));
  return client;
}
