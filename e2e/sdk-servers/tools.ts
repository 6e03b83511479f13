import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { ToolCounts } from './tool-counts.ts';

/** `call`: on the stream of the call. `session`: through `server.server`, which the SDKs send on the GET stream. */
export type Stream = 'call' | 'session';

export interface TextResult {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** The functions of its SDK that a tool uses. */
export interface ToolContext {
  /** Aborted when the client cancels the call. */
  signal: AbortSignal;
  counts: ToolCounts;
  /** Sends nothing if the caller gave no progress token. */
  reportProgress(progress: number, total: number): Promise<void>;
  log(data: string, stream: Stream): Promise<void>;
}

interface Tool {
  name: string;
  description: string;
  inputSchema: z.ZodObject;
  run: (args: Record<string, unknown>, context: ToolContext) => TextResult | Promise<TextResult>;
}

export const text = (value: string): TextResult => ({ content: [{ type: 'text', text: value }] });

const MS = z.number().int().min(0);
export const STREAM = z.enum(['call', 'session']).default('call');

function tool<Schema extends z.ZodObject>(
  name: string,
  description: string,
  inputSchema: Schema,
  run: (args: z.output<Schema>, context: ToolContext) => TextResult | Promise<TextResult>,
): Tool {
  return { name, description, inputSchema, run: (args, context) => run(inputSchema.parse(args), context) };
}

async function reportSteps(steps: number, every: number, context: ToolContext): Promise<TextResult> {
  for (let step = 1; step <= steps; step++) {
    await sleep(every);
    await context.reportProgress(step, steps);
  }
  return text(`reported ${steps} steps`);
}

async function logLines(lines: number, every: number, stream: Stream, context: ToolContext): Promise<TextResult> {
  for (let line = 1; line <= lines; line++) {
    await context.log(`line ${line}`, stream);
    await sleep(every);
  }
  return text(`logged ${lines} lines`);
}

/** Tools that send no request to the client. Each SDK registers them with its own context. */
export const TOOLS: readonly Tool[] = [
  tool('echo', 'Returns its text', z.object({ text: z.string() }), (args) => text(args.text)),
  tool('slow', 'Says nothing until it ends, and ignores a cancel', z.object({ ms: MS }), async ({ ms }) => {
    await sleep(ms);
    return text(`slept ${ms} ms`);
  }),
  tool(
    'patient',
    'Says nothing until it ends, and stops on a cancel',
    z.object({ ms: MS }),
    async ({ ms }, { signal }) => {
      await sleep(ms, undefined, { signal });
      return text(`slept ${ms} ms`);
    },
  ),
  tool('progress', 'Reports progress', z.object({ steps: MS, every: MS }), ({ steps, every }, context) =>
    reportSteps(steps, every, context),
  ),
  tool(
    'log',
    'Sends logging notifications',
    z.object({ lines: MS, every: MS, stream: STREAM }),
    ({ lines, every, stream }, context) => logLines(lines, every, stream, context),
  ),
  tool('big', 'Returns a text of this size', z.object({ bytes: MS }), ({ bytes }) => text('x'.repeat(bytes))),
  tool('count', 'Returns how often each tool began, ended and was aborted', z.object({}), (_args, { counts }) => {
    const structuredContent = counts.read();
    return { ...text(JSON.stringify(structuredContent)), structuredContent };
  }),
  tool('fail', 'Returns an error result', z.object({}), () => ({ ...text('this tool always fails'), isError: true })),
  tool('die', 'Ends the process of the server', z.object({}), () => process.exit(1)),
];

/** Runs a tool and counts it. */
export async function runTool(
  { name, run }: Pick<Tool, 'name' | 'run'>,
  args: Record<string, unknown>,
  context: ToolContext,
): Promise<TextResult> {
  const end = context.counts.begin(name, context.signal);
  try {
    return await run(args, context);
  } finally {
    end();
  }
}

export const ELICITATION = {
  mode: 'form' as const,
  message: 'What is your name?',
  requestedSchema: {
    type: 'object' as const,
    properties: { name: { type: 'string' as const } },
    required: ['name'],
  },
};

export const SAMPLING = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Say a word.' } }],
  maxTokens: 100,
};
