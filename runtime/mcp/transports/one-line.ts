const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** Line ends separate messages here. In valid JSON they occur between values only. */
export function toOneLine(body: Buffer): Buffer {
  if (!body.includes(LF) && !body.includes(CR)) return body;
  const line = Buffer.from(body);
  for (let at = 0; at < line.length; at++) if (line[at] === LF || line[at] === CR) line[at] = SPACE;
  return line;
}
