import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments, stringify } from 'yaml';
import { checkFolder } from '#cli/check-folder';
import { factsOf, readClusterFolder } from '#cli/cluster-folder';
import { troublesOf } from '#cli/render-cluster';
import { contextWith } from '#cli/testdata/context-with';
import { renderObjects } from '#operator/kubernetes/gitops/render-objects';
import { KINDS } from '#operator/snapshot';

// The examples of a page or folder are planned verbatim, all resources of one place together.

const ROOT = join(import.meta.dirname, '../..');
const READ: readonly string[] = [...KINDS, 'Secret', 'ConfigMap'];

interface Written {
  apiVersion?: unknown;
  kind?: unknown;
}

/** Expected problems of an example, and the words of its page that explain them. */
interface Expected {
  local?: [message: RegExp, said: string][];
  cluster?: [message: RegExp, said: string][];
}

const noCommand = (name: string) => new RegExp(`^MCPServer default/${name}: ImageNeeded: `);
const without = (server: string, name: string) => new RegExp(`^VirtualMCPServer default/${server}: without ${name}: `);

const EXPECTED: Record<string, Expected> = {
  'README.md': {
    cluster: [without('tools', 'memory'), noCommand('memory')].map((message) => [
      message,
      'commands need an image beside them',
    ]),
  },
  'docs/how-to/workloads.md': {
    local: ['MCPServer/tickets', 'MCPExternalAuthConfig/tickets-login'].map((place) => [
      new RegExp(`${place}: SecretNotFound: .* names Secret "company"`),
      'The Secret `company` holds the client secret',
    ]),
    cluster: [
      [noCommand('notes'), 'A cluster starts no command: write `image` there'],
      [noCommand('everything'), 'gets a process for each session, in local mode only'],
    ],
  },
  'docs/how-to/enterprise-managed-authorization.md': {
    local: [
      [
        /MCPExternalAuthConfig\/chat: SecretNotFound: .* names Secret "okta"/,
        "The Secret `okta` holds vmcp's client secret at the identity provider",
      ],
      [
        /VirtualMCPServer\/staff: SecretNotFound: .* names Secret "(chat-client|okta)"/,
        'The Secret `chat-client` holds the secret of the client `chat`',
      ],
    ],
  },
  'examples/providers': {
    cluster: ['github', 'google', 'slack']
      .flatMap((name) => [noCommand(name), without('providers', name)])
      .map((message) => [message, 'Its backends are commands, which a cluster does not start']),
  },
};

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

function resourcesOf(text: string): Written[] {
  return parseAllDocuments(text).flatMap((document) => {
    const written: unknown = document.toJS();
    return isWritten(written) && typeof written.kind === 'string' && READ.includes(written.kind) ? [written] : [];
  });
}

function isWritten(value: unknown): value is Written {
  return typeof value === 'object' && value !== null && 'apiVersion' in value && 'kind' in value;
}

function blocksOf(page: string): Written[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^ *```ya?ml\n(.*?)^ *```/gms)].flatMap(([, block = '']) => resourcesOf(block));
}

const pages = ['README.md', ...filesBelow('docs').filter((file) => file.endsWith('.md'))];
/** Folders that only patch the resources of another folder. */
const PATCHES = ['examples/quickstart-cluster'];
const folders = readdirSync(join(ROOT, 'examples')).map((name) => `examples/${name}`);

const ownOf = (resources: Written[]) => resources.filter(({ kind }) => KINDS.some((own) => own === kind));
const EXAMPLES = [
  ...pages.map((page) => ({ place: page, text: page, resources: blocksOf(page) })),
  ...folders
    .filter((folder) => !PATCHES.includes(folder))
    .map((folder) => ({
      place: folder,
      text: `${folder}/README.md`,
      resources: filesBelow(folder)
        .filter((file) => /\.ya?ml$/.test(file))
        .flatMap((file) => resourcesOf(readFileSync(join(ROOT, file), 'utf8'))),
    })),
].filter(({ resources }) => ownOf(resources).length > 0);

describe('the examples of pages and folders', () => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-examples-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const context = contextWith({ containerEngine: 'podman' });

  it('include all places with expected problems', () => {
    expect(EXAMPLES.map(({ place }) => place)).toEqual(expect.arrayContaining(Object.keys(EXPECTED)));
    expect(EXAMPLES.flatMap(({ resources }) => ownOf(resources)).length).toBeGreaterThan(20);
  });

  it.each(EXAMPLES)('$place: have only the problems that their text explains', async ({ place, text, resources }) => {
    const at = mkdtempSync(join(folder, 'one-'));
    writeFileSync(join(at, 'all.yaml'), resources.map((resource) => stringify(resource)).join('---\n'));
    const found = {
      local: (await checkFolder(at, context)).problems.map(({ path, message }) => `${path}: ${message}`),
      cluster: inCluster(at),
    };
    for (const where of ['local', 'cluster'] as const) {
      const expected = EXPECTED[place]?.[where] ?? [];
      expect([where, found[where].sort()]).toEqual([
        where,
        sortedLike(
          expected.map(([message]) => message),
          found[where],
        ),
      ]);
      for (const [, said] of expected) expect(readFileSync(join(ROOT, text), 'utf8')).toContain(said);
    }
  });

  function inCluster(at: string): string[] {
    const options = { runtimeImage: 'vmcp', stdioAttach: false, allowHostPaths: false, imagePullSecret: [] };
    const written = readClusterFolder(at, 'default', context);
    expect(written.wrong).toBe(false);
    return renderObjects(written, written.apiGroup, factsOf(options)).outcomes.flatMap(troublesOf);
  }
});

/** Returns one matcher for each finding, in their order; expected but missing ones come last. */
function sortedLike(expected: RegExp[], found: string[]): unknown[] {
  const at = (message: RegExp) => {
    const index = found.findIndex((one) => message.test(one));
    return index === -1 ? found.length : index;
  };
  return [...expected].sort((a, b) => at(a) - at(b)).map((message) => expect.stringMatching(message));
}
