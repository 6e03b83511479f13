interface OutgoingEvent {
  /** Without line ends and NUL. */
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: string;
  /** Milliseconds. */
  readonly retry?: number | undefined;
}

const ONE_LINE = /^[^\r\n\0]*$/;
const LINE_ENDS = /\r\n|\r|\n/g;

function checkOneLine(value: string): string {
  if (!ONE_LINE.test(value)) throw new RangeError('an event field must not hold a line end');
  return value;
}

/** One data line follows in pieces. */
export const EVENT_OPENING = 'event: message\ndata: ';

/** @throws RangeError if the id contains a line break */
export function eventEnding({ id, retry }: Pick<OutgoingEvent, 'id' | 'retry'>): string {
  return `\n${id === undefined ? '' : `id: ${checkOneLine(id)}\n`}${retry === undefined ? '' : `retry: ${retry}\n`}\n`;
}

/** @throws RangeError if id or event contain a line break */
export function writeSse(event: OutgoingEvent): string {
  let text = '';
  if (event.event !== undefined) text += `event: ${checkOneLine(event.event)}\n`;
  if (event.id !== undefined) text += `id: ${checkOneLine(event.id)}\n`;
  if (event.retry !== undefined) text += `retry: ${event.retry}\n`;
  const isOneLine = !event.data.includes('\n') && !event.data.includes('\r');
  const data = isOneLine ? event.data : event.data.replaceAll(LINE_ENDS, '\ndata: ');
  return `${text}data: ${data}\n\n`;
}
