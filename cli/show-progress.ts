import type { Context } from './context.ts';
import { shownLine, writeRaw } from './shown-output.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME = 100;

export type Say = (text: string) => void;

/** Prints nothing outside a terminal, because script logs hold results only. */
export async function showProgress<T>(
  text: string,
  { err }: Pick<Context, 'err'>,
  work: (say: Say) => Promise<T>,
): Promise<T> {
  if (err.isTTY !== true) return work(() => undefined);
  const since = performance.now();
  let said = text;
  let frame = 0;
  const draw = (): void => {
    const seconds = Math.floor((performance.now() - since) / 1000);
    const line = `${FRAMES[frame++ % FRAMES.length] ?? ''} ${said}${seconds > 0 ? ` (${seconds} s)` : ''}`;
    const width = err.columns === undefined || err.columns === 0 ? 80 : err.columns;
    writeRaw(err, `\r\u001B[K${shownLine(line).slice(0, width - 1)}`);
  };
  draw();
  const timer = setInterval(draw, FRAME);
  try {
    return await work((next) => void (said = next));
  } finally {
    clearInterval(timer);
    writeRaw(err, '\r\u001B[K');
  }
}
