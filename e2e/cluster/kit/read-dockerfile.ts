import { readFileSync } from 'node:fs';

/** Contents of a Dockerfile with two stages, so that test clusters run the same files as its image. */
export interface Dockerfile {
  /**
   * Shell commands that put the image's files below /out. They run in the root of the repository, after dist/ is built.
   */
  readonly stage: string;
  /** Settings of the image. */
  readonly config: { Entrypoint: string[]; Cmd?: string[]; Env: string[]; User: string; WorkingDir: string };
}

const BUILD = 'node scripts/build.ts';
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Returns the instructions, with joined lines and without comments. */
function instructionsOf(file: string): [name: string, rest: string][] {
  const text = readFileSync(file, 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ');
  return text.split('\n').flatMap((line): [string, string][] => {
    const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [[name, rest.trim()]];
  });
}

export function readDockerfile(file: string): Dockerfile {
  const all = instructionsOf(file);
  const last = all.findLastIndex(([name]) => name === 'FROM');
  const stage = all.slice(0, last).findLast(([name, rest]) => name === 'RUN' && rest.startsWith(BUILD));
  if (!stage) throw new Error(`${file} does not build dist/`);
  const final = all.slice(last);
  const one = (wanted: string) => final.findLast(([name]) => name === wanted)?.[1];
  const list = (wanted: string) => JSON.parse(one(wanted) ?? '[]') as string[];
  return {
    stage: stage[1].slice(BUILD.length).replace(/^[\s\w]*&&/, ''),
    config: {
      Entrypoint: list('ENTRYPOINT'),
      Cmd: list('CMD'),
      Env: [PATH, ...final.flatMap(([name, rest]) => (name === 'ENV' ? [rest] : []))],
      User: one('USER') ?? '0',
      WorkingDir: one('WORKDIR') ?? '/',
    },
  };
}
