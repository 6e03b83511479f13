import { CliError, EXIT_CODES } from '../exit-codes.ts';

export type Source =
  | { kind: 'url'; url: string }
  /** The `image` of a workload: a reference, or `npx://` or `uvx://` with a package. */
  | { kind: 'image'; image: string }
  /** Only a registry entry: a misspelt name must not install a stranger's package. */
  | { kind: 'entry'; name: string };

const PACKAGE = /^(npx|uvx):\/\//;
/** Matches `@scope/name`, `@scope/name@1.2` and `name@1.2`. */
const NPM = /^(@[\w.~-]+\/[\w.~-]+(@[\w.+~-]+)?|[\w.~-]+@[\w.+~-]+)$/;
const MOST = 2048;

/**
 * Takes a package by `npx://`, `uvx://`, an npm scope or version; an image by a slash, tag or digest. Entry names may
 * contain slashes: `isEntry` checks the registry.
 * @throws CliError when no form matches
 */
export function classifySource(text: string, isEntry: (name: string) => boolean): Source {
  if (text === '' || text.length > MOST || /[\s\u0000-\u001f]/.test(text) || text.startsWith('-'))
    throw new CliError(EXIT_CODES.usage, `${JSON.stringify(text.slice(0, 80))} is no entry, package, URL or image`);
  if (/^(\.{1,2}|~)?\//.test(text))
    throw new CliError(
      EXIT_CODES.usage,
      `${text} is a path: for a program of this machine write an MCPServer with its command into the folder of manifests`,
    );
  if (/^https?:\/\//i.test(text)) return { kind: 'url', url: readUrl(text) };
  if (PACKAGE.test(text)) return { kind: 'image', image: text };
  if (isEntry(text)) return { kind: 'entry', name: text };
  if (NPM.test(text)) return { kind: 'image', image: `npx://${text}` };
  if (/[/:]/.test(text)) return { kind: 'image', image: text };
  return { kind: 'entry', name: text };
}

function readUrl(text: string): string {
  const url = URL.parse(text);
  if (!url) throw new CliError(EXIT_CODES.usage, `${text} is no URL that can be read`);
  if (url.username === '' && url.password === '') return text;
  throw new CliError(
    EXIT_CODES.usage,
    'the URL holds a password: leave it out, and send it as a header with --header-secret',
  );
}

const LONGEST = 45;

export function nameOf(source: Source): string {
  const text = textOf(source)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, LONGEST)
    .replace(/-+$/, '');
  if (text !== '') return text;
  throw new CliError(EXIT_CODES.usage, 'no name can be made of it: give one with --name');
}

function textOf(source: Source): string {
  if (source.kind === 'entry') return source.name.split('/').at(-1) ?? '';
  if (source.kind === 'url') return new URL(source.url).hostname.replace(/^(mcp|www|api)\./, '').split('.')[0] ?? '';
  const [plain = ''] = source.image
    .replace(PACKAGE, '')
    .replace(/@sha256:.*$/, '')
    .split('/')
    .slice(-1);
  return plain.replace(/[@:].*$/, '').replace(/^mcp-server-|^server-|-mcp(-server)?$|-server$/, '');
}
