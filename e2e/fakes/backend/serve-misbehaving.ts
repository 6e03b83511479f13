import { createServer, type AddressInfo } from 'node:net';
import type { Message } from '../mcp/answer.ts';
import type { Intercept } from '../mcp/serve.ts';
import { behave, type Behaviour, type Knobs } from './behaviours.ts';
import { servePlain, type PlainBackend, type PlainOptions } from './serve-plain.ts';

interface MisbehavingOptions extends PlainOptions, Partial<Knobs> {
  /** The methods that it answers wrongly; default `tools/call`. `*` means every POST, and `GET` every GET. */
  methods?: string[];
}

export interface MisbehavingBackend extends PlainBackend {
  /** Changes the behaviour; undefined: correct. */
  behaveLike(behaviour: Behaviour | undefined): void;
}

/** Serves a plain backend that answers some methods in a wrong way, and the rest correctly. */
export async function serveMisbehaving(
  behaviour: Behaviour | undefined,
  options: MisbehavingOptions = {},
): Promise<MisbehavingBackend> {
  const methods = options.methods ?? ['tools/call'];
  const knobs: Knobs = {
    delayMs: options.delayMs ?? 1_000,
    bytes: options.bytes ?? 100 * 1024 * 1024,
    redirectTo: options.redirectTo ?? 'http://169.254.169.254/latest/meta-data/',
  };
  let current = behaviour;
  const intercept: Intercept = (request, response, body) => {
    if (current === undefined) return false;
    const isPost = request.method === 'POST';
    const message = readMessage(body);
    const method = isPost ? message.method : request.method;
    if (!(isPost && methods.includes('*')) && !methods.includes(method ?? '')) return false;
    behave(current)(response, message, knobs);
    return true;
  };
  const backend = await servePlain({ ...options, intercept });
  return {
    ...backend,
    behaveLike(next) {
      current = next;
    },
  };
}

function readMessage(body: string): Message {
  try {
    return JSON.parse(body) as Message;
  } catch {
    return {};
  }
}

/** Returns a URL on 127.0.0.1 where nothing listens. */
export async function deadUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/mcp`;
}

/** A backend that is away at first: its address is known before it listens, and it may leave and return. */
interface AbsentBackend {
  url: string;
  comeBack(): Promise<PlainBackend>;
  leave(): Promise<void>;
}

/** Reserves an address for a backend that starts later. */
export async function reserveAbsent(options: Omit<PlainOptions, 'port'> = {}): Promise<AbsentBackend> {
  const url = await deadUrl();
  const port = Number(new URL(url).port);
  let backend: PlainBackend | undefined;
  return {
    url,
    async comeBack() {
      backend ??= await servePlain({ ...options, port });
      return backend;
    },
    async leave() {
      await backend?.close();
      backend = undefined;
    },
  };
}
