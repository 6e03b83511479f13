import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Content of a commit: path to text or bytes, a link, a program, a commit of another repository by its id, or the content of a file. */
export type Tree = Record<
  string,
  string | Buffer | { link: string } | { commit: string } | { program: string } | { file: string }
>;

export interface GitServer {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** Host and port. */
  host: string;
  /** Commits to a new or known repository. Returns the id. The first branch is `main` and `HEAD`. */
  commit: (repository: string, tree: Tree, branch?: string) => string;
  tag: (repository: string, tag: string, commit: string) => void;
  /** Runs git in a repository, with `input` on its standard input. */
  git: (repository: string, args: string[], input?: string | Buffer) => string;
  /** Returns the folder of the bare repository. */
  folder: (repository: string) => string;
  /** Method and path of each request. */
  asked: string[];
  close(): Promise<void>;
}

/** Answers a request in place of git. Returns true if it did. */
export type Interception = (request: IncomingMessage, response: ServerResponse) => boolean;

const WHO = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.com', GIT_CONFIG_GLOBAL: '/dev/null' };
const DATE = { GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z', GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z' };
const ENVIRONMENT = {
  ...process.env,
  ...WHO,
  ...DATE,
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
  GIT_CONFIG_NOSYSTEM: '1',
};

/** Serves real repositories over smart HTTP with git's own server program. */
export async function serveGit(intercept: Interception = () => false): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), 'vmcp-git-'));
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    if (!intercept(request, response)) runBackend(root, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const folder = (repository: string) => join(root, repository);
  const git = (repository: string, args: string[], input: string | Buffer = '') =>
    execFileSync('git', args, { cwd: folder(repository), input, env: ENVIRONMENT, maxBuffer: 1 << 26 })
      .toString('utf8')
      .trim();
  const open = (repository: string): void => {
    execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', folder(repository)], {
      env: ENVIRONMENT,
    });
  };
  return {
    ...{ url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}`, folder, git, asked },
    commit(repository, tree, branch = 'main') {
      open(repository);
      const top = writeTree(tree, (args, input) => git(repository, args, input));
      const commit = git(repository, ['commit-tree', top, '-m', 'a commit']);
      git(repository, ['update-ref', `refs/heads/${branch}`, commit]);
      return commit;
    },
    tag: (repository, tag, commit) => void git(repository, ['tag', '-a', '-m', 'a tag', tag, commit]),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Runs git-http-backend(1) by CGI. */
function runBackend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const child = spawn('git', ['http-backend'], {
    env: {
      ...ENVIRONMENT,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  let head = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    if (response.headersSent) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    for (const line of head.subarray(0, end).toString('latin1').split('\r\n')) {
      const [name = '', value = ''] = line.split(/: (.*)/s);
      if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
  });
  child.once('close', () => void response.end());
}

type Git = (args: string[], input?: string | Buffer) => string;

function writeTree(tree: Tree, git: Git): string {
  const below = new Map<string, Tree>();
  const lines: string[] = [];
  const known = new Map<string | Buffer, string>();
  const blob = (content: string | Buffer): string => {
    const id = known.get(content) ?? git(['hash-object', '-w', '--stdin'], content);
    known.set(content, id);
    return id;
  };
  for (const [path, content] of Object.entries(tree)) {
    const [first = '', ...rest] = path.split('/');
    if (rest.length > 0) below.set(first, { ...below.get(first), [rest.join('/')]: content });
    else if (typeof content === 'string' || Buffer.isBuffer(content))
      lines.push(`100644 blob ${blob(content)}\t${first}`);
    else if ('link' in content) lines.push(`120000 blob ${blob(content.link)}\t${first}`);
    else if ('program' in content) lines.push(`100755 blob ${blob(content.program)}\t${first}`);
    else if ('file' in content) lines.push(`100644 blob ${git(['hash-object', '-w', content.file])}\t${first}`);
    else lines.push(`160000 commit ${content.commit}\t${first}`);
  }
  for (const [name, entries] of below) lines.push(`040000 tree ${writeTree(entries, git)}\t${name}`);
  return git(['mktree', '--missing'], `${lines.join('\n')}\n`);
}
