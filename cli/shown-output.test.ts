import { describe, expect, it } from '@jest/globals';
import { makeHome } from './testdata/own-home.ts';
import { shownLine, shownOutput, writeLog, writeRaw } from './shown-output.ts';

const HOSTILE = 'a\u001B]0;owned\u0007\u001B[2J\u009B5A\rb\u202Ec\u2028d';
const SHOWN = 'a\\u001b]0;owned\\u0007\\u001b[2J\\u009b5A\\u000db\\u202ec\\u2028d';

function collect(isTTY?: boolean) {
  const written: string[] = [];
  return { written, stream: shownOutput({ write: (text) => written.push(text), isTTY, columns: 90 }) };
}

describe('shownOutput', () => {
  it('covers the output of every command', async () => {
    const home = makeHome();
    try {
      const { err, out } = await home.withoutFolder(['validate', `/nowhere${HOSTILE}`]);
      expect(err).toContain(`/nowhere${SHOWN}`);
      expect(out + err).not.toMatch(/[\u001B\u0007\u009B\u202E]/u);
    } finally {
      home.close();
    }
  });

  it('escapes control characters, and keeps line breaks, tabs and letters of all scripts', () => {
    const { written, stream } = collect();
    stream.write(`${HOSTILE}\n\tä日本\r\n`);
    expect(written).toEqual([`${SHOWN}\n\tä日本\r\n`]);
  });

  it('joins lines for one-line output, and keeps letters of all scripts', () => {
    const oneLine = SHOWN.replace(/\\u000d|\\u2028/g, ' ');
    expect(shownLine(`\n  ${HOSTILE}\r\n\n\t$(id)  e\u0301 हिन्दी\t`)).toBe(`${oneLine} $(id) e\u0301 हिन्दी`);
  });

  it('writes cursor movements unescaped through writeRaw', () => {
    const { written, stream } = collect(true);
    writeRaw(stream, '\r\u001B[K');
    expect(written).toEqual(['\r\u001B[K']);
    expect(stream).toMatchObject({ isTTY: true, columns: 90 });
  });

  it('keeps only colours of logs on a terminal, and the whole log in a pipe', () => {
    const line = `\u001B[1;32mready\u001B[0m ${HOSTILE}\u001B[1;`;
    const [terminal, pipe] = [collect(true), collect()];
    writeLog(terminal.stream, line);
    writeLog(pipe.stream, line);
    expect(terminal.written).toEqual([`\u001B[1;32mready\u001B[0m ${SHOWN}\\u001b[1;`]);
    expect(pipe.written).toEqual([line]);
  });
});
