import { z } from 'zod';
import { parseJson } from '#lib/json/parse-json';
import { shownLine } from '../shown-output.ts';
import { printTable } from '../print-records.ts';

export interface TriedTool {
  name: string;
  description: string;
}

export interface Introduction {
  tool: string;
  user?: string;
  issuer?: string;
  audience?: string[];
  /** Raw text without the other fields. */
  text?: string;
  error?: string;
}

export interface Tried {
  url: string;
  /** False: the endpoint required no login. */
  loggedIn: boolean;
  tools: TriedTool[];
  whoami: Introduction[];
}

const Known = z.object({
  subject: z.string().nullish(),
  login: z.string().nullish(),
  email: z.string().nullish(),
  name: z.string().nullish(),
  issuer: z.string().nullish(),
  audience: z.array(z.string()).nullish(),
});
const Text = z.object({ type: z.literal('text'), text: z.string() });

function textOf(content: unknown): string {
  const parts = z.array(z.unknown()).safeParse(content).data ?? [];
  return parts.flatMap((part) => Text.safeParse(part).data?.text ?? []).join(' ');
}

function valuesOf(structured: unknown, text: string): z.infer<typeof Known> | undefined {
  if (structured !== undefined) return Known.safeParse(structured).data;
  return Known.safeParse(parseJson(text)).data;
}

export function introductionOf(
  tool: string,
  answer: { content?: unknown; structuredContent?: unknown; isError?: boolean | undefined },
): Introduction {
  const text = textOf(answer.content);
  if (answer.isError === true) return { tool, error: text };
  const values = valuesOf(answer.structuredContent, text);
  return {
    tool,
    ...userIn(values, text),
    ...(typeof values?.issuer === 'string' ? { issuer: values.issuer } : {}),
    ...(values?.audience ? { audience: values.audience } : {}),
  };
}

function userIn(values: z.infer<typeof Known> | undefined, text: string): Pick<Introduction, 'user' | 'text'> {
  const names = values ? [values.subject, values.login, values.email, values.name] : [];
  const user = names.find((name) => typeof name === 'string');
  if (typeof user === 'string') return { user };
  return { text: names.includes(null) ? 'no user: no token names one' : text };
}

const WIDTH = 72;

const shortened = (text: string): string => (text.length > WIDTH ? `${text.slice(0, WIDTH - 1)}…` : text);

function row({ tool, user, issuer, audience, text }: Introduction): string[] {
  const cells = [tool, user ?? text ?? '', issuer ?? '', audience?.join(', ') ?? ''];
  return cells.map((cell) => shortened(shownLine(cell)));
}

export function printTried({ url, loggedIn, tools, whoami }: Tried): string[] {
  const listed = tools.map(({ name, description }) => [shownLine(name), shortened(shownLine(description))]);
  const known = whoami.filter(({ error }) => error === undefined).map(row);
  const table = known.length === 0 ? [] : printTable([['TOOL', 'USER', 'TOKEN OF', 'TOKEN FOR'], ...known]);
  // The message is not cut, because it may contain a link.
  const refused = whoami.flatMap(({ tool, error }) => (error === undefined ? [] : [`${tool}: ${shownLine(error)}`]));
  return [
    loggedIn ? `You are logged in at ${url}.` : `${url} asks for no login.`,
    '',
    `${tools.length} tools:`,
    ...printTable([['NAME', 'DESCRIPTION'], ...listed]).map((line) => `  ${line}`),
    ...(whoami.length === 0 ? [] : ['', 'Who you are at the backends that tell:']),
    ...[...table, ...refused].map((line) => `  ${line}`),
  ];
}
