import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { locateState } from '#local/state-folder';
import { logs } from './logs.ts';
import { contextWith } from './testdata/context-with.ts';

let folder: string;
let log: (name: string) => string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-logs-'));
  log = (name) => join(folder, `${name}.log`);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Starts `vmcp logs -f`, and collects its output. */
function startFollowing(name?: string) {
  let printed = '';
  const stop = new AbortController();
  const out = { write: (text: string) => (printed += text) };
  const context = contextWith({ state: { ...locateState(folder), logs: folder }, out });
  const ended = logs(name, { follow: true, lines: 2 }, context, stop.signal);
  return {
    shows: async (text: string) => {
      for (let i = 0; i < 6_000 && printed !== text; i++) await new Promise((resolve) => setTimeout(resolve, 10));
      expect(printed).toBe(text);
    },
    async end() {
      stop.abort();
      return ended;
    },
  };
}

describe('vmcp logs -f', () => {
  it('prints the last lines, then appended lines, until it is stopped', async () => {
    writeFileSync(log('a'), '1\n2\n3\n');
    const following = startFollowing('a');
    await following.shows('2\n3\n');
    appendFileSync(log('a'), '4\n5\n');
    await following.shows('2\n3\n4\n5\n');
    expect(await following.end()).toBe(0);
    appendFileSync(log('a'), '6\n');
    await following.shows('2\n3\n4\n5\n');
  });

  it('prints only complete lines', async () => {
    writeFileSync(log('a'), '');
    const following = startFollowing('a');
    const line = Buffer.from('4 €\n');
    appendFileSync(log('a'), line.subarray(0, 3));
    await new Promise((resolve) => setTimeout(resolve, 700));
    await following.shows('');
    appendFileSync(log('a'), line.subarray(3));
    await following.shows('4 €\n');
    await following.end();
  });

  it('continues in the new file after a rotation', async () => {
    writeFileSync(log('a'), 'a long line of the former file\n');
    const following = startFollowing('a');
    renameSync(log('a'), `${log('a')}.1`);
    writeFileSync(log('a'), 'new\n');
    await following.shows('a long line of the former file\nnew\n');
    await following.end();
  });

  it('follows all logs, including new ones, and prefixes each line with the log name', async () => {
    writeFileSync(log('first'), '');
    const following = startFollowing();
    writeFileSync(log('later'), 'x\n');
    await following.shows('later | x\n');
    appendFileSync(log('first'), 'y\n');
    await following.shows('later | x\nfirst | y\n');
    await following.end();
  });
});

describe('vmcp logs', () => {
  it('selects program and endpoint by the name of a workload, and the runtime by that of a server', async () => {
    for (const name of ['mcp-a', 'mcp-a-proxy', 'vmcp-a', 'mcp-b', 'vmcp', 'management-audit'])
      writeFileSync(log(name), `${name}\n`);
    const all = startFollowing('a');
    await all.shows('mcp-a       | mcp-a\nmcp-a-proxy | mcp-a-proxy\nvmcp-a      | vmcp-a\n');
    await all.end();
    for (const [name, text] of [
      ['b', 'mcp-b\n'],
      ['vmcp', 'vmcp\n'],
      ['mcp-a-proxy', 'mcp-a-proxy\n'],
    ] as const) {
      const one = startFollowing(name);
      await one.shows(text);
      await one.end();
    }
    await expect(startFollowing('c').end()).rejects.toMatchObject({ exitCode: 6 });
  });

  it('selects all logs without a name, except for the audit log', async () => {
    for (const name of ['mcp-a', 'vmcp', 'management-audit']) writeFileSync(log(name), `${name}\n`);
    const all = startFollowing();
    await all.shows('mcp-a | mcp-a\nvmcp  | vmcp\n');
    await all.end();
    const audit = startFollowing('management-audit');
    await audit.shows('management-audit\n');
    await audit.end();
  });
});
